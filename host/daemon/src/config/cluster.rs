//! The cluster's API server, in the configuration: the blocks that it leases to the node, and its word about the node and its pods.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_types::NetworkName;
use tenure_types::cni::ipam_value;

use super::aws::is_label;
use super::networks::NetworkDefinition;

/// The policy whose addresses come from blocks.
const POLICY: &str = "cluster-range";

/// The cluster's API server: blocks of addresses that it leases to the node, and its word about the node and its pods. Without `networks`, `pods` and `node`, tenured asks no API server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ClusterTable {
    /// The networks whose addresses come from blocks, each with the AddressPools that its configuration may name, such as `{ pods = ["pods"] }`; 128 AddressPools at most. A pool serves one network of a node. The definition of a network for which this changes waits for the restart, too.
    pub(crate) networks: BTreeMap<String, Vec<String>>,
    /// Whether the API server is asked which of this node's pods exist: with the container runtime's word, it proves that a pod without a known network namespace is gone, so that its address is freed. Needs `runtime.socket`. The default: if `networks` and `runtime.socket` are set.
    pub(crate) pods: Option<bool>,
    /// Whether the API server is asked what this node is, for the network of `[aws]`: the labels of its Node, whether it is cordoned or about to end, how many pods it takes, and the ENIConfig that it names. What `[aws]` says itself wins.
    pub(crate) node: bool,
    /// The key of the taint with which the kubelet registers this node, such as `ipam.tenure.dev/not-ready`, and which tenured removes once the node is ready. Needs `node`. Without it, tenured writes nothing to its Node; on nodes that lease blocks, the operator removes its own taint.
    pub(crate) startup_taint: Option<String>,
    /// The kubeconfig's absolute path. It, and the certificates, keys and authorities that it names, may be replaced while tenured runs. Without it, tenured connects as a pod does, by its service account.
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Free addresses of each pool and family that the node keeps: with fewer, it asks for another block.
    #[schemars(range(min = 1))]
    pub(crate) preallocation: u32,
    /// Seconds for which a block must have been empty before the node offers it to the cluster.
    pub(crate) release_seconds: u32,
    /// Least seconds between two writes of the node's NodeIPAM. The first one after a pause of that length is made at once.
    #[schemars(range(min = 1))]
    pub(crate) write_seconds: u32,
}

impl Default for ClusterTable {
    fn default() -> Self {
        Self {
            networks: BTreeMap::new(),
            pods: None,
            node: false,
            startup_taint: None,
            kubeconfig: None,
            preallocation: 16,
            release_seconds: 1800,
            write_seconds: 15,
        }
    }
}

impl ClusterTable {
    /// Whether the API server is asked about the node's pods.
    #[cfg(feature = "cluster")]
    pub(crate) fn asks_about_pods(&self) -> bool {
        self.pods.unwrap_or(!self.networks.is_empty())
    }

    /// Whether the node's pods are watched: as witnesses, or for their labels.
    pub(crate) fn knows_pods(&self) -> bool {
        !self.networks.is_empty() || self.pods == Some(true)
    }

    /// The networks that lease blocks, with their pools; names were checked when the configuration was read.
    #[cfg(feature = "cluster")]
    pub(crate) fn leasing(&self) -> BTreeMap<NetworkName, Vec<String>> {
        let named = self.networks.iter();
        named.filter_map(|(name, pools)| Some((NetworkName::new(name).ok()?, pools.clone()))).collect()
    }

    /// Whether the API server is asked about anything.
    pub(crate) fn asks(&self) -> bool {
        self.knows_pods() || self.node
    }

