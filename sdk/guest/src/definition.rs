//! The input of [`define`](crate::Policy::define), and its result.

use tenure_sdk_config::{ASSIGNS, PREFIXES};

use crate::{Attributes, ConfigError, Node, Range, RangeSet};

/// A network's configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// The network's name.
    pub name: String,
    /// The `ipam` object of the CNI configuration, as JSON text.
    pub ipam: String,
    /// Attributes that the host adds, by name, such as `runtime-config.ip-ranges`.
    pub attributes: Attributes,
}

impl Config {
    /// Creates a configuration as the host does.
    ///
    /// ```
    /// use tenure_sdk::{Config, ranges};
    ///
    /// let runtime = r#"[[{"subnet": "10.1.2.0/24"}]]"#;
    /// let config = Config::new("net", "{}", &[(ranges::RUNTIME_RANGES, runtime)]);
    /// assert_eq!(ranges::read(&config)?[0].to_string(), "10.1.2.1-10.1.2.254");
    /// # Ok::<(), tenure_sdk::ConfigError>(())
    /// ```
    #[must_use]
    pub fn new(name: &str, ipam: &str, attributes: &[(&str, &str)]) -> Self {
        Self { name: name.into(), ipam: ipam.into(), attributes: attributes.iter().copied().collect() }
    }

    /// The parsed `ipam` object.
    ///
    /// ```
    /// let config = tenure_sdk::Config::new("net", r#"{"quota": 3}"#, &[]);
    /// assert_eq!(config.root()?.get_count("quota")?, Some(3));
    /// # Ok::<(), tenure_sdk::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If it is not valid JSON.
    pub fn root(&self) -> Result<Node, ConfigError> {
        Node::parse("ipam", &self.ipam)
    }
}

/// How recently freed addresses are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cooling {
    /// An address is never assigned while it is cooling down.
    Strict,
    /// An address that is cooling down may be assigned if nothing else is free in its pool or under a label of its
    /// range, to the name that had it last, and to a caller that requests it.
    Preferred,
}

/// The source of a pool's ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Supply {
    /// From the network's configuration.
    Configuration,
    /// From the host, such as a network interface's addresses or a leased block: ranges are added, drained and
    /// withdrawn.
    Host,
    /// From a source that this SDK does not know.
    Other(String),
}

/// Whether each allocation must have an address of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// A proposal without an address of the pool is rejected.
    Always,
    /// A proposal may omit the pool.
    Optional,
    /// A need that this SDK does not know.
    Other(String),
}

/// A pool as a policy defines it.
///
/// ```
/// use tenure_sdk::{Need, PoolDefinition, Supply};
///
/// let pool = PoolDefinition { need: Need::Optional, ..PoolDefinition::supplied("ipv4") };
/// assert!(pool.supply == Supply::Host && pool.ranges.0.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolDefinition {
    /// The pool's name, unique within its network: letters, digits, `_`, `.` and `-`, at most 64. It identifies the pool
    /// across definitions.
    pub name: String,
    /// The source of the pool's ranges.
    pub supply: Supply,
    /// Whether each allocation must have an address of it.
    pub need: Need,
    /// The ranges, in the order in which they are used; empty if the host supplies them.
    pub ranges: RangeSet,
    /// Kept with the pool and with each address of it.
    pub attributes: Attributes,
}

impl PoolDefinition {
    /// A pool with ranges of the configuration, of which each allocation must have an address. A pool whose ranges
    /// [assign prefixes](Range::assigns_prefixes) is optional, since only an agent's claim can have a prefix.
    ///
    /// ```
    /// # use tenure_sdk::{Config, PoolDefinition, ranges};
    /// let config = Config::new("net", r#"{"zones": {"blue": {"subnet": "10.1.2.0/24"}}}"#, &[]);
    /// let sets = ranges::read_at(&config, "ipam.zones.blue")?;
    /// let pools: Vec<_> = sets.into_iter().map(|set| PoolDefinition::new("blue", set)).collect();
    /// assert_eq!(pools[0].ranges.to_string(), "10.1.2.1-10.1.2.254");
    /// # Ok::<(), tenure_sdk::ConfigError>(())
    /// ```
    #[must_use]
    pub fn new(name: impl Into<String>, ranges: RangeSet) -> Self {
        let (need, attributes) = match ranges.0.first() {
            Some(range) if range.assigns_prefixes() => {
                (Need::Optional, Attributes::new().with(ASSIGNS, PREFIXES))
            }
            _ => (Need::Always, Attributes::new()),
        };
        Self { name: name.into(), supply: Supply::Configuration, need, ranges, attributes }
    }

