//! The selectors of the node's pools, as objects of the ledger's chapter `effects`: one for each pool, of the highest generation that the
//! operator has told.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};
use tenure_types::{Attributes, InvalidAttributes, Object};

use super::rule::PoolSelectors;
use crate::objects::node::PoolSettings;

/// The kind of the object.
const SELECTORS: &str = "pool-selectors";

/// The longest part of the text in one attribute, in bytes.
const PART: usize = 500;

/// The text that is kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct KeptSelectors {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pods: Option<LabelSelector>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespaces: Option<LabelSelector>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    claims: bool,
}

/// The rules of a network's pools.
#[derive(Debug, Clone, Default)]
pub struct KnownRules {
    /// One for each pool, in the network's order.
    pub rules: Vec<PoolSelectors>,
    /// The pools about which the operator has told nothing yet. They serve those that name them.
    pub unknown: Vec<String>,
}

/// The object that keeps a pool's selectors.
///
/// # Errors
/// If they are longer than about 15 KiB.
pub(crate) fn rules_object(pool: &PoolSettings) -> Result<Object, InvalidAttributes> {
    let kept = KeptSelectors {
        pods: pool.pod_selector.clone(),
        namespaces: pool.namespace_selector.clone(),
        claims: pool.for_claims,
    };
    // A selector is maps and lists of strings, which JSON can express.
    let text = serde_json::to_string(&kept).unwrap_or_default();
    let mut parts = Vec::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (part, left) = rest.split_at(rest.floor_char_boundary(PART));
        parts.push((format!("{:02}", parts.len()), part));
        rest = left;
    }
    Ok(Object { kind: SELECTORS.to_owned(), name: pool.name.clone(), attributes: Attributes::new(parts)? })
}

/// The rules of these pools, from the objects of the ledger.
#[must_use]
pub fn pool_rules(objects: &[Arc<Object>], pools: &[String]) -> KnownRules {
    let mut known = KnownRules::default();
    for pool in pools {
        let object = objects.iter().find(|object| object.kind == SELECTORS && object.name == *pool);
        match object.and_then(|object| read(object)) {
            Some(kept) if kept.claims => known.rules.push(PoolSelectors::for_claims(pool)),
            Some(kept) => known.rules.push(PoolSelectors::new(pool, kept.pods, kept.namespaces)),
            None => {
                known.rules.push(PoolSelectors::unknown(pool));
                known.unknown.push(pool.clone());
            }
        }
    }
    known
}

fn read(object: &Object) -> Option<KeptSelectors> {
    let text: String = object.attributes.iter().map(|(_, part)| part).collect();
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_are_read_as_they_were_kept_and_unknown_pools_are_named() {
        let long: Vec<String> = (0..120).map(|number| format!("tier-{number}-ü")).collect();
        let pods = json!({ "matchExpressions": [{ "key": "tier", "operator": "In", "values": long }] });
        let pods: LabelSelector = serde_json::from_value(pods).unwrap();
        let settings = |name: &str| PoolSettings { name: name.into(), ..PoolSettings::default() };
        let web = PoolSettings { pod_selector: Some(pods.clone()), for_claims: true, ..settings("web") };
        let object = Arc::new(rules_object(&web).unwrap());
        assert_eq!(read(&object), Some(KeptSelectors { pods: Some(pods), namespaces: None, claims: true }));
        let plain = Arc::new(rules_object(&settings("plain")).unwrap());
        let known = pool_rules(&[object, plain], &["plain", "web", "new"].map(str::to_owned));
        assert_eq!(
            known.rules.iter().map(PoolSelectors::has_selectors).collect::<Vec<_>>(),
            [false, true, true]
        );
        assert_eq!(known.unknown, ["new"]);
    }

    #[test]
    fn selectors_that_are_too_long_are_not_kept() {
        let values: Vec<String> = (0..2000).map(|number| format!("tier-{number}")).collect();
        let pods = json!({ "matchExpressions": [{ "key": "tier", "operator": "In", "values": values }] });
        let pod_selector = serde_json::from_value(pods).unwrap();
        rules_object(&PoolSettings { pod_selector, ..PoolSettings::default() }).unwrap_err();
    }
}
