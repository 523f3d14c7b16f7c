//! Comparing a reloaded configuration with the current one, and which keys can change without a restart.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Config, NetworkTable};

/// The keys of `[aws]` that say what the node is now.
const AWS_LIVE: [&str; 4] = ["aws.labels", "aws.schedulable", "aws.terminating", "aws.max_pods"];

/// Whether a key's new value takes effect on a reload; if not, it does after a restart.
///
/// [`Config::on_top_of`] follows it, and so does the configuration reference.
pub(crate) fn is_live(key: &str) -> bool {
    !(key.starts_with("sandbox.")
        || key.starts_with("node.")
        || key.starts_with("cluster.")
        || key.starts_with("aws.") && !AWS_LIVE.contains(&key)
        || matches!(
            key,
            "runtime.socket" | "metrics.listen" | "log.format" | "claims.socket_mode" | "claims.socket_group"
        ))
}

impl Config {
    /// Returns this configuration, except for the keys that need a restart, which keep their previous values, and for the definitions of networks
    /// that another supplier is to serve, which wait for it.
    pub(crate) fn on_top_of(self, before: &Self) -> Self {
        let resupplied = self.resupplied(before);
        let (mut now, previously) = (sections(&self), sections(before));
        for (section, keys) in &mut now {
            for (key, value) in keys.as_object_mut().into_iter().flatten() {
                let previous = previously.get(section).and_then(|keys| keys.get(key));
                if let Some(previous) = previous.filter(|_| !is_live(&format!("{section}.{key}"))) {
                    value.clone_from(previous);
                }
            }
        }
        // A configuration that was written can be read again; the test below tries each key. If one could not, nothing would change.
        let Ok(mut merged) = serde_json::from_value::<Self>(Value::Object(now)) else {
            return before.clone();
        };
        for network in resupplied {
            let defined = before.networks.get(&network);
            let table = merged.networks.remove(&network).unwrap_or_default();
            let table = table.defined_as(defined.cloned().unwrap_or_default());
            if defined.is_some() || table != NetworkTable::default() {
                merged.networks.insert(network, table);
            }
        }
        merged
    }

    /// The networks whose addresses a cluster or AWS supplies in one of two configurations, and in the other not, or from other pools. The supplier
    /// changes with a restart; until then, the network would have neither its old addresses nor new ones.
    fn resupplied(&self, before: &Self) -> BTreeSet<String> {
        let (ours, theirs) = (&self.cluster.networks, &before.cluster.networks);
        let of_cluster = ours.keys().chain(theirs.keys()).filter(|name| ours.get(*name) != theirs.get(*name));
        let (ours, theirs) = (&self.aws.network, &before.aws.network);
        let of_aws = ours.iter().chain(theirs).filter(|_| ours != theirs);
        of_cluster.chain(of_aws).cloned().collect()
    }

    /// The keys whose values differ, such as `limits.queue` and `networks.pods`, sorted.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let (mut ours, theirs) = (self.keys(), other.keys());
        for (key, value) in theirs {
            if ours.get(&key) == Some(&value) {
                ours.remove(&key);
            } else {
                ours.insert(key, value);
            }
        }
        ours.into_keys().collect()
    }

    /// Each key with its value; each network and each policy is a single key.
    fn keys(&self) -> BTreeMap<String, Value> {
        let mut keys = BTreeMap::new();
        for (section, value) in &sections(self) {
            for (key, value) in value.as_object().into_iter().flatten() {
                keys.insert(format!("{section}.{key}"), value.clone());
            }
        }
        keys
    }
}

