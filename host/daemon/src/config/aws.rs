//! The node's AWS network interfaces in the configuration.

use std::collections::BTreeMap;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_types::NetworkName;

/// The node's AWS network interfaces, whose addresses a network hands out. Without `network`, tenured uses nothing of AWS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AwsTable {
    /// The network whose supply are the node's interfaces. Its policy plans what is assigned, released, attached and detached; `aws-eni`, which is built in, is for that. The definition of a network for which this changes waits for the restart, too.
    pub(crate) network: Option<String>,
    /// The EC2 service's URL: with https, except on loopback. Without it, `AWS_ENDPOINT_URL_EC2` or `AWS_ENDPOINT_URL` in the environment is used, or else the region's own. No setting of a network leads requests elsewhere.
    pub(crate) ec2_endpoint: Option<String>,
    /// The instance metadata service's URL. Without it, `AWS_EC2_METADATA_SERVICE_ENDPOINT` in the environment is used, or else `http://169.254.169.254`.
    pub(crate) imds_endpoint: Option<String>,
    /// Seconds between two looks at what EC2 has, after something was new. While nothing is, the next one comes after two hours as long as the metadata service shows the same as EC2 did, and after 15 minutes otherwise; what is in doubt, and a hint of the metadata service, bring it earlier.
    #[schemars(range(min = 1))]
    pub(crate) look_seconds: u32,
    /// Seconds that EC2's answers may lag behind what it has done. What EC2 no longer shows is gone only when it has not been shown for so long.
    #[schemars(range(min = 1))]
    pub(crate) consistency_seconds: u32,
    /// Addresses that each pool of the network must have, in use or not, before the node is ready for pods. 0: it is ready without any.
    pub(crate) ready_addresses: u32,
    /// With the network's setting `customNetwork.enabled`: the subnet in which interfaces are created. Without it, that of the ENIConfig, if `cluster.node` is set.
    pub(crate) subnet: Option<String>,
    /// With `subnet`: the security groups of new interfaces. Without any, those of the primary interface.
    pub(crate) groups: Vec<String>,
    /// Labels of this node, such as `{ pool = "batch" }`, for the policy's `targets`. With `cluster.node`, those of its Node are added; of two with the same key, this one counts.
    pub(crate) labels: BTreeMap<String, String>,
    /// Whether the scheduler may place pods on this node. While it is `false`, as on a cordoned node, the policy serves the pods that wait and keeps nothing warm, unless the network's setting `growUnschedulable` says otherwise. Without it, what the Node says counts if `cluster.node` is set, and else `true`.
    pub(crate) schedulable: Option<bool>,
    /// Whether the instance is about to end. While it is `true`, nothing is requested of EC2 any more. Without it, what the Node says counts if `cluster.node` is set, and else `false`.
    pub(crate) terminating: Option<bool>,
    /// The most pods that this node runs, as the kubelet's `maxPods`: the policy keeps no more addresses than these need, unless the network's setting `maxPods` says how many. Without it, what the Node says counts if `cluster.node` is set.
    #[schemars(range(min = 1))]
    pub(crate) max_pods: Option<u32>,
}

impl Default for AwsTable {
    fn default() -> Self {
        Self {
            network: None,
            ec2_endpoint: None,
            imds_endpoint: None,
            look_seconds: 60,
            consistency_seconds: 60,
            ready_addresses: 1,
            subnet: None,
            groups: Vec::new(),
            labels: BTreeMap::new(),
            schedulable: None,
            terminating: None,
            max_pods: None,
        }
    }
}

impl AwsTable {
    /// The network, if there is one. The name was checked when the configuration was read.
    pub(crate) fn network(&self) -> Option<NetworkName> {
        self.network.as_deref().and_then(|name| NetworkName::new(name).ok())
    }

    /// Checks what the types cannot express; returns the invalid field and the reason.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        let wrong = |field, message: &str| Err((field, message.to_owned()));
        let Some(network) = &self.network else {
            let is_set = Self { network: None, ..Self::default() } != *self;
            return if is_set {
                wrong("network", "is required when any other key of [aws] is set")
            } else {
                Ok(())
            };
        };
        NetworkName::new(network).map_err(|error| ("network", error.to_string()))?;
        if !cfg!(feature = "aws") {
            return wrong("network", "this tenured was built without its feature `aws`");
        }
        for (field, url) in [("ec2_endpoint", &self.ec2_endpoint), ("imds_endpoint", &self.imds_endpoint)] {
            if url.as_ref().is_some_and(|url| !is_url(url)) {
                return wrong(field, "must be a URL such as http://127.0.0.1:8101");
            }
        }
        if self.ec2_endpoint.as_ref().is_some_and(|url| !is_private(url)) {
            return wrong("ec2_endpoint", "must be https://..., except on loopback");
        }
        for (field, seconds) in
            [("look_seconds", self.look_seconds), ("consistency_seconds", self.consistency_seconds)]
        {
            if seconds == 0 {
                return wrong(field, "must be at least 1");
            }
        }
        if self.subnet.is_none() && !self.groups.is_empty() {
            return wrong("groups", "requires `subnet`: the groups apply to interfaces created there");
        }
        if self.max_pods == Some(0) {
            return wrong("max_pods", "must be at least 1");
        }
        match self.labels.iter().find(|(name, value)| !is_label(name, value)) {
            Some((name, value)) => {
                wrong("labels", &format!("{name:?} = {value:?} is not a valid Kubernetes label"))
            }
            None => Ok(()),
        }
    }
}