    /// Checks what the types cannot express; returns the invalid field and the reason.
    pub(super) fn check(&self) -> Result<(), (String, String)> {
        let wrong = |field: &str, message: &str| Err((field.to_owned(), message.to_owned()));
        if self.startup_taint.is_some() && !self.node {
            return wrong("startup_taint", "needs `node = true`");
        }
        if !self.asks() {
            return match *self == Self::default() {
                true => Ok(()),
                false => wrong(
                    "networks",
                    "is required when any other key of [cluster] is set, unless `pods = true` or `node = true`",
                ),
            };
        }
        if !cfg!(feature = "cluster") {
            let field = match (self.networks.is_empty(), self.pods) {
                (false, _) => "networks",
                (true, Some(true)) => "pods",
                (true, _) => "node",
            };
            return wrong(field, "this tenured was built without its feature `cluster`");
        }
        if self.startup_taint.as_ref().is_some_and(|key| !is_label(key, "")) {
            return wrong("startup_taint", "must be the key of a taint, such as ipam.tenure.dev/not-ready");
        }
        if self.startup_taint.is_some() && !self.networks.is_empty() {
            return wrong("startup_taint", "is the operator's to remove on a node that leases blocks");
        }
        let mut used = BTreeSet::new();
        for (network, pools) in &self.networks {
            let field = format!("networks.{network}");
            NetworkName::new(network).map_err(|error| (field.clone(), error.to_string()))?;
            if pools.is_empty() {
                return wrong(&field, "must name at least one AddressPool");
            }
            for pool in pools {
                if !is_pool(pool) {
                    return wrong(
                        &field,
                        &format!(
                            "{pool:?} cannot be the name of an AddressPool: at most 60 lower-case letters, digits, '-' and '.'"
                        ),
                    );
                }
                if !used.insert(pool) {
                    return wrong(
                        &field,
                        &format!("pool {pool} is named twice; a pool serves one network of a node"),
                    );
                }
            }
        }
        #[cfg(feature = "cluster")]
        if used.len() > tenure_cluster::agent::MAX_POOLS {
            let (named, most) = (used.len(), tenure_cluster::agent::MAX_POOLS);
            return wrong(
                "networks",
                &format!("names {named} AddressPools, and a node can use {most} at most"),
            );
        }
        if self.kubeconfig.as_ref().is_some_and(|path| !path.is_absolute()) {
            return wrong("kubeconfig", "must be an absolute path");
        }
        if self.preallocation == 0 {
            return wrong("preallocation", "must be at least 1");
        }
        if self.write_seconds == 0 {
            return wrong("write_seconds", "must be at least 1");
        }
        Ok(())
    }
}

impl ClusterTable {
    /// Compares the pools of a network's definition with those that the network may use.
    ///
    /// # Errors
    /// The contradiction, in words.
    pub(super) fn compare(&self, network: &str, definition: &NetworkDefinition) -> Result<(), String> {
        if self.networks.is_empty() || definition.policy.as_str() != POLICY {
            return Ok(());
        }
        let Some(listed) = self.networks.get(network) else {
            return Err(format!(
                "network {network} takes its addresses from blocks, but [cluster.networks] does not list it"
            ));
        };
        let pools = ipam_value(&definition.config.ipam, "pools");
        let named = pools.as_ref().and_then(serde_json::Value::as_array).into_iter().flatten();
        match named
            .filter_map(serde_json::Value::as_str)
            .find(|pool| !listed.iter().any(|known| known == pool))
        {
            Some(pool) => {
                Err(format!("names pool {pool}, which [cluster.networks] does not list for {network}"))
            }
            None => Ok(()),
        }
    }
}

