//! Networks in the configuration: the definition of a network, and bounds that apply to a network of any origin.

use std::collections::HashMap;
use std::sync::Arc;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tenure_types::cni::{Configuration, ipam_value};
use tenure_types::{DelegateName, NetworkConfig, NetworkName, PolicyName};

use super::{Config, subnets};

/// A network. Without `ipam` and `config`, only its bounds hold, and CNI calls or an operator define it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NetworkTable {
    /// The policy that serves it, unless `tenurectl policy activate` has chosen another. The default is the one that `ipam.policy` names, or else `host-local`.
    pub(crate) policy: Option<String>,
    /// Defines the network: the `ipam` object of a CNI configuration, from which the policy makes ranges. CNI calls need not repeat it and cannot change it, but a call's own `routes` and `requirePoolMatch` count before those here. Of `routes` to one destination, the call's counts first, then that of the address's range (such as an AddressPool's), then the one here; a call with `routes`, even an empty list, gets none from here. `socket`, `timeout`, `wait` and `resolvConf` are the plugin's, which reads them in the CNI configuration.
    pub(crate) ipam: Option<Map<String, Value>>,
    /// The same object as JSON text, instead of `ipam`.
    pub(crate) config: Option<String>,
    /// The delegate from which its addresses come: the name of a `[delegates.NAME]`. Defines the network, like `ipam`, whose place it takes.
    pub(crate) delegate: Option<String>,
    /// The `ipam` object that the delegate gets; its `type` is set to the binary's name.
    pub(crate) delegate_config: Option<Map<String, Value>>,
    /// Subnets such as `["10.1.0.0/16", "fd00::/64"]`; each of its ranges must lie in one of them. Without any, all ranges are allowed.
    #[schemars(with = "Vec<String>")]
    #[serde(deserialize_with = "subnets::subnets")]
    pub(crate) within: Vec<IpNet>,
    /// Policies that may serve it. Without any, all may.
    pub(crate) policies: Vec<String>,
    /// Whether to refuse any overlap between its ranges and another network's. The network of `[aws]` always does.
    pub(crate) exclusive: bool,
    /// How many decisions of its policy to keep in the state directory, for `tenurectl policy replay`; at most 100000. 0 records none.
    #[schemars(range(max = 100_000))]
    pub(crate) record: u32,
}

/// The definition of a network in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NetworkDefinition {
    pub(crate) policy: PolicyName,
    pub(crate) config: Arc<NetworkConfig>,
}

impl NetworkTable {
    /// Whether the table defines the network, rather than only setting bounds.
    pub(crate) fn defines(&self) -> bool {
        self.ipam.is_some() || self.config.is_some() || self.delegate.is_some()
    }

    /// The bounds of this table with the definition of another.
    pub(crate) fn defined_as(self, other: Self) -> Self {
        let Self { policy, ipam, config, delegate, delegate_config, .. } = other;
        Self { policy, ipam, config, delegate, delegate_config, ..self }
    }

    /// The network's definition, if the table has one.
    ///
    /// # Errors
    /// The invalid key and the reason.
    pub(crate) fn definition(&self) -> Result<Option<NetworkDefinition>, (&'static str, String)> {
        if let Some(delegate) = &self.delegate {
            return self.delegated(delegate).map(Some);
        }
        if self.delegate_config.is_some() {
            return Err(("delegate_config", "needs `delegate`, which gets it".to_owned()));
        }
        let (key, ipam) = match (&self.ipam, &self.config) {
            (Some(_), Some(_)) => return Err(("config", "set `ipam` or `config`, not both".to_owned())),
            (Some(ipam), None) => ("ipam", Value::Object(ipam.clone()).to_string()),
            (None, Some(text)) => {
                let parsed: Result<Map<String, Value>, _> = serde_json::from_str(text);
                parsed.map_err(|error| ("config", format!("not a JSON object: {error}")))?;
                ("config", text.clone())
            }
            (None, None) if self.policy.is_some() => {
                return Err((
                    "policy",
                    "`policy` needs `ipam` or `config`, which define the ranges".to_owned(),
                ));
            }
            (None, None) => return Ok(None),
        };
        let wrong = |error: &dyn std::fmt::Display| (key, error.to_string());
        // Parse it as the plugin's configuration, so that it has the same meaning.
        let plugin = format!(r#"{{"name":"network","ipam":{ipam}}}"#);
        let plugin = Configuration::parse(plugin.as_bytes()).map_err(|error| wrong(&error))?;
        let named = plugin.policy().map_err(|error| wrong(&error))?;
        let policy = match &self.policy {
            None => named,
            Some(policy) => {
                let policy = PolicyName::new(policy).map_err(|error| ("policy", error.to_string()))?;
                let names_another = ipam_value(&ipam, "policy").is_some() && named != policy;
                if names_another {
                    return Err(("policy", format!("`{key}` names policy {named}")));
                }
                policy
            }
        };
        if policy.delegate().is_none() {
            // Pods get them.
            plugin.routes().map_err(|error| wrong(&error))?;
        }
        let config = Arc::new(NetworkConfig { ipam, attributes: Vec::new() });
        Ok(Some(NetworkDefinition { policy, config }))
    }
}

impl NetworkTable {
    /// The definition of a network whose addresses come from a delegate.
    fn delegated(&self, delegate: &str) -> Result<NetworkDefinition, (&'static str, String)> {
        for (key, is_set) in [
            ("ipam", self.ipam.is_some()),
            ("config", self.config.is_some()),
            ("policy", self.policy.is_some()),
        ] {
            if is_set {
                return Err((key, "set it or `delegate`, not both".to_owned()));
            }
        }
        let name = DelegateName::new(delegate).map_err(|error| ("delegate", error.to_string()))?;
        let ipam = Value::Object(self.delegate_config.clone().unwrap_or_default()).to_string();
        let config = Arc::new(NetworkConfig { ipam, attributes: Vec::new() });
        Ok(NetworkDefinition { policy: name.policy(), config })
    }
}

impl Config {
    /// The networks that the configuration defines, sorted by name.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = (NetworkName, NetworkDefinition)> {
        // Each was checked when the configuration was read.
        self.networks
            .iter()
            .filter_map(|(name, table)| Some((NetworkName::new(name).ok()?, table.definition().ok()??)))
    }