    /// A pool with ranges of the configuration, of which an allocation may have an address.
    ///
    /// ```
    /// # use tenure_sdk::{Need, PoolDefinition, RangeSet};
    /// assert_eq!(PoolDefinition::optional("shop", RangeSet::default()).need, Need::Optional);
    /// ```
    #[must_use]
    pub fn optional(name: impl Into<String>, ranges: RangeSet) -> Self {
        Self { need: Need::Optional, ..Self::new(name, ranges) }
    }

    /// A pool whose ranges the host supplies, of which each allocation must have an address.
    ///
    /// Blocks of a cluster come to pools by their names: to `NAME.v4` and `NAME.v6` those of the AddressPool `NAME`, if `[cluster] networks`
    /// of the node lists it for the network. A pool of another name stays empty there.
    #[must_use]
    pub fn supplied(name: impl Into<String>) -> Self {
        Self { supply: Supply::Host, ..Self::new(name, RangeSet::default()) }
    }
}

/// The definition of a network, as a policy derives it from a configuration.
///
/// ```
/// use tenure_sdk::{Config, Cooling, Definition, Need, ranges};
///
/// let ipam = r#"{"ranges": [[{"subnet": "10.1.2.0/24"}], [{"subnet": "2001:db8::/64"}]]}"#;
/// let mut definition = Definition::new(ranges::read(&Config::new("net", ipam, &[]))?, Cooling::Strict);
/// assert_eq!(definition.pools[1].name, "1");
/// definition.pools[1].need = Need::Optional;
/// definition.attributes.set("quota", "3");
/// # Ok::<(), tenure_sdk::ConfigError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The pools; an allocation has at most one address of each.
    pub pools: Vec<PoolDefinition>,
    /// How recently freed addresses are treated.
    pub cooling: Cooling,
    /// Values that the policy needs when it proposes; see
    /// [`configuration::definition_attributes`](crate::configuration::definition_attributes).
    pub attributes: Attributes,
}

impl Definition {
    /// A definition with a pool per range set, named by its index.
    #[must_use]
    pub fn new(sets: Vec<RangeSet>, cooling: Cooling) -> Self {
        let pool = |(index, set): (usize, RangeSet)| PoolDefinition::new(index.to_string(), set);
        Self::of(sets.into_iter().enumerate().map(pool).collect(), cooling)
    }

    /// A definition with these pools and without attributes.
    ///
    /// ```
    /// use tenure_sdk::{Cooling, Definition, PoolDefinition};
    ///
    /// let definition = Definition::of(vec![PoolDefinition::supplied("pods.v4")], Cooling::Preferred);
    /// assert_eq!(definition.pools[0].name, "pods.v4");
    /// ```
    #[must_use]
    pub fn of(pools: Vec<PoolDefinition>, cooling: Cooling) -> Self {
        Self { pools, cooling, attributes: Attributes::new() }
    }

    /// Adds an attribute to every range that does not have one of this name yet: so each range has one,
    /// for queries such as [`Pool::labelled`](crate::ledger::Pool::labelled).
    ///
    /// ```
    /// # use tenure_sdk::{Config, Cooling, Definition, ranges};
    /// let ipam = r#"{"ranges": [[{"subnet": "10.1.1.0/24", "rangeAttributes": {"zone": "blue"}}, {"subnet": "10.1.2.0/24"}]]}"#;
    /// let sets = ranges::read(&Config::new("net", ipam, &[]))?;
    /// let definition = Definition::new(sets, Cooling::Strict).with_label("zone", "shared");
    /// let zones = definition.pools[0].ranges.0.iter().filter_map(|range| range.attributes.get("zone"));
    /// assert_eq!(zones.collect::<Vec<_>>(), ["blue", "shared"]);
    /// # Ok::<(), tenure_sdk::ConfigError>(())
    /// ```
    #[must_use]
    pub fn with_label(mut self, name: &str, otherwise: &str) -> Self {
        for range in self.ranges_mut().filter(|range| range.attributes.get(name).is_none()) {
            range.attributes.set(name, otherwise);
        }
        self
    }

    /// All ranges, for a policy that labels them.
    ///
    /// ```
    /// # use tenure_sdk::{Config, Cooling, Definition, ranges};
    /// let config = Config::new("net", r#"{"subnet": "10.1.2.0/24"}"#, &[]);
    /// let mut definition = Definition::new(ranges::read(&config)?, Cooling::Strict);
    /// for range in definition.ranges_mut() {
    ///     range.attributes.set("zone", "blue");
    /// }
    /// assert_eq!(definition.pools[0].ranges.0[0].attributes.get("zone"), Some("blue"));
    /// # Ok::<(), tenure_sdk::ConfigError>(())
    /// ```
    pub fn ranges_mut(&mut self) -> impl Iterator<Item = &mut Range> {
        self.pools.iter_mut().flat_map(|pool| &mut pool.ranges.0)
    }
}