/// Whether a name has the length and the characters of an AddressPool's.
fn is_pool(name: &str) -> bool {
    let is_letter = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let ends = [name.bytes().next(), name.bytes().last()];
    name.len() <= 60
        && ends.iter().all(|end| end.is_some_and(is_letter))
        && name.bytes().all(|letter| is_letter(letter) || b"-.".contains(&letter))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Config;

    fn refusal(text: &str) -> String {
        Config::parse(Path::new("tenured.toml"), &format!("[cluster]\n{text}")).unwrap_err().to_string()
    }

    #[test]
    fn what_is_set_without_a_network_is_refused() {
        assert_eq!(
            refusal("preallocation = 5"),
            "tenured.toml: cluster.networks: is required when any other key of [cluster] is set, unless `pods = true` or `node = true`"
        );
    }

    #[cfg(not(feature = "cluster"))]
    #[test]
    fn a_daemon_without_the_feature_says_so() {
        let expected = "tenured.toml: cluster.networks: this tenured was built without its feature `cluster`";
        assert_eq!(refusal("networks = { pods = [\"pods\"] }"), expected);
    }

    #[cfg(feature = "cluster")]
    #[test]
    fn pods_alone_need_a_runtime() {
        let words =
            "tenured.toml: cluster.pods: needs `runtime.socket`: the API server's word alone frees nothing";
        assert_eq!(refusal("pods = true"), words);
        let asks = |text: &str| {
            let config = Config::parse(Path::new("tenured.toml"), text).unwrap();
            config.cluster.asks_about_pods()
        };
        assert!(asks("[runtime]\nsocket = \"/run/cri.sock\"\n[cluster]\npods = true"));
        assert!(asks("[cluster.networks]\npods = [\"pods\"]"));
        assert!(!asks("[cluster]\npods = false\nnetworks = { pods = [\"pods\"] }") && !asks(""));
    }

    #[cfg(all(feature = "cluster", feature = "aws"))]
    #[test]
    fn the_node_is_followed_for_a_network_of_aws_interfaces_and_its_taint_by_one_of_two() {
        let aws = "[aws]\nnetwork = \"pods\"\n";
        let read = |text: &str| {
            let read = Config::parse(Path::new("tenured.toml"), text);
            read.map(|config| config.cluster.asks()).map_err(|error| error.to_string())
        };
        assert_eq!(read(&format!("{aws}[cluster]\nnode = true\nkubeconfig = \"/k\"")), Ok(true));
        let taint = "startup_taint = \"ipam.tenure.dev/not-ready\"\n";
        assert_eq!(read(&format!("{aws}[cluster]\nnode = true\n{taint}")), Ok(true));
        for (text, expected) in [
            ("[cluster]\nnode = true".to_owned(), "cluster.node: needs `aws.network`"),
            (format!("{aws}[cluster]\n{taint}"), "cluster.startup_taint: needs `node = true`"),
            (
                format!("{aws}[cluster]\nnode = true\nstartup_taint = \"a=b\""),
                "cluster.startup_taint: must be the key of a taint",
            ),
            (
                format!("{aws}[cluster]\nnode = true\n{taint}networks = {{ other = [\"pods\"] }}"),
                "cluster.startup_taint: is the operator's to remove",
            ),
        ] {
            let refused = read(&text).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[cfg(feature = "cluster")]
    #[test]
    fn a_network_names_no_pool_that_is_not_listed_for_it() {
        let network = |listed: &str, pools: &str| {
            let text = format!(
                "[cluster]\nnetworks = {{ {listed} = [\"blue\", \"red\"] }}\n\
                 [networks.pods]\nipam = {{ type = \"tenure\", policy = \"cluster-range\", pools = {pools} }}"
            );
            Config::parse(Path::new("tenured.toml"), &text).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(network("pods", "[\"red\"]"), Ok(()));
        let words = "tenured.toml: networks.pods.ipam.pools: names pool green, which [cluster.networks] does not list for pods";
        assert_eq!(network("pods", "[\"red\", \"green\"]").unwrap_err(), words);
        assert!(network("other", "[\"red\"]").unwrap_err().contains("[cluster.networks] does not list it"));
    }

    #[cfg(feature = "cluster")]
    #[test]
    fn wrong_values_are_named() {
        let good = "[cluster.networks]\npods = [\"pods\", \"more.pods\"]\nother = [\"other\"]";
        Config::parse(Path::new("tenured.toml"), good).unwrap();
        for (text, expected) in [
            ("networks = { \"a b\" = [\"pods\"] }", "cluster.networks.a b: "),
            ("networks = { pods = [] }", "cluster.networks.pods: must name at least one AddressPool"),
            ("networks = { pods = [\"Pods\"] }", "cluster.networks.pods: \"Pods\" cannot be the name"),
            ("networks = { pods = [\"a\"], zone = [\"a\"] }", "cluster.networks.zone: pool a is named twice"),
            (
                "networks = { pods = [\"a\"] }\nkubeconfig = \"here\"",
                "cluster.kubeconfig: must be an absolute path",
            ),
            ("networks = { pods = [\"a\"] }\nwrite_seconds = 0", "cluster.write_seconds: must be at least 1"),
            ("networks = { pods = [\"a\"] }\npreallocation = 0", "cluster.preallocation: must be at least 1"),
        ] {
            let refusal = refusal(text);
            assert!(refusal.contains(expected), "{refusal}");
        }
    }

    #[cfg(feature = "cluster")]
    #[test]
    fn a_node_uses_no_more_pools_than_it_can_speak_of() {
        let of = |count: usize| {
            let names = |numbers: std::ops::Range<usize>| -> Vec<String> {
                numbers.map(|number| format!("p{number}")).collect()
            };
            let (pods, other) = (names(0..64), names(64..count));
            format!("networks = {{ pods = {pods:?}, other = {other:?} }}")
        };
        Config::parse(Path::new("tenured.toml"), &format!("[cluster]\n{}", of(128))).unwrap();
        assert_eq!(
            refusal(&of(129)),
            "tenured.toml: cluster.networks: names 129 AddressPools, and a node can use 128 at most"
        );
    }
}
