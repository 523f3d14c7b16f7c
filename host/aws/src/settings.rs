//! The settings of a network that the host itself follows, from the attributes of the network's definition.
//!
//! The policy `aws-eni` checks them and writes them there, each under its key in the book's page on AWS interfaces. What is
//! not there has its default.

use std::collections::BTreeMap;

use tenure_types::Attributes;

use crate::names;

/// The settings that the host follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ec2Settings {
    /// Whether interfaces may be created in any subnet that is tagged for it: `subnets.discover`.
    pub discover_subnets: bool,
    /// Whether interfaces without tags are managed: `interfaces.manageUntagged`.
    pub manage_untagged: bool,
    /// Whether leaked interfaces stay: `interfaces.keepLeaked`.
    pub keep_leaked: bool,
    /// More tags for new interfaces: `interfaces.tags`.
    pub tags: BTreeMap<String, String>,
    /// The cluster's name: `cluster`.
    pub cluster: Option<String>,
    /// Whether interfaces come from a subnet of their own, and pods get no address of the primary one:
    /// `customNetwork.enabled`.
    pub custom_network: bool,
    /// Whether nothing is assigned, released, attached or detached: `fixedSupply` or `imdsOnly`.
    pub fixed: bool,
    /// Whether EC2 is never called: `imdsOnly`.
    pub imds_only: bool,
}

impl Default for Ec2Settings {
    fn default() -> Self {
        Self {
            discover_subnets: true,
            manage_untagged: true,
            keep_leaked: false,
            tags: BTreeMap::new(),
            cluster: None,
            custom_network: false,
            fixed: false,
            imds_only: false,
        }
    }
}

/// A setting that is not what it must be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("setting {key} is {value:?}, but must be {must}")]
pub struct WrongSetting {
    /// The setting.
    pub key: &'static str,
    /// Configured value.
    pub value: String,
    /// Rule that the value breaks.
    pub must: &'static str,
}

impl Ec2Settings {
    /// Reads the attributes of a network's definition.
    ///
    /// # Errors
    /// With the first setting that is wrong.
    pub fn of(attributes: &Attributes) -> Result<Self, WrongSetting> {
        let usual = Self::default();
        let flag = |key: &'static str, usual: bool| match attributes.get(key) {
            None => Ok(usual),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(value) => Err(WrongSetting { key, value: value.to_owned(), must: "true or false" }),
        };
        let imds_only = flag("imdsOnly", false)?;
        Ok(Self {
            discover_subnets: flag("subnets.discover", usual.discover_subnets)?,
            manage_untagged: flag("interfaces.manageUntagged", usual.manage_untagged)?,
            keep_leaked: flag("interfaces.keepLeaked", usual.keep_leaked)?,
            tags: tags(attributes.get("interfaces.tags"))?,
            cluster: attributes.get("cluster").filter(|name| !name.is_empty()).map(str::to_owned),
            custom_network: flag("customNetwork.enabled", usual.custom_network)?,
            fixed: flag("fixedSupply", usual.fixed)? || imds_only,
            imds_only,
        })
    }

    /// The tags of a new interface: those of the settings, and over them those that tell others whose it is.
    pub(crate) fn tags_of(&self, instance: &str, intent: &str, created: &str) -> BTreeMap<String, String> {
        let mut tags = self.tags.clone();
        let own = [
            (names::INSTANCE_TAG, instance),
            (names::CREATED_TAG, created),
            (names::INTENT_TAG, intent),
            (names::CLUSTER_TAG, self.cluster.as_deref().unwrap_or_default()),
        ];
        let own = own.into_iter().filter(|(_, value)| !value.is_empty());
        tags.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
        tags
    }
}

/// Tags as the JSON object that the policy writes.
fn tags(text: Option<&str>) -> Result<BTreeMap<String, String>, WrongSetting> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(BTreeMap::new()) };
    let wrong =
        |_| WrongSetting { key: "interfaces.tags", value: text.to_owned(), must: "a JSON object of strings" };
    serde_json::from_str(text).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<Ec2Settings, WrongSetting> {
        Ec2Settings::of(&Attributes::new(pairs.iter().copied()).unwrap())
    }

    #[test]
    fn what_is_not_set_has_its_default_and_the_rest_is_read() {
        assert_eq!(of(&[]), Ok(Ec2Settings::default()));
        let set = of(&[
            ("cluster", "blue"),
            ("interfaces.tags", r#"{"team":"net"}"#),
            ("subnets.discover", "false"),
            ("imdsOnly", "true"),
        ]);
        let tags = BTreeMap::from([("team".to_owned(), "net".to_owned())]);
        let expected = Ec2Settings {
            cluster: Some("blue".to_owned()),
            tags,
            discover_subnets: false,
            fixed: true,
            imds_only: true,
            ..Ec2Settings::default()
        };
        assert_eq!(set, Ok(expected));
    }

    #[test]
    fn a_wrong_setting_is_named() {
        let wrong = of(&[("interfaces.keepLeaked", "yes")]).unwrap_err();
        assert_eq!(wrong.to_string(), r#"setting interfaces.keepLeaked is "yes", but must be true or false"#);
        assert_eq!(of(&[("interfaces.tags", "[1]")]).unwrap_err().key, "interfaces.tags");
    }

    #[test]
    fn own_tags_replace_those_of_the_settings() {
        let mut settings = of(&[("cluster", "blue"), ("interfaces.tags", r#"{"team":"net"}"#)]).unwrap();
        settings.tags.insert(names::INSTANCE_TAG.to_owned(), "i-other".to_owned());
        let tags = settings.tags_of("i-1", "intent-1", "2026-01-01T00:00:00Z");
        let pairs: Vec<_> = tags.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let expected = [
            (names::CLUSTER_TAG, "blue"),
            (names::CREATED_TAG, "2026-01-01T00:00:00Z"),
            (names::INSTANCE_TAG, "i-1"),
            ("team", "net"),
            (names::INTENT_TAG, "intent-1"),
        ];
        assert_eq!(pairs, expected);
    }
}
