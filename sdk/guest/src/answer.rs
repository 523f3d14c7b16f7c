//! Requests and a policy's answers to them.

use std::net::IpAddr;

use crate::bindings::tenure::ipam::types;
use crate::convert::{attributes, wit_attributes};
use crate::ledger::{self, Pool};
use crate::{Attributes, ConfigError};

/// A request for addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The network's name.
    pub network: String,
    /// Addresses that the caller requests, in its order.
    pub requested: Vec<IpAddr>,
    /// The owner and further facts that the host knows, by name, such as `pod.namespace`.
    pub attributes: Attributes,
}

impl Request {
    /// The value of an attribute.
    ///
    /// ```
    /// # use tenure_sdk::{Attributes, Refusal, Request};
    /// fn namespace(request: &Request) -> Result<&str, Refusal> {
    ///     let missing = || Refusal::Other("the runtime sent no pod namespace".into());
    ///     request.attribute("pod.namespace").ok_or_else(missing)
    /// }
    /// let request = Request { network: "net".into(), requested: Vec::new(), attributes: Attributes::new() };
    /// assert!(namespace(&request).is_err());
    /// ```
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name)
    }

    /// The namespace of the pod; `None` for a claim, and if the runtime sent none.
    ///
    /// ```
    /// # use tenure_sdk::{Attributes, Request};
    /// let attributes = Attributes::new().with("pod.namespace", "shop");
    /// let request = Request { network: "net".into(), requested: Vec::new(), attributes };
    /// assert_eq!(request.namespace(), Some("shop"));
    /// ```
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.attribute("pod.namespace")
    }

    /// Whether an agent makes the request, for a claim of its own, and not a runtime for a pod.
    #[must_use]
    pub fn is_claim(&self) -> bool {
        self.attribute("owner.kind") == Some("claim")
    }

    /// The name by which [`ledger::last_of`](crate::ledger::last_of) remembers addresses: `NAMESPACE/NAME` of a pod,
    /// `AGENT/NAME` of a claim.
    ///
    /// ```
    /// # use tenure_sdk::{Attributes, Request};
    /// let attributes = Attributes::new().with("pod.namespace", "shop").with("pod.name", "web-0");
    /// let request = Request { network: "net".into(), requested: Vec::new(), attributes };
    /// assert_eq!(request.name().as_deref(), Some("shop/web-0"));
    /// ```
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let (whose, name) = match self.attribute("owner.agent") {
            Some(agent) => (agent, self.attribute("owner.claim")?),
            None => (self.attribute("pod.namespace")?, self.attribute("pod.name")?),
        };
        Some(format!("{whose}/{name}"))
    }
}

/// An address of a pool.
///
/// ```
/// use tenure_sdk::{Assignment, Attributes, Proposal};
///
/// let attributes = Attributes::new().with("interface", "eni-1");
/// let mut proposal = Proposal::new();
/// proposal.assignments.push(Assignment { pool: 0, address: "10.1.2.7".parse()?, attributes });
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The index of the pool.
    pub pool: u32,
    /// The address.
    pub address: IpAddr,
    /// Kept with the address while it is held.
    pub attributes: Attributes,
}

/// The addresses that a policy proposes: at most one per pool.
///
/// ```
/// let mut proposal = tenure_sdk::Proposal::new();
/// proposal.assign(0, "10.1.2.7".parse()?);
/// proposal.tags.set("rack", "7");
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proposal {
    /// The addresses.
    pub assignments: Vec<Assignment>,
    /// Kept with the allocation while it exists, and counted by [`ledger::count_of`](crate::ledger::count_of).
    pub tags: Attributes,
}

impl Proposal {
    /// A proposal without addresses.
    #[must_use]
    pub const fn new() -> Self {
        Self { assignments: Vec::new(), tags: Attributes::new() }
    }

    /// An address of each pool, as `choose` finds it.
    ///
    /// ```no_run
    /// # use tenure_sdk::{Proposal, Refusal, Request};
    /// fn propose(_: &Request) -> Result<Proposal, Refusal> {
    ///     Proposal::of_each(|pool| pool.labelled("rack", "7").next_in_turn().or_else(|| pool.next_in_turn()))
    /// }
    /// # let _ = propose;
    /// ```
    ///
    /// # Errors
    /// [`Refusal::Exhausted`] names the first pool for which there is none.
    pub fn of_each(mut choose: impl FnMut(&Pool) -> Option<IpAddr>) -> Result<Self, Refusal> {
        let full = |pool: &Pool| Refusal::exhausted(format!("no address is free in pool {}", pool.name));
        Self::try_of_each(|pool| choose(pool).ok_or_else(|| full(pool)))
    }

    /// The same with reasons of the policy's own if there is no address.
    ///
    /// ```no_run
    /// # use tenure_sdk::{Proposal, Refusal};
    /// # fn propose(namespace: &str) -> Result<Proposal, Refusal> {
    /// let full = || Refusal::exhausted(format!("the zone of {namespace} is full"));
    /// Proposal::try_of_each(|pool| pool.labelled("zone", namespace).next_in_turn().ok_or_else(full))
    /// # }
    /// # let _ = propose;
    /// ```
    ///
    /// # Errors
    /// The first that `choose` returns.
    pub fn try_of_each(mut choose: impl FnMut(&Pool) -> Result<IpAddr, Refusal>) -> Result<Self, Refusal> {
        let mut proposal = Self::new();
        for pool in ledger::pools() {
            proposal.assign(pool.index, choose(&pool)?);
        }
        Ok(proposal)
    }