/// The configuration as tables of keys.
fn sections(config: &Config) -> Map<String, Value> {
    match serde_json::to_value(config) {
        Ok(Value::Object(sections)) => sections,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: &str = r#"
        [addresses]
        cooldown_seconds = 1
        nearly_full_percent = 1
        [limits]
        in_flight = 1
        queue = 1
        networks = 1
        drain_seconds = 1
        [sandbox]
        deadline_ms = 1
        memory_mib = 1
        concurrency = 1
        compile_seconds = 1
        [policies.mine]
        path = "/mine.wasm"
        sha256 = "0"
        [networks.pods]
        exclusive = true
        [delegates.azure]
        path = "/opt/cni/bin/azure-ipam"
        [aws]
        network = "pods"
        labels = { pool = "batch" }
        schedulable = false
        terminating = true
        max_pods = 29
        [cluster]
        networks = { pods = ["pods"] }
        pods = false
        preallocation = 8
        [runtime]
        socket = "/run/cri.sock"
        grace_seconds = 1
        exclusive = true
        [node]
        name = "blue"
        boot_id_file = "/run/boot"
        machine_id = "m"
        system_uuid = "s"
        [host_local]
        ignore = true
        [metrics]
        listen = "127.0.0.1:9477"
        [log]
        level = "debug"
        format = "json"
    "#;

    #[test]
    fn each_key_holds_at_once_or_after_a_restart_and_is_told_as_that() {
        let (before, read) = (Config::default(), toml::from_str::<Config>(EVERYTHING).unwrap());
        let every = before.differences(&read);
        assert_eq!(every.len(), 32, "{every:?}");
        let in_force = read.clone().on_top_of(&before);
        let (live, later): (Vec<_>, Vec<_>) = every.into_iter().partition(|key| is_live(key));
        assert_eq!(before.differences(&in_force), live);
        assert_eq!(in_force.differences(&read), later);
        assert_eq!(
            later,
            [
                "aws.network",
                "cluster.networks",
                "cluster.pods",
                "cluster.preallocation",
                "log.format",
                "metrics.listen",
                "node.boot_id_file",
                "node.machine_id",
                "node.name",
                "node.system_uuid",
                "runtime.socket",
                "sandbox.compile_seconds",
                "sandbox.concurrency",
                "sandbox.deadline_ms",
                "sandbox.memory_mib"
            ]
        );
        // A removed key is a difference too.
        assert_eq!(in_force.differences(&before).len(), live.len());
        assert_eq!(read.differences(&read), [""; 0]);
    }

    #[test]
    fn the_book_says_of_each_key_when_it_takes_effect() {
        let page = include_str!("../../../../deploy/book/src/running.md");
        // A row names sections, and keys that are not as the rest of their section.
        let row = |effect: &str| {
            let row = page.lines().find(|line| line.starts_with("| `") && line.contains(effect)).unwrap();
            let keys = row.split('`').skip(1).step_by(2);
            keys.map(str::to_owned).collect::<BTreeSet<_>>()
        };
        let (live, later) = (row("| at once |"), row("| after a restart;"));
        let read = toml::from_str::<Config>(EVERYTHING).unwrap();
        let mut keys: BTreeSet<_> = read.keys().into_keys().collect();
        let empty =
            sections(&read).into_iter().filter(|(_, keys)| keys.as_object().is_some_and(Map::is_empty));
        keys.extend(empty.map(|(section, _)| format!("{section}.any")));
        let names = keys.iter().map(|key| {
            let section = key.split('.').next().unwrap();
            let mut names = [key.as_str(), section].into_iter();
            let name = names.find(|name| live.contains(*name) || later.contains(*name));
            let name = name.unwrap_or_else(|| panic!("the table lacks {key}"));
            assert_eq!([live.contains(name), later.contains(name)], [is_live(key), !is_live(key)], "{key}");
            name.to_owned()
        });
        assert_eq!(names.collect::<BTreeSet<_>>(), &live | &later, "there are no other keys");
    }

    #[test]
    fn a_network_of_another_supplier_keeps_its_definition_until_the_restart() {
        const RANGES: &str = "[networks.pods]\nrecord = 5\nipam.ranges = [[{ subnet = \"10.1.0.0/24\" }]]";
        const BLOCKS: &str = "[cluster]\nnetworks = { pods = [\"pods\"] }\n[networks.pods]\nrecord = 7\n\
             ipam = { policy = \"cluster-range\", pools = [\"pods\"] }";
        const AWS: &str = "[aws]\nnetwork = \"pods\"\n[networks.pods]\npolicy = \"aws-eni\"\nconfig = \"{}\"";
        let definition = |config: &Config| {
            let table = config.networks.get("pods").cloned().unwrap_or_default();
            NetworkTable::default().defined_as(table)
        };
        for (before, read, supplier) in [
            (RANGES, BLOCKS, "cluster.networks"),
            (BLOCKS, RANGES, "cluster.networks"),
            ("", BLOCKS, "cluster.networks"),
            (BLOCKS, "", "cluster.networks"),
            (RANGES, AWS, "aws.network"),
            (AWS, RANGES, "aws.network"),
        ] {
            let [before, read] = [before, read].map(|text| toml::from_str::<Config>(text).unwrap());
            let in_force = read.clone().on_top_of(&before);
            assert_eq!(definition(&in_force), definition(&before), "{in_force:?}");
            assert_eq!(in_force.differences(&read), [supplier, "networks.pods"]);
            // What bounds the network does not wait.
            let record = |config: &Config| config.networks.get("pods").map_or(0, |table| table.record);
            assert_eq!(record(&in_force), record(&read));
        }
    }

    #[test]
    fn the_configuration_in_force_is_shown_as_a_file_that_means_the_same() {
        for config in [Config::default(), toml::from_str(EVERYTHING).unwrap()] {
            let shown = toml::to_string(&config).unwrap();
            assert_eq!(toml::from_str::<Config>(&shown).unwrap(), config, "{shown}");
        }
    }
}
