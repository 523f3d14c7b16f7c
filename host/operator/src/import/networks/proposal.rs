//! From NetworkAttachmentDefinitions of whereabouts to AddressPools and networks of tenure; pure.

use std::collections::BTreeMap;

use tenure_types::NetworkName;

use super::definition::Definition;
use super::pool::ProposedSettings;
use super::problem::NetworkProblem;

/// The longest name of an AddressPool.
const LONGEST_NAME: usize = 60;

/// A NetworkAttachmentDefinition as it was found: with its label, if it cannot be read.
pub(super) type FoundDefinition = Result<Definition, (String, NetworkProblem)>;

/// An AddressPool, and the network whose pods get its addresses.
#[derive(Debug)]
pub(super) struct ProposedPool {
    pub(super) name: String,
    pub(super) network: String,
    pub(super) settings: ProposedSettings,
    /// The definitions that share it, by their labels.
    pub(super) definitions: Vec<String>,
}

/// The objects in the place of the definitions.
#[derive(Debug, Default)]
pub(super) struct NetworkProposal {
    pub(super) pools: Vec<ProposedPool>,
    /// Each definition, with the index of its pool.
    pub(super) definitions: Vec<(Definition, usize)>,
    /// Definitions without a proposal.
    pub(super) problems: Vec<(String, NetworkProblem)>,
}

impl NetworkProposal {
    /// Proposes pools for definitions, the first one of which decides about a range that it shares with others.
    pub(super) fn new(found: Vec<FoundDefinition>, nodes: usize) -> Self {
        let mut proposal = Self::default();
        for found in found {
            match found {
                Err(problem) => proposal.problems.push(problem),
                Ok(definition) => match proposal.pool_for(&definition, nodes) {
                    Ok(pool) => proposal.definitions.push((definition, pool)),
                    Err(problem) => proposal.problems.push((definition.label, problem)),
                },
            }
        }
        proposal
    }

    /// The pools of each network.
    pub(super) fn networks(&self) -> BTreeMap<&str, Vec<&ProposedPool>> {
        let mut networks: BTreeMap<&str, Vec<&ProposedPool>> = BTreeMap::new();
        for pool in &self.pools {
            networks.entry(&pool.network).or_default().push(pool);
        }
        networks
    }

    /// The index of the pool of a definition, which may be a new one.
    fn pool_for(&mut self, definition: &Definition, nodes: usize) -> Result<usize, NetworkProblem> {
        let settings = ProposedSettings::of(definition, nodes)?;
        let is_same = |pool: &ProposedPool| pool.settings == settings;
        if let Some((index, pool)) = self.pools.iter_mut().enumerate().find(|(_, pool)| is_same(pool)) {
            pool.definitions.push(definition.label.clone());
            return Ok(index);
        }
        for pool in self.pools.iter().filter(|pool| pool.settings.group == settings.group) {
            if let Some((range, other)) = settings.overlapping(&pool.settings) {
                return Err(NetworkProblem::Shared { range, other, network: pool.definitions.join(", ") });
            }
        }
        let network = definition.network.clone();
        NetworkName::new(&network).map_err(|error| NetworkProblem::Name(error.to_string()))?;
        let families = |settings: &ProposedSettings| {
            let mut families: Vec<bool> = settings.cidrs().map(|cidr| cidr.addr().is_ipv4()).collect();
            families.sort_unstable();
            families
        };
        let mut beside = self.pools.iter().filter(|pool| pool.network == network);
        if let Some(pool) = beside.find(|pool| families(&pool.settings) != families(&settings)) {
            return Err(NetworkProblem::Families(network, pool.definitions.join(", ")));
        }
        let name = self.pool_name(definition)?;
        self.pools.push(ProposedPool {
            name,
            network,
            settings,
            definitions: vec![definition.label.clone()],
        });
        Ok(self.pools.len() - 1)
    }