    /// How many decisions to keep of each network whose decisions are recorded.
    pub(crate) fn recorded(&self) -> HashMap<NetworkName, u32> {
        let recorded = self.networks.iter().filter(|(_, table)| table.record > 0);
        recorded.filter_map(|(name, table)| Some((NetworkName::new(name).ok()?, table.record))).collect()
    }

    /// Whether the configuration defines a network.
    pub(crate) fn defines(&self, network: &NetworkName) -> bool {
        self.networks.get(network.as_str()).is_some_and(NetworkTable::defines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> NetworkTable {
        toml::from_str(text).unwrap()
    }

    fn defined(text: &str) -> (String, String) {
        let definition = table(text).definition().unwrap().unwrap();
        (definition.policy.to_string(), definition.config.ipam.clone())
    }

    fn refused(text: &str) -> (&'static str, String) {
        table(text).definition().unwrap_err()
    }

    #[test]
    fn a_table_and_a_text_mean_the_same() {
        let ipam = r#"{"ranges":[[{"subnet":"10.1.0.0/24"}]]}"#;
        let expected = ("host-local".to_owned(), ipam.to_owned());
        assert_eq!(defined("ipam.ranges = [[{ subnet = \"10.1.0.0/24\" }]]"), expected);
        assert_eq!(defined(&format!("config = '{ipam}'")), expected);
        let named = ("mine".to_owned(), r#"{"policy":"mine"}"#.to_owned());
        assert_eq!(defined("ipam.policy = \"mine\""), named);
        assert_eq!(defined("policy = \"mine\"\nipam.policy = \"mine\""), named);
        assert_eq!(defined("policy = \"mine\"\n[ipam]").0, "mine");
    }

    #[test]
    fn a_delegate_takes_the_place_of_the_policy() {
        let named = ("delegate.azure".to_owned(), r#"{"mode":"overlay"}"#.to_owned());
        assert_eq!(defined("delegate = \"azure\"\ndelegate_config.mode = \"overlay\""), named);
        assert_eq!(defined("delegate = \"azure\"").1, "{}");
        let own = "delegate = \"azure\"\ndelegate_config.routes = [\"10.0.0.0/8\"]";
        assert_eq!(
            defined(own).1,
            r#"{"routes":["10.0.0.0/8"]}"#,
            "a delegate reads its routes in a form of its own"
        );
        assert_eq!(refused("delegate = \"azure\"\nconfig = '{}'").0, "config");
        assert_eq!(refused("delegate = \"a/b\"").0, "delegate");
        assert_eq!(refused("[delegate_config]").0, "delegate_config");
    }

    #[test]
    fn bounds_alone_define_nothing() {
        let bounds = table("within = [\"10.0.0.0/8\"]\nexclusive = true");
        assert!(!bounds.defines());
        assert_eq!(bounds.definition(), Ok(None));
    }

    #[test]
    fn what_is_wrong_is_named_by_its_key() {
        assert_eq!(refused("config = '{}'\n[ipam]").0, "config");
        let (key, why) = refused("config = '[]'");
        assert!(key == "config" && why.starts_with("not a JSON object"), "{key}: {why}");
        assert_eq!(refused("policy = \"mine\"").0, "policy");
        assert_eq!(refused("policy = \"a/b\"\n[ipam]").0, "policy");
        assert_eq!(refused("ipam.policy = 7").0, "ipam");
        let (key, why) = refused("ipam.routes = [{ dst = \"default\" }]");
        assert!(key == "ipam" && why.contains("routes[0].dst: not a subnet"), "{key}: {why}");
        assert_eq!(refused(r#"config = '{"routes": ["10.0.0.0/8"]}'"#).0, "config");
        assert_eq!(
            refused("policy = \"mine\"\nipam.policy = \"yours\""),
            ("policy", "`ipam` names policy yours".to_owned())
        );
    }
}
