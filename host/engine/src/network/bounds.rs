//! The operator's bounds on the addresses that networks and policies assign, for any ranges that a policy derives from a configuration.

pub(crate) mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;

use ipnet::IpNet;
use tenure_ledger::Book;
use tenure_types::{
    Attributes, Definition, Error, ErrorCode, NamePattern, NetworkConfig, NetworkName, PolicyName, Range,
    Result,
};

use self::settings::SettingPattern;

/// The bounds of one network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NetworkBounds {
    /// Subnets that must contain the ranges. Empty: no restriction.
    pub within: Vec<IpNet>,
    /// The policies that may serve it. Empty: any policy.
    pub policies: Vec<PolicyName>,
    /// Whether no other network's ranges may overlap its ranges.
    pub exclusive: bool,
    /// The definition in the daemon's configuration, if it has one. Then neither requests nor operators can define the network.
    pub configured: Option<ConfiguredNetwork>,
}

/// A network's definition in the daemon's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredNetwork {
    /// The policy that serves it.
    pub policy: PolicyName,
    /// The configuration, as it is passed to the policy.
    pub config: Arc<NetworkConfig>,
}

/// The bounds of one policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyBounds {
    /// The ranges of the networks that it serves must lie within these subnets. Empty: no restriction.
    pub within: Vec<IpNet>,
    /// The networks that it may serve. Empty: any network.
    pub networks: Vec<NamePattern>,
    /// The settings of the host that its definitions may have.
    pub settings: Vec<SettingPattern>,
}

/// The bounds of all networks and policies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bounds {
    /// Bounds by network.
    pub networks: BTreeMap<NetworkName, NetworkBounds>,
    /// Bounds by policy.
    pub policies: BTreeMap<PolicyName, PolicyBounds>,
    /// The attributes of a definition that are settings of the host: a policy needs a grant for each.
    pub host_settings: &'static [&'static str],
}

impl Bounds {
    /// Checks that a policy may serve a network.
    pub(crate) fn check_policy(&self, network: &NetworkName, policy: &PolicyName) -> Result<()> {
        let granted = self.policies.get(policy).map_or(&[][..], |bounds| &bounds.networks);
        if !granted.is_empty() && !granted.iter().any(|pattern| pattern.matches(network.as_str())) {
            let granted: Vec<_> = granted.iter().map(ToString::to_string).collect();
            let cause = format_args!(
                "policy {policy} may not serve network {network}: policies.{policy}.networks allows {}",
                granted.join(", ")
            );
            return Err(Error::new(ErrorCode::OutOfBounds, cause));
        }
        let allowed = self.networks.get(network).map_or(&[][..], |bounds| &bounds.policies);
        if allowed.is_empty() || allowed.contains(policy) {
            return Ok(());
        }
        let names: Vec<_> = allowed.iter().map(ToString::to_string).collect();
        let cause = format_args!(
            "policy {policy} may not serve network {network}: networks.{network}.policies allows {}",
            names.join(", ")
        );
        Err(Error::new(ErrorCode::OutOfBounds, cause))
    }

    /// Whether the daemon's configuration defines a network.
    pub(crate) fn is_configured(&self, network: &NetworkName) -> bool {
        self.configured(network).is_some()
    }

    /// A network's definition in the daemon's configuration.
    pub(crate) fn configured(&self, network: &NetworkName) -> Option<&ConfiguredNetwork> {
        self.networks.get(network)?.configured.as_ref()
    }

    /// Refuses an operator who would change a network that the daemon's configuration defines.
    pub(crate) fn check_operator(&self, network: &NetworkName) -> Result<()> {
        if !self.is_configured(network) {
            return Ok(());
        }
        let cause = format_args!(
            "network {network} is defined by networks.{network} in tenured.toml; change it there"
        );
        Err(Error::new(ErrorCode::OutOfBounds, cause))
    }

    /// Checks the policy and the ranges that a network has now.
    pub(crate) fn check_book(&self, policy: &PolicyName, book: &Book) -> Result<()> {
        self.check_policy(book.name(), policy)?;
        self.check_settings(book.name(), policy, &book.network().attributes)?;
        let mut ranges = (0..book.pools().len()).flat_map(|pool| book.ranges(pool));
        ranges.try_for_each(|view| self.check_range(book.name(), policy, view.range))
    }

    /// Checks that a definition sets of the host only what its policy was granted.
    pub(crate) fn check_settings(
        &self,
        network: &NetworkName,
        policy: &PolicyName,
        attributes: &Attributes,
    ) -> Result<()> {
        let granted = self.policies.get(policy).map_or(&[][..], |bounds| &bounds.settings);
        let Some(name) = settings::beyond(granted, self.host_settings, attributes) else { return Ok(()) };
        let cause = format_args!(
            "policy {policy} sets {name} of the host for network {network}: policies.{policy}.settings does not allow it"
        );
        Err(Error::new(ErrorCode::OutOfBounds, cause))
    }

