//! Networks that a CNI configuration names before any pod needs them.

use std::sync::Arc;

use serde_json::{Map, Value};
use tenure_engine::Foreseen;
use tenure_types::cni::{Command, Configuration};
use tenure_types::{Error, ErrorCode, Result};

use super::{CniService, network_config};

/// The `ipam.type` of the plugin.
const TENURE: &str = "tenure";

/// The `type` of the plugin where it is the main one; its `ipam` needs no type.
const ENI: &str = "tenure-eni";

type Object = Map<String, Value>;

/// A network of a CNI configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeseenNetwork {
    /// As the engine is asked to define it.
    pub network: Foreseen,
}

impl CniService {
    /// Brings a network in line with a CNI configuration, as an ADD with it would. Returns whether anything changed.
    ///
    /// # Errors
    /// As an ADD.
    pub async fn foresee(&self, foreseen: &ForeseenNetwork) -> Result<bool> {
        self.engine.foresee(&foreseen.network).await
    }
}

/// The networks of a CNI configuration or configuration list that use the plugin.
///
/// Not those whose ranges come with each call, by way of the capability `ipRanges`.
///
/// # Errors
/// `MalformedConfig` if it is neither; otherwise as an ADD.
pub fn foreseen(text: &[u8]) -> Result<Vec<ForeseenNetwork>> {
    let mut all: Vec<ForeseenNetwork> = Vec::new();
    for input in inputs(text)? {
        let config = Configuration::parse(&input)?;
        config.version(&Command::Add)?;
        config.routes()?;
        let network = Foreseen {
            network: config.name().clone(),
            policy: config.policy()?,
            config: Arc::new(network_config(&config)?),
        };
        if all.iter().all(|known| known.network.network != network.network) {
            all.push(ForeseenNetwork { network });
        }
    }
    Ok(all)
}

/// Lists the inputs of the plugin, one for each plugin of the configuration that calls it.
fn inputs(text: &[u8]) -> Result<Vec<Vec<u8>>> {
    let malformed = |cause: String| Error::new(ErrorCode::MalformedConfig, cause);
    let root: Object = serde_json::from_slice(text).map_err(|error| malformed(error.to_string()))?;
    let plugins = match root.get("plugins") {
        None => vec![&root],
        Some(Value::Array(plugins)) => plugins.iter().filter_map(Value::as_object).collect(),
        Some(_) => return Err(malformed("plugins is not a list".to_owned())),
    };
    let ours = plugins.into_iter().filter(|plugin| calls_us(plugin) && !has_ranges_of_calls(plugin));
    let input = |plugin: &Object| {
        // The runtime passes the list's name and version to each plugin.
        let mut input = Map::new();
        for (from, key) in [(&root, "name"), (&root, "cniVersion"), (plugin, "ipam")] {
            input.extend(from.get(key).map(|value| (key.to_owned(), value.clone())));
        }
        Value::Object(input).to_string().into_bytes()
    };
    Ok(ours.map(input).collect())
}

fn calls_us(plugin: &Object) -> bool {
    plugin.get("type").and_then(Value::as_str) == Some(ENI)
        || plugin.get("ipam").and_then(|ipam| ipam.get("type")?.as_str()) == Some(TENURE)
}

fn has_ranges_of_calls(plugin: &Object) -> bool {
    let capability = plugin.get("capabilities").and_then(|capabilities| capabilities.get("ipRanges"));
    capability == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    const IPAM: &str = r#"{"ranges":[[{"subnet":"10.1.0.0/24"}]],"type":"tenure"}"#;

    fn told(text: &str) -> Vec<String> {
        let inputs = inputs(text.as_bytes()).unwrap();
        inputs.into_iter().map(|input| String::from_utf8(input).unwrap()).collect()
    }

    #[test]
    fn a_list_and_a_single_configuration_call_the_plugin() {
        // As a runtime writes it: with sorted keys.
        let input = format!(r#"{{"cniVersion":"1.0.0","ipam":{IPAM},"name":"pods"}}"#);
        let list = format!(
            r#"{{"cniVersion":"1.0.0","name":"pods","plugins":[
                {{"type":"bridge","ipam":{IPAM}}}, {{"type":"portmap"}}, {{"type":"ptp","ipam":{{"type":"dhcp"}}}}]}}"#
        );
        assert_eq!(told(&list), std::slice::from_ref(&input));
        let single = format!(r#"{{"cniVersion":"1.0.0","name":"pods","type":"bridge","ipam":{IPAM}}}"#);
        assert_eq!(told(&single), [input]);
        let known = foreseen(single.as_bytes()).unwrap();
        assert_eq!(known.len(), 1);
        let known = &known[0].network;
        assert_eq!((known.network.as_str(), known.policy.as_str()), ("pods", "host-local"));
        assert_eq!(known.config.ipam, IPAM);
    }

    #[test]
    fn the_main_plugin_calls_itself() {
        let single = r#"{"name":"pods","type":"tenure-eni","ipam":{"policy":"host-local"}}"#;
        assert_eq!(told(single), [r#"{"ipam":{"policy":"host-local"},"name":"pods"}"#]);
    }

    #[test]
    fn what_does_not_use_the_plugin_is_none_of_our_business() {
        for other in [
            r#"{"name":"pods","type":"loopback"}"#.to_owned(),
            r#"{"name":"pods","plugins":[]}"#.to_owned(),
            r#"{"name":"pods","plugins":[7, null]}"#.to_owned(),
            r#"{"name":"../x","cniVersion":7,"type":"ptp","ipam":{"type":"dhcp"}}"#.to_owned(),
            r#"{"name":"pods","type":"ptp","ipam":"tenure"}"#.to_owned(),
            format!(r#"{{"name":"pods","type":"ptp","capabilities":{{"ipRanges":true}},"ipam":{IPAM}}}"#),
            "{}".to_owned(),
        ] {
            assert_eq!(foreseen(other.as_bytes()), Ok(Vec::new()), "{other}");
        }
    }

    #[test]
    fn what_its_first_add_would_refuse_is_refused() {
        for text in ["", "{", "[]", "1", r#"{"name":"pods","plugins":7}"#, "{\"name\": \"po"] {
            assert_eq!(foreseen(text.as_bytes()).unwrap_err().code, ErrorCode::MalformedConfig, "{text:?}");
        }
        let refused = |rest: &str| {
            let text = format!(r#"{{"type":"ptp","ipam":{IPAM}{rest}}}"#);
            foreseen(text.as_bytes()).unwrap_err().code
        };
        assert_eq!(refused(r#","cniVersion":"1.0.0","name":"../x""#), ErrorCode::InvalidConfig);
        assert_eq!(refused(r#","cniVersion":"9.0.0","name":"pods""#), ErrorCode::IncompatibleVersion);
    }
}
