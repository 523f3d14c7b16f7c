//! The settings of a node, from the network's configuration.
//!
//! Owns their names, values, defaults and the rules between them. It knows nothing of the node itself: its type, its
//! limits and the time arrive with each plan.

mod environment;
mod knob;
mod knobs;
mod targets;
mod value;
mod values;
mod warm;

use tenure_sdk::{Attributes, Config, ConfigError};

pub use self::knob::{Knob, KnobKind, Role};
pub use self::knobs::{KNOBS, keyed};
pub use self::targets::InForce;
use self::targets::Targets;
use self::values::{TARGETS, Values};
pub use self::warm::{Warm, WarmTarget};
use crate::present::Present;

/// The settings that the policy itself uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsSettings {
    /// Whether IPv4 addresses come as prefixes of 16, where the instance type has them.
    pub prefixes: bool,
    /// Whether single addresses are assigned where EC2 has no prefix.
    pub fallback: bool,
    /// The most interfaces, if that is less than the instance type allows.
    pub most_interfaces: Option<u32>,
    /// The most pods, if that is not what the node says.
    pub most_pods: Option<u32>,
    /// How long something must be unused before it is given back, in seconds.
    pub idle: u32,
    /// Whether pods get an IPv4 address.
    pub ipv4: bool,
    /// Whether pods get an IPv6 address.
    pub ipv6: bool,
    /// Whether the pool grows while the node is not schedulable.
    pub grow_unschedulable: bool,
    /// Whether nothing is ever assigned, released, attached or detached.
    pub fixed: bool,
    /// Whether pods get addresses of other subnets than the primary interface's, and none of that interface.
    pub custom_network: bool,
    warm: Warm,
    targets: Targets,
    values: Values,
}

impl AwsSettings {
    /// Reads a network's configuration. The texts are warnings for the operator.
    ///
    /// # Errors
    /// With the path of the key that is wrong.
    pub fn read(config: &Config) -> Result<(Self, Vec<String>), ConfigError> {
        let (root, mut warnings) = (config.root()?, Vec::new());
        let values = Values::read(&root, &mut warnings)?;
        let count = |key| values.count(key).unwrap_or_default();
        let prefixes = values.flag("prefixes");
        let settings = Self {
            prefixes,
            fallback: values.flag("fallback"),
            most_interfaces: values.count("maxInterfaces").filter(|most| *most > 0),
            most_pods: values.count("maxPods"),
            idle: count("idleSeconds"),
            ipv4: values.flag("ipv4"),
            ipv6: values.flag("ipv6"),
            grow_unschedulable: values.flag("growUnschedulable"),
            fixed: values.flag("fixedSupply") || values.flag("imdsOnly"),
            custom_network: values.flag("customNetwork.enabled"),
            warm: Warm::of(&values),
            targets: Targets::read(root.get(TARGETS)?.as_ref(), prefixes)?,
            values,
        };
        settings.check()?;
        Ok((settings, warnings))
    }

    /// The warm target where no entry of `targets` is in force, if IPv4 addresses come as prefixes or one by one.
    #[must_use]
    pub fn target(&self, prefixes: bool) -> WarmTarget {
        self.warm.target(prefixes)
    }

    /// The present warm target, and the entry of `targets` that sets it.
    #[must_use]
    pub fn in_force(&self, present: &Present<'_>) -> InForce {
        self.targets.in_force(self.warm, present)
    }

    /// The rules between settings; those of ipamd, with its reasons.
    fn check(&self) -> Result<(), ConfigError> {
        if !self.ipv4 && !self.ipv6 {
            return Err(ConfigError::new("ipam.ipv4", "at least one of ipv4 and ipv6 must be true"));
        }
        if self.ipv4 && self.prefixes && self.target(true) == WarmTarget::Prefixes(0) {
            let message = "needs one of warm.prefixes, warm.addresses and warm.minimum above 0";
            return Err(ConfigError::new("ipam.prefixes", message));
        }
        if self.ipv6 && self.custom_network {
            return Err(ConfigError::new("ipam.customNetwork.enabled", "is not possible together with ipv6"));
        }
        let mtu = ["mtu", "podMtu"]
            .into_iter()
            .find(|key| self.values.count(key).is_some_and(|mtu| self.ipv6 && mtu < LEAST_IPV6_MTU));
        match mtu {
            Some(key) => {
                Err(ConfigError::new(format!("ipam.{key}"), format!("IPv6 needs at least {LEAST_IPV6_MTU}")))
            }
            None => Ok(()),
        }
    }

    /// The settings that the host follows, as attributes of the definition: each with its key as the name.
    #[must_use]
    pub fn host_attributes(&self) -> Attributes {
        let passed = KNOBS.iter().filter(|knob| matches!(knob.role, Role::Host | Role::Both));
        let keys = passed.filter_map(|knob| knob.key);
        keys.filter_map(|key| Some((key, self.values.attribute(key)?))).collect()
    }
}

/// The least MTU of IPv6.
const LEAST_IPV6_MTU: u32 = 1280;