/// Whether a name and a value have the lengths and the characters of a label of Kubernetes.
pub(super) fn is_label(name: &str, value: &str) -> bool {
    let has_only = |text: &str, more: &str| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || more.as_bytes().contains(&byte))
    };
    let (prefix, name) = name.split_once('/').unwrap_or(("x", name));
    (1..=253).contains(&prefix.len())
        && has_only(prefix, "-.")
        && (1..=63).contains(&name.len())
        && has_only(name, "-_.")
        && value.len() <= 63
        && has_only(value, "-_.")
}

/// Whether a text begins as a URL of HTTP and goes on.
fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/') && !rest.contains(' '))
}

/// Whether nobody between listens to what is sent to a URL: by TLS, or because the address is on this node.
pub(crate) fn is_private(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return url.starts_with("https://") };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // The part before an @ is not a host.
    if authority.contains('@') {
        return false;
    }
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::is_private;

    use super::super::Config;

    fn refusal(text: &str) -> String {
        Config::parse(Path::new("tenured.toml"), &format!("[aws]\n{text}")).unwrap_err().to_string()
    }

    #[test]
    fn only_what_stays_on_the_node_or_has_tls_is_private() {
        for good in [
            "https://ec2.example",
            "http://127.0.0.1:8101",
            "http://127.9.9.9/",
            "http://[::1]:80/x",
            "http://localhost:1",
        ] {
            assert!(is_private(good), "{good}");
        }
        for bad in [
            "http://ec2.example",
            "http://10.79.0.1:8101",
            "http://169.254.1.2",
            "http://[fe80::1]",
            "http://127.0.0.1.example",
            "http://127.0.0.1@ec2.example/",
            "http://localhost@ec2.example",
            "http://localhost.example",
            "http://[2001:db8::1]",
            "http://",
            "ftp://127.0.0.1",
        ] {
            assert!(!is_private(bad), "{bad}");
        }
    }

    #[test]
    fn what_is_set_without_a_network_is_refused() {
        assert_eq!(
            refusal("look_seconds = 5"),
            "tenured.toml: aws.network: is required when any other key of [aws] is set"
        );
        assert_eq!(
            refusal("[aws.more]"),
            "tenured.toml: aws.more: unknown field `more`, expected one of `network`, `ec2_endpoint`, `imds_endpoint`, `look_seconds`, `consistency_seconds`, `ready_addresses`, `subnet`, `groups`, `labels`, `schedulable`, `terminating`, `max_pods`"
        );
        assert!(refusal("network = \"a b\"").starts_with("tenured.toml: aws.network: "));
    }

    #[cfg(not(feature = "aws"))]
    #[test]
    fn a_daemon_without_the_feature_says_so() {
        let expected = "tenured.toml: aws.network: this tenured was built without its feature `aws`";
        assert_eq!(refusal("network = \"pods\""), expected);
    }

    #[cfg(feature = "aws")]
    #[test]
    fn wrong_values_are_named() {
        let base = "network = \"pods\"\n";
        let good = "labels = { \"topology.kubernetes.io/zone\" = \"eu-1_a\", empty = \"\" }";
        Config::parse(Path::new("tenured.toml"), &format!("[aws]\n{base}{good}")).unwrap();
        for (text, expected) in [
            ("ec2_endpoint = \"127.0.0.1\"", "aws.ec2_endpoint: must be a URL"),
            ("ec2_endpoint = \"http://10.0.0.1\"", "aws.ec2_endpoint: must be https://"),
            ("imds_endpoint = \"http://\"", "aws.imds_endpoint: must be a URL"),
            ("look_seconds = 0", "aws.look_seconds: must be at least 1"),
            ("consistency_seconds = 0", "aws.consistency_seconds: must be at least 1"),
            ("groups = [\"sg-1\"]", "aws.groups: requires `subnet`"),
            ("labels = { pool = 3 }", "aws.labels.pool: invalid type"),
            ("labels = { \"\" = \"a\" }", "aws.labels: \"\" = \"a\" is not a valid Kubernetes label"),
            ("labels = { \"a/b/c\" = \"\" }", "aws.labels: \"a/b/c\" = \"\" is not a valid Kubernetes label"),
            ("labels = { pool = \"a b\" }", "aws.labels: \"pool\" = \"a b\" is not a valid Kubernetes label"),
        ] {
            let refusal = refusal(&format!("{base}{text}"));
            assert!(refusal.contains(expected), "{refusal}");
        }
    }
}
