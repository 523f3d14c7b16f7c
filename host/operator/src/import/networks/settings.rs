//! The settings of whereabouts: the `ipam` of a configuration, and its flat file, which fills what `ipam` leaves out.
//!
//! The rules are those of whereabouts' `pkg/config/config.go`: `range` with its ends and `exclude` is a range before those of `ipRanges`; each key that
//! is missing or empty is the flat file's, also beside keys of its own; the case of a key does not count.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The name of whereabouts as a plugin.
pub(super) const WHEREABOUTS: &str = "whereabouts";

/// The settings that decide about addresses. An empty one is not set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct WhereaboutsSettings {
    #[serde(flatten)]
    pub(super) range: WhereaboutsRange,
    #[serde(rename = "ipranges")]
    pub(super) ranges: Vec<WhereaboutsRange>,
    pub(super) gateway: String,
    pub(super) network_name: String,
    pub(super) node_slice_size: String,
    pub(super) routes: Vec<Value>,
    pub(super) addresses: Vec<Value>,
    pub(super) configuration_path: String,
}

/// A range as `ipam` and each of `ipRanges` have it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct WhereaboutsRange {
    pub(super) range: String,
    pub(super) range_start: String,
    pub(super) range_end: String,
    pub(super) exclude: Vec<String>,
}

impl WhereaboutsSettings {
    /// Reads an `ipam` object, or a flat file.
    ///
    /// # Errors
    /// If a value is not of its type.
    pub(super) fn read(ipam: &Map<String, Value>) -> Result<Self, serde_json::Error> {
        serde_json::from_value(plain(&Value::Object(ipam.clone())))
    }

    /// Fills what is not set.
    pub(super) fn fill(&mut self, flat: &Self) {
        fill(&mut self.range.range, &flat.range.range);
        fill(&mut self.range.range_start, &flat.range.range_start);
        fill(&mut self.range.range_end, &flat.range.range_end);
        fill(&mut self.range.exclude, &flat.range.exclude);
        fill(&mut self.ranges, &flat.ranges);
        fill(&mut self.gateway, &flat.gateway);
        fill(&mut self.network_name, &flat.network_name);
        fill(&mut self.node_slice_size, &flat.node_slice_size);
        fill(&mut self.routes, &flat.routes);
        fill(&mut self.addresses, &flat.addresses);
    }

    /// The ranges of each of which a pod gets an address.
    pub(super) fn all_ranges(&self) -> impl Iterator<Item = &WhereaboutsRange> {
        std::iter::once(&self.range).filter(|first| !first.range.is_empty()).chain(&self.ranges)
    }
}

fn fill<T: Default + PartialEq + Clone>(value: &mut T, other: &T) {
    if *value == T::default() {
        value.clone_from(other);
    }
}

/// Keys in small letters, and none that is null: Go takes both.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let set = object.iter().filter(|(_, value)| !value.is_null());
            Value::Object(set.map(|(key, value)| (key.to_lowercase(), plain(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(ipam: &Value) -> WhereaboutsSettings {
        WhereaboutsSettings::read(ipam.as_object().unwrap()).unwrap()
    }

    fn ranges(settings: &WhereaboutsSettings) -> Vec<&str> {
        settings.all_ranges().map(|range| range.range.as_str()).collect()
    }

    #[test]
    fn what_a_definition_leaves_out_is_the_flat_files() {
        let flat = settings(&json!({
            "range": "10.1.0.0/16", "range_end": "10.1.0.9", "exclude": ["10.1.0.1/32"], "gateway": "10.1.0.1",
            "network_name": "lab", "kubernetes": { "kubeconfig": "/etc/k" }, "log_level": "debug",
        }));
        let mut bare = settings(&json!({ "type": "whereabouts" }));
        bare.fill(&flat);
        assert_eq!(bare, flat);
        let mut own = settings(
            &json!({ "range": "10.2.0.0/16", "gateway": "10.2.0.1", "exclude": [], "routes": null }),
        );
        own.fill(&flat);
        assert_eq!((ranges(&own), own.gateway.as_str()), (vec!["10.2.0.0/16"], "10.2.0.1"));
        assert_eq!(own.range.exclude, ["10.1.0.1/32"], "each key by itself");
    }

    #[test]
    fn the_range_is_before_the_ranges_and_the_case_of_a_key_does_not_count() {
        let both = settings(&json!({ "range": "10.1.0.0/16", "IPRanges": [{ "Range": "fd00::/112" }] }));
        assert_eq!(ranges(&both), ["10.1.0.0/16", "fd00::/112"]);
        assert_eq!(ranges(&settings(&json!({ "ipRanges": [{ "range": "fd00::/112" }] }))), ["fd00::/112"]);
        assert!(ranges(&settings(&json!({ "range": null }))).is_empty());
        let wrong = WhereaboutsSettings::read(json!({ "range": 7 }).as_object().unwrap()).unwrap_err();
        assert!(wrong.to_string().contains("invalid type"), "{wrong}");
    }
}
