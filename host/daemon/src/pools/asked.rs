//! The pools that a CNI configuration asks for, such as a NetworkAttachmentDefinition's.

use tenure_types::NetworkConfig;
use tenure_types::cni::ipam_value;

/// The wishes of a configuration.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AskedPools {
    /// `ipam.pools`, if the configuration has it.
    pub(super) named: Option<Vec<String>>,
    /// `ipam.requirePoolMatch`.
    pub(super) requires_match: bool,
    /// Whether it asks for something else than what the network has anyway.
    pub(super) is_special: bool,
}

impl AskedPools {
    /// The wishes of a configuration for a network with these pools. What cannot be read is the policy's to refuse.
    pub(super) fn of(config: &NetworkConfig, pools: &[String]) -> Self {
        let value = |key: &str| ipam_value(&config.ipam, key);
        let named: Option<Vec<String>> = value("pools").and_then(|named| serde_json::from_value(named).ok());
        let requires_match = value("requirePoolMatch").and_then(|value| value.as_bool()).unwrap_or_default();
        let is_special = requires_match || named.as_ref().is_some_and(|named| named != pools);
        Self { named, requires_match, is_special }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_special_if_it_narrows_or_requires() {
        let asked = |ipam: &str| {
            let config = NetworkConfig { ipam: ipam.to_owned(), attributes: Vec::new() };
            let asked = AskedPools::of(&config, &["a", "b"].map(str::to_owned));
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
