//! The pools that a CNI configuration asks for, such as a NetworkAttachmentDefinition's.

use tenure_types::NetworkConfig;
use tenure_types::cni::ipam_value;

/// The wishes of a configuration.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AskedPools {
    /// `ipam.pools`, if the configuration has it.
    pub(super) named: Option<Vec<String>>,
    /// `ipam.requirePoolMatch`, if not of the configuration, of the network's definition.
    pub(super) requires_match: bool,
    /// Whether it asks for something else than what the network has anyway.
    pub(super) is_special: bool,
}

impl AskedPools {
    /// The wishes of a configuration for a network with these pools, and a definition if no call can change it. What cannot be read is the
    /// policy's to refuse.
    pub(super) fn of(config: &NetworkConfig, definition: Option<&NetworkConfig>, pools: &[String]) -> Self {
        let named: Option<Vec<String>> =
            ipam_value(&config.ipam, "pools").and_then(|named| serde_json::from_value(named).ok());
        let requires = |config: &NetworkConfig| ipam_value(&config.ipam, "requirePoolMatch")?.as_bool();
        let requires_match = requires(config).or_else(|| requires(definition?)).unwrap_or_default();
        let is_special = requires_match || named.as_ref().is_some_and(|named| named != pools);
        Self { named, requires_match, is_special }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(ipam: &str) -> NetworkConfig {
        NetworkConfig { ipam: ipam.to_owned(), attributes: Vec::new() }
    }

    #[test]
    fn a_definition_requires_what_the_call_does_not_decide() {
        let strict = config(r#"{"requirePoolMatch": true}"#);
        let requires =
            |ipam: &str| AskedPools::of(&config(ipam), Some(&strict), &["a".to_owned()]).requires_match;
        assert!(requires(r#"{"type": "tenure"}"#) && requires(r#"{"requirePoolMatch": true}"#));
        assert!(!requires(r#"{"requirePoolMatch": false}"#));
    }

    #[test]
    fn a_configuration_is_special_if_it_narrows_or_requires() {
        let asked = |ipam: &str| {
            let asked = AskedPools::of(&config(ipam), None, &["a", "b"].map(str::to_owned));
            (asked.named.unwrap_or_default().join(","), asked.requires_match, asked.is_special)
        };
        assert_eq!(asked(r#"{"type": "tenure"}"#), (String::new(), false, false));
        assert_eq!(asked(r#"{"pools": ["a", "b"]}"#), ("a,b".to_owned(), false, false));
        assert_eq!(asked(r#"{"pools": ["b"]}"#), ("b".to_owned(), false, true));
        assert_eq!(asked(r#"{"Pools": ["b"], "requirepoolmatch": true}"#), ("b".to_owned(), true, true));
        assert_eq!(asked(r#"{"requirePoolMatch": true}"#), (String::new(), true, true));
        assert_eq!(asked(r#"{"pools": 7}"#), (String::new(), false, false));
    }
}