    /// Checks the ranges of a definition.
    pub(crate) fn check_ranges(
        &self,
        network: &NetworkName,
        policy: &PolicyName,
        definition: &Definition,
    ) -> Result<()> {
        definition
            .pools
            .iter()
            .flat_map(|pool| &pool.ranges)
            .try_for_each(|range| self.check_range(network, policy, range))
    }

    /// Checks one range, whether the policy or the host supplies it.
    pub(crate) fn check_range(
        &self,
        network: &NetworkName,
        policy: &PolicyName,
        range: &Range,
    ) -> Result<()> {
        let of_network = self.networks.get(network).map_or(&[][..], |bounds| &bounds.within);
        let of_policy = self.policies.get(policy).map_or(&[][..], |bounds| &bounds.within);
        for (within, key) in
            [(of_network, format!("networks.{network}")), (of_policy, format!("policies.{policy}"))]
        {
            if !within.is_empty() && !within.iter().any(|subnet| is_in(range, subnet)) {
                let subnets: Vec<_> = within.iter().map(ToString::to_string).collect();
                let cause = format_args!(
                    "range {range} of network {network}, served by policy {policy}, is out of bounds: {key}.within allows only {}",
                    subnets.join(", ")
                );
                return Err(Error::new(ErrorCode::OutOfBounds, cause));
            }
        }
        Ok(())
    }

    pub(crate) fn is_exclusive(&self, network: &NetworkName) -> bool {
        self.networks.get(network).is_some_and(|bounds| bounds.exclusive)
    }
}

fn is_in(range: &Range, subnet: &IpNet) -> bool {
    subnet.contains(&range.first()) && subnet.contains(&range.last())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: &str, last: &str) -> Range {
        let subnet = "10.0.0.0/8".parse().unwrap();
        Range::new(subnet, first.parse().unwrap(), last.parse().unwrap(), None, 8).unwrap()
    }

    #[test]
    fn a_range_lies_in_one_of_the_subnets_as_a_whole() {
        let (network, policy) = (NetworkName::new("net").unwrap(), PolicyName::new("p").unwrap());
        let within = vec!["10.1.0.0/16".parse().unwrap(), "10.2.0.0/16".parse().unwrap()];
        let of_network = NetworkBounds { within, ..NetworkBounds::default() };
        let bounds = Bounds {
            networks: BTreeMap::from([(network.clone(), of_network)]),
            policies: BTreeMap::from([(
                policy.clone(),
                PolicyBounds { within: vec!["10.1.128.0/17".parse().unwrap()], ..PolicyBounds::default() },
            )]),
            ..Bounds::default()
        };
        let check = |first, last| bounds.check_range(&network, &policy, &range(first, last));
        assert_eq!(check("10.1.128.1", "10.1.255.9"), Ok(()));
        for (first, last, key) in [
            ("10.3.0.1", "10.3.0.9", "networks.net.within"),
            ("10.1.255.1", "10.2.0.9", "networks.net.within"),
            ("10.1.0.1", "10.1.0.9", "policies.p.within"),
        ] {
            let error = check(first, last).unwrap_err();
            assert!(error.code == ErrorCode::OutOfBounds && error.cause.contains(key), "{error}");
        }
        let other = NetworkName::new("other").unwrap();
        let free = PolicyName::new("free").unwrap();
        assert_eq!(bounds.check_range(&other, &free, &range("10.3.0.1", "10.3.0.9")), Ok(()));
    }

    #[test]
    fn a_policy_serves_only_the_networks_that_it_was_granted() {
        let policy = PolicyName::new("p").unwrap();
        let serves = |patterns: &[&str], network: &str| {
            let networks = patterns.iter().map(|text| NamePattern::of_networks(text).unwrap()).collect();
            let of_policy = PolicyBounds { networks, ..PolicyBounds::default() };
            let bounds =
                Bounds { policies: BTreeMap::from([(policy.clone(), of_policy)]), ..Bounds::default() };
            bounds.check_policy(&NetworkName::new(network).unwrap(), &policy).map_err(|error| error.cause)
        };
        for (patterns, network) in
            [(&[][..], "a"), (&["a"], "a"), (&["b", "a*"], "abc"), (&["*c"], "abc"), (&["*"], "x")]
        {
            assert_eq!(serves(patterns, network), Ok(()), "{patterns:?} {network}");
        }
        for (patterns, network) in [(&["a"][..], "ab"), (&["ab*"], "a"), (&["b*", "c"], "a")] {
            let refused = serves(patterns, network).unwrap_err();
            let allows = format!("policies.p.networks allows {}", patterns.join(", "));
            assert!(refused.ends_with(&allows), "{refused}");
        }
    }
}