    /// The next address in turn of the pool with this name alone.
    ///
    /// ```no_run
    /// # use tenure_sdk::{Proposal, Refusal};
    /// # fn propose(tenant: &str) -> Result<Proposal, Refusal> {
    /// Ok(Proposal::of_pool(tenant)?.with_tag("tenant", tenant))
    /// # }
    /// # let _ = propose;
    /// ```
    ///
    /// # Errors
    /// [`Refusal::Exhausted`] names the pool if it has no free address, or if the network has no such pool.
    pub fn of_pool(name: &str) -> Result<Self, Refusal> {
        let full = || Refusal::exhausted(format!("no address is free in pool {name}"));
        let pool = ledger::pool_named(name).ok_or_else(full)?;
        let mut proposal = Self::new();
        proposal.assign(pool, ledger::Shelf::of(pool).next_in_turn().ok_or_else(full)?);
        Ok(proposal)
    }

    /// Adds a tag, by which [`ledger::count_of`](crate::ledger::count_of) counts the allocation.
    #[must_use]
    pub fn with_tag(mut self, name: &str, value: impl Into<String>) -> Self {
        self.tags.set(name, value);
        self
    }

    /// Adds an address of a pool.
    pub fn assign(&mut self, pool: u32, address: IpAddr) {
        self.assignments.push(Assignment { pool, address, attributes: Attributes::new() });
    }
}

/// Why a policy refuses to answer.
///
/// `?` converts a [`ConfigError`] to it.
///
/// ```
/// # use tenure_sdk::{Config, Refusal};
/// fn warm(config: &Config) -> Result<u32, Refusal> {
///     Ok(config.root()?.need("warm")?.count()?)
/// }
/// let wrong = warm(&Config::new("net", r#"{"warm": "x"}"#, &[])).unwrap_err();
/// assert_eq!(wrong, Refusal::config("ipam.warm", "must be a non-negative integer"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The configuration is wrong.
    InvalidConfig(ConfigError),
    /// No address is free; the text says where.
    Exhausted(String),
    /// A requested address is not available; the text says which and why.
    Unavailable(String),
    /// No address is free yet, but more have been requested: the caller should try again.
    NotYet(Delay),
    /// A rule does not allow the request, even if addresses are free; the text says which. Asking again does not help.
    Denied(String),
    /// The owner, or the group that it belongs to, has as much as it may have; the text says who has how much of what.
    OverQuota(String),
    /// Any other reason.
    Other(String),
}

impl Refusal {
    /// An error in the configuration, at a path.
    pub fn config(path: impl Into<String>, message: impl Into<String>) -> Self {
        ConfigError::new(path, message).into()
    }

    /// No address is free.
    pub fn exhausted(text: impl Into<String>) -> Self {
        Self::Exhausted(text.into())
    }

    /// A rule does not allow the request.
    pub fn denied(text: impl Into<String>) -> Self {
        Self::Denied(text.into())
    }

    /// The owner, or its group, has as much as it may have.
    pub fn over_quota(text: impl Into<String>) -> Self {
        Self::OverQuota(text.into())
    }

    /// No address is free yet, and it is not known when one will be; [`Delay::retry_after_seconds`] says it.
    pub fn not_yet(text: impl Into<String>) -> Self {
        Self::NotYet(Delay { message: text.into(), retry_after_seconds: None })
    }
}

/// A refusal for now: its reason, and when to ask again.
///
/// ```
/// # use tenure_sdk::{Delay, Refusal};
/// let refusal = Refusal::NotYet(Delay { message: "the rack is being wired".into(), retry_after_seconds: Some(30) });
/// assert_ne!(refusal, Refusal::not_yet("the rack is being wired"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delay {
    /// The reason, for people.
    pub message: String,
    /// How many seconds the caller should wait before it asks again, if that is known.
    pub retry_after_seconds: Option<u32>,
}

impl From<ConfigError> for Refusal {
    fn from(error: ConfigError) -> Self {
        Self::InvalidConfig(error)
    }
}

impl TryFrom<types::Request> for Request {
    type Error = Refusal;

    fn try_from(request: types::Request) -> Result<Self, Refusal> {
        let parse = |text: &String| {
            text.parse()
                .map_err(|_| Refusal::Unavailable(format!("requested address {text} is not an address")))
        };
        let requested = request.requested.iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Self { network: request.network, requested, attributes: attributes(request.attributes) })
    }
}

impl From<Assignment> for types::Assignment {
    fn from(assignment: Assignment) -> Self {
        Self {
            pool: assignment.pool,
            address: assignment.address.to_string(),
            attributes: wit_attributes(assignment.attributes),
        }
    }
}

impl From<Proposal> for types::Proposal {
    fn from(proposal: Proposal) -> Self {
        Self {
            assignments: proposal.assignments.into_iter().map(types::Assignment::from).collect(),
            tags: wit_attributes(proposal.tags),
            attributes: Vec::new(),
        }
    }
}

impl From<Refusal> for types::Refusal {
    fn from(refusal: Refusal) -> Self {
        let reason = |message| types::Reason { message, attributes: Vec::new() };
        match refusal {
            Refusal::InvalidConfig(error) => Self::InvalidConfig(error.into()),
            Refusal::Exhausted(text) => Self::Exhausted(reason(text)),
            Refusal::Unavailable(text) => Self::Unavailable(reason(text)),
            Refusal::NotYet(Delay { message, retry_after_seconds }) => {
                Self::NotYet(types::Delay { message, retry_after_seconds, attributes: Vec::new() })
            }
            Refusal::Denied(text) => Self::Denied(reason(text)),
            Refusal::OverQuota(text) => Self::OverQuota(reason(text)),
            Refusal::Other(text) => Self::Other(reason(text)),
        }
    }
}
