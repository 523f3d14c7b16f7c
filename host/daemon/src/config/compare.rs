//! Comparing a reloaded configuration with the current one, and which keys can change without a restart.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Aws, Claims, Config, Log, Runtime};

/// Whether a key's new value takes effect on a reload; if not, it does after a restart.
///
/// [`Config::on_top_of`] implements this, and the configuration reference documents it.
pub(crate) fn is_live(key: &str) -> bool {
    !(key.starts_with("sandbox.")
        || key.starts_with("aws.") && key != "aws.labels"
        || matches!(
            key,
            "runtime.socket" | "metrics.listen" | "log.format" | "claims.socket_mode" | "claims.socket_group"
        ))
}

impl Config {
    /// This configuration, except for the keys that need a restart, which keep their previous values.
    pub(crate) fn on_top_of(self, before: &Self) -> Self {
        let before = before.clone();
        Self {
            sandbox: before.sandbox,
            aws: Aws { labels: self.aws.labels, ..before.aws },
            runtime: Runtime { socket: before.runtime.socket, ..self.runtime },
            metrics: before.metrics,
            log: Log { format: before.log.format, ..self.log },
            addresses: self.addresses,
            limits: self.limits,
            exchange: self.exchange,
            signatures: self.signatures,
            policies: self.policies,
            networks: self.networks,
            host_local: self.host_local,
            cni: self.cni,
            agents: self.agents,
            delegates: self.delegates,
            claims: Claims {
                socket_mode: before.claims.socket_mode,
                socket_group: before.claims.socket_group,
                ..self.claims
            },
        }
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
        let sections = serde_json::to_value(self).unwrap_or_default();
        for (section, value) in sections.as_object().into_iter().flatten() {
            for (key, value) in value.as_object().into_iter().flatten() {
                keys.insert(format!("{section}.{key}"), value.clone());
            }
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: &str = r#"
        [addresses]
        cooldown_seconds = 1
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
        [runtime]
        socket = "/run/cri.sock"
        grace_seconds = 1
        exclusive = true
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
        assert_eq!(every.len(), 21, "{every:?}");
        let in_force = read.clone().on_top_of(&before);
        let (live, later): (Vec<_>, Vec<_>) = every.into_iter().partition(|key| is_live(key));
        assert_eq!(before.differences(&in_force), live);
        assert_eq!(in_force.differences(&read), later);
        assert_eq!(
            later,
            [
                "aws.network",
                "log.format",
                "metrics.listen",
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
}