    /// A name of a pool: that of the definition, and if another one has it, with its namespace.
    fn pool_name(&self, definition: &Definition) -> Result<String, NetworkProblem> {
        let name = definition.metadata.name.clone().unwrap_or_default();
        let is_free = !self.pools.iter().any(|pool| pool.name == name);
        let name = if is_free { name } else { definition.label.replace('/', "-") };
        match name.len() {
            1..=LONGEST_NAME => Ok(name),
            _ => Err(NetworkProblem::PoolName(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::ObjectMeta;
    use serde_json::{Value, json};

    use super::super::settings::WhereaboutsSettings;
    use super::*;

    fn found(label: &str, network: &str, ipam: &Value) -> FoundDefinition {
        let mut config = json!({ "name": network, "ipam": { "type": "whereabouts" } });
        config["ipam"].as_object_mut().unwrap().extend(ipam.as_object().cloned().unwrap());
        let name = label.split('/').next_back().map(str::to_owned);
        let metadata = ObjectMeta { name, ..ObjectMeta::default() };
        let flat = WhereaboutsSettings::default();
        Ok(Definition::read(label.to_owned(), metadata, &config.to_string(), &flat).unwrap().unwrap())
    }

    /// The name of each pool with its definitions, and the words about the others.
    fn proposed(found: Vec<FoundDefinition>) -> (Vec<String>, Vec<String>) {
        let NetworkProposal { pools, problems, .. } = NetworkProposal::new(found, 3);
        let pools = pools.iter().map(|pool| format!("{}: {}", pool.name, pool.definitions.join(" ")));
        (pools.collect(), problems.iter().map(|(label, problem)| format!("{label}: {problem}")).collect())
    }

    #[test]
    fn equal_ranges_are_one_pool_and_a_network_name_keeps_them_apart() {
        let range = |name: &str| json!({ "range": "10.1.0.0/16", "network_name": name });
        let (pools, problems) = proposed(vec![
            found("a/lab", "lab", &range("")),
            found("b/lab", "other", &range("")),
            found("b/net", "net", &range("blue")),
            found("c/lab", "c", &json!({ "range": "10.2.0.0/16" })),
        ]);
        assert_eq!(pools, ["lab: a/lab b/lab", "net: b/net", "c-lab: c/lab"]);
        assert!(problems.is_empty(), "{problems:?}");
    }

    #[test]
    fn a_range_that_is_shared_with_other_settings_is_refused_with_both() {
        let (pools, problems) = proposed(vec![
            found("a/low", "low", &json!({ "range": "10.1.0.0/24", "range_end": "10.1.0.99" })),
            found("a/high", "high", &json!({ "range": "10.1.0.0/24", "range_start": "10.1.0.100" })),
            found("a/wide", "wide", &json!({ "range": "10.1.0.0/16" })),
        ]);
        assert_eq!(pools, ["low: a/low"]);
        let starts = [
            "a/high: its range 10.1.0.0/24 overlaps 10.1.0.0/24 of a/low, which has other settings",
            "a/wide: its range 10.1.0.0/16 overlaps 10.1.0.0/24 of a/low",
        ];
        assert!(problems.iter().zip(starts).all(|(words, start)| words.starts_with(start)), "{problems:?}");
        assert_eq!(problems.len(), 2);
    }

    #[test]
    fn a_name_that_cannot_be_is_said() {
        let dual = json!({ "range": "10.2.0.0/16", "ipRanges": [{ "range": "fd00::/112" }] });
        let long = format!("a/{}", "l".repeat(61));
        let (pools, problems) = proposed(vec![
            found("a/lab", "lab", &json!({ "range": "10.1.0.0/16" })),
            found("a/dual", "lab", &dual),
            found("a/odd", "l/b", &json!({ "range": "10.3.0.0/16" })),
            found(&long, "long", &json!({ "range": "10.4.0.0/16" })),
        ]);
        assert_eq!(pools, ["lab: a/lab"]);
        assert_eq!(
            problems[0],
            "a/dual: its name lab is also that of a/lab, which has other families; give it a name of its own"
        );
        assert!(
            problems[1].starts_with("a/odd: its network cannot be named: invalid characters"),
            "{problems:?}"
        );
        assert!(problems[2].contains("its name has at most 60 characters"), "{problems:?}");
    }
}
