//! The operator's bounds on what networks and policies hand out, whatever ranges a policy derives from a configuration.

use std::collections::BTreeMap;

use ipnet::IpNet;
use tenure_ledger::Book;
use tenure_types::{Definition, Error, ErrorCode, NetworkName, PolicyName, Range, Result};

/// The bounds of one network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NetworkBounds {
    /// Its ranges must lie within these subnets. Empty: no restriction.
    pub within: Vec<IpNet>,
    /// The policies that may serve it. Empty: any policy.
    pub policies: Vec<PolicyName>,
    /// Whether no other network's ranges may overlap its ranges.
    pub exclusive: bool,
    /// Whether the daemon's configuration defines it. Then neither requests nor operators can.
    pub configured: bool,
}

/// The bounds of all networks and policies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bounds {
    /// Bounds by network.
    pub networks: BTreeMap<NetworkName, NetworkBounds>,
    /// Subnets that the ranges of a policy's networks must lie within, by policy.
    pub policies: BTreeMap<PolicyName, Vec<IpNet>>,
}

impl Bounds {
    /// Checks that a policy may serve a network.
    pub(crate) fn check_policy(&self, network: &NetworkName, policy: &PolicyName) -> Result<()> {
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
        self.networks.get(network).is_some_and(|bounds| bounds.configured)
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
        let mut ranges = (0..book.pools().len()).flat_map(|pool| book.ranges(pool));
        ranges.try_for_each(|view| self.check_range(book.name(), policy, view.range))
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
        let of_policy = self.policies.get(policy).map_or(&[][..], Vec::as_slice);
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

    pub(crate) fn any_exclusive(&self) -> bool {
        self.networks.values().any(|bounds| bounds.exclusive)
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
            policies: BTreeMap::from([(policy.clone(), vec!["10.1.128.0/17".parse().unwrap()])]),
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
}
