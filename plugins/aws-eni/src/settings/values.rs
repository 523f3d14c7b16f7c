//! The values of all settings: keys of our own, ipamd's environment, and defaults.

use std::collections::BTreeMap;

use tenure_sdk::{ConfigError, Node};

use super::environment;
use super::knobs::{EC2_ADDRESS, KNOBS};
use super::value::Value;

/// The key of ipamd's environment.
const ENVIRONMENT: &str = "env";

/// The key of the list of other targets.
pub(super) const TARGETS: &str = "targets";

/// The keys of the `ipam` object that the plugin and the host read.
const HOST_KEYS: [&str; 8] =
    ["type", "policy", "socket", "timeout", "wait", "resolvConf", "routes", "dataDir"];

/// A setting of earlier versions, which the host has now.
const EC2_ENDPOINT: &str = "ec2.endpoint";

/// The values of all settings, by key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Values(BTreeMap<&'static str, Value>);

impl Values {
    /// Reads the `ipam` object, and adds warnings.
    ///
    /// # Errors
    /// With the path of an unknown key, a wrong value, a setting that is out of scope, or one that is set twice.
    pub(super) fn read(root: &Node, warnings: &mut Vec<String>) -> Result<Self, ConfigError> {
        refuse_unknown(root)?;
        let mut values = BTreeMap::new();
        if let Some(table) = root.get(ENVIRONMENT)? {
            for (knob, node, value) in environment::read(&table, warnings)? {
                let Some(key) = knob.key else { continue };
                if root.find(&format!("ipam.{key}"))?.is_some() {
                    return Err(node.wrong(format!("is set twice: as ipam.{key} as well")));
                }
                if let Some(value) = value {
                    values.insert(key, value);
                }
            }
        }
        for knob in KNOBS {
            let Some(key) = knob.key else { continue };
            if let Some(node) = root.find(&format!("ipam.{key}"))? {
                values.insert(key, Value::own(knob.kind, &node)?);
            }
            if let Some(default) = Value::default(knob.kind) {
                values.entry(key).or_insert(default);
            }
        }
        Ok(Self(values))
    }

    /// A number; none if it has no value.
    pub(super) fn count(&self, key: &str) -> Option<u32> {
        match self.0.get(key) {
            Some(Value::Count(count)) => Some(*count),
            _ => None,
        }
    }

    /// Whether a flag is set.
    pub(super) fn flag(&self, key: &str) -> bool {
        matches!(self.0.get(key), Some(Value::Flag(true)))
    }

    /// The value of a setting as an attribute; none if it has no value, or an empty one.
    pub(super) fn attribute(&self, key: &str) -> Option<String> {
        self.0.get(key).map(Value::attribute).filter(|text| !text.is_empty())
    }
}

/// Refuses keys that nobody reads.
fn refuse_unknown(root: &Node) -> Result<(), ConfigError> {
    let known = |path: &str| {
        let is_it = |key: &str| key.eq_ignore_ascii_case(path);
        KNOBS.iter().filter_map(|knob| knob.key).any(is_it)
    };
    let is_group = |name: &str| {
        let groups = KNOBS.iter().filter_map(|knob| Some(knob.key?.split_once('.')?.0));
        groups.into_iter().any(|group| group.eq_ignore_ascii_case(name))
    };
    for (name, node) in root.entries()? {
        let is_read =
            HOST_KEYS.iter().chain(&[ENVIRONMENT, TARGETS]).any(|key| key.eq_ignore_ascii_case(&name));
        if is_read || known(&name) {
            continue;
        }
        if !is_group(&name) {
            return Err(node.wrong("is not a setting of this policy"));
        }
        for (part, node) in node.entries()? {
            if format!("{name}.{part}").eq_ignore_ascii_case(EC2_ENDPOINT) {
                return Err(node.wrong(EC2_ADDRESS));
            }
            if !known(&format!("{name}.{part}")) {
                return Err(node.wrong("is not a setting of this policy"));
            }
        }
    }
    Ok(())
}
