//! The order in which a pod's pools are decided.
//!
//! | | decides | of several pools |
//! |---|---|---|
//! | 0 | the pod's AddressClaims, in their families: `claims` | the claims' own |
//! | 1 | the addresses that the caller requests | those that contain them |
//! | 2 | the annotation `ipam.tenure.dev/pools` of the pod | in the annotation's order |
//! | 3 | `ipam.pools` of the CNI configuration, such as a NetworkAttachmentDefinition's | in its order |
//! | 4 | the annotation of the namespace | in the annotation's order |
//! | 5 | `podSelector` and `namespaceSelector` of the pools: one with both before one with the former, and that before one with the latter | refused |
//! | 6 | nothing: the pools without selectors, unless a match is required | in the network's order |
//!
//! The first row that applies decides alone, and no row but that of claims names a pool for claims. An annotation may name pools of other networks of the node, since a pod may have several networks:
//! those do not count here. A name that no network of the node has is a mistake, and refuses the pod.

use super::rule::{Exactness, PoolSelectors};
use super::{CLAIM_ANNOTATION, MATCH_ANNOTATION, POOLS_ANNOTATION};
use crate::pods::ObjectLabels;

/// The facts that decide about a pod's pools.
#[derive(Debug, Clone, Copy)]
pub struct PoolQuestion<'a> {
    /// The network's name.
    pub network: &'a str,
    /// The network's pools, in the order of its configuration.
    pub rules: &'a [PoolSelectors],
    /// All pools of the node, of whichever network.
    pub of_node: &'a [String],
    /// The pod, as `namespace/name`, for words.
    pub pod: &'a str,
    /// The pools of the addresses that the caller requests.
    pub requested: &'a [String],
    /// `ipam.pools` of the caller's configuration, if it has any.
    pub configured: Option<&'a [String]>,
    /// The labels and annotations of the pod; empty if it is none of the cluster's.
    pub labels: &'a ObjectLabels,
    /// The same of its namespace.
    pub namespace: &'a ObjectLabels,
    /// Whether the caller's configuration requires a match.
    pub requires_match: bool,
}

/// The reason for which a pod gets no pool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PoolRefusal {
    /// Two pools select it equally exactly.
    #[error("{0}")]
    Ambiguous(String),
    /// No pool may serve it.
    #[error("{0}")]
    Unmatched(String),
}

/// The pools that a pod's addresses may come from, the preferred ones first.
///
/// # Errors
/// [`PoolRefusal`] if two pools select the pod equally exactly, if none may serve it, or if it names one that does not exist.
pub fn candidates(question: &PoolQuestion<'_>) -> Result<Vec<String>, PoolRefusal> {
    if let Some(kept) = question.requested.iter().find(|name| question.keeps(name)) {
        return Err(question.kept("an address that was requested", kept));
    }
    if !question.requested.is_empty() {
        return Ok(question.requested.to_vec());
    }
    let annotated = |labels: &ObjectLabels, what: &str| question.annotated(labels, what);
    if let Some(named) = annotated(question.labels, &format!("pod {}", question.pod))? {
        return Ok(named);
    }
    if let Some(named) = question.configured.filter(|named| !named.is_empty()) {
        return question.of_network(named);
    }
    if let Some(named) = annotated(question.namespace, &format!("the namespace of pod {}", question.pod))? {
        return Ok(named);
    }
    match question.selected()? {
        Some(name) => Ok(vec![name]),
        None => question.default_pools(),
    }
}

impl PoolQuestion<'_> {
    fn has(&self, name: &str) -> bool {
        self.rules.iter().any(|rule| rule.name == name)
    }

    /// Whether a pool keeps its addresses for claims.
    fn keeps(&self, name: &str) -> bool {
        self.rules.iter().any(|rule| rule.name == name && rule.is_for_claims())
    }

    fn kept(&self, what: &str, pool: &str) -> PoolRefusal {
        PoolRefusal::Unmatched(format!(
            "{what} is of AddressPool {pool}, which keeps its addresses for AddressClaims; pod {} names none in annotation {CLAIM_ANNOTATION}",
            self.pod
        ))
    }

    /// The pools of this network that an annotation names; `None` if it names none.
    fn annotated(&self, labels: &ObjectLabels, what: &str) -> Result<Option<Vec<String>>, PoolRefusal> {
        if let Some(why) = labels.too_long(&[POOLS_ANNOTATION]) {
            return Err(PoolRefusal::Unmatched(format!("no pool can be chosen: {why} on {what}")));
        }
        let Some(text) = labels.annotations.get(POOLS_ANNOTATION) else { return Ok(None) };
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let mut named = Vec::new();
        for name in names {
            if self.keeps(name) {
                return Err(self.kept(&format!("a pool in annotation {POOLS_ANNOTATION} of {what}"), name));
            }
            if self.has(name) {
                named.push(name.to_owned());
            } else if !self.of_node.iter().any(|known| known == name) {
                return Err(PoolRefusal::Unmatched(format!(
                    "annotation {POOLS_ANNOTATION} of {what} names AddressPool {name}, which no network of this node has; network {} has {}",
                    self.network,
                    self.names()
                )));
            }
        }
        Ok((!named.is_empty()).then_some(named))
    }

    /// The pools that the caller's configuration names, all of which must be this network's.
    fn of_network(&self, named: &[String]) -> Result<Vec<String>, PoolRefusal> {
        match named.iter().find(|name| !self.has(name)) {
            None => {
                let usual: Vec<String> = named.iter().filter(|name| !self.keeps(name)).cloned().collect();
                match (usual.is_empty(), named.first()) {
                    (true, Some(first)) => {
                        Err(self.kept("what ipam.pools of the CNI configuration names", first))
                    }
                    _ => Ok(usual),
                }
            }
            Some(name) => Err(PoolRefusal::Unmatched(format!(
                "ipam.pools of the CNI configuration names AddressPool {name}, which network {} does not have on this node; it has {}",
                self.network,
                self.names()
            ))),
        }
    }

    /// The pool that selects the pod most exactly.
    fn selected(&self) -> Result<Option<String>, PoolRefusal> {
        let mut best: Option<(Exactness, &str)> = None;
        let mut equal = None;
        for rule in self.rules {
            let Some(exactness) = rule.selects(self.labels, self.namespace) else { continue };
            match best {
                Some((known, _)) if exactness < known => {}
                Some((known, other)) if exactness == known => {
                    equal = equal.or(Some((known, other, rule.name.as_str())));
                }
                _ => (best, equal) = (Some((exactness, rule.name.as_str())), None),
            }
        }
        match equal {
            Some((exactness, one, other)) => Err(PoolRefusal::Ambiguous(format!(
                "AddressPools {one} and {other} of network {} both select pod {} by {}",
                self.network,
                self.pod,
                exactness.fields()
            ))),
            None => Ok(best.map(|(_, name)| name.to_owned())),
        }
    }

    /// The pools of pods that nothing decides about.
    fn default_pools(&self) -> Result<Vec<String>, PoolRefusal> {
        let refused = |why: &str| {
            Err(PoolRefusal::Unmatched(format!(
                "no AddressPool of network {} selects pod {} (it has {}), and {why}",
                self.network,
                self.pod,
                self.names()
            )))
        };
        let says = |labels: &ObjectLabels| {
            // One that is too long may say so.
            let is_unread = labels.too_long(&[MATCH_ANNOTATION]).is_some();
            is_unread || labels.annotations.get(MATCH_ANNOTATION).is_some_and(|value| value == "true")
        };
        if self.requires_match {
            return refused("ipam.requirePoolMatch of the CNI configuration requires one");
        }
        if says(self.labels) || says(self.namespace) {
            return refused(&format!(
                "annotation {MATCH_ANNOTATION} of the pod or its namespace requires one"
            ));
        }
        let defaults: Vec<String> =
            self.rules.iter().filter(|rule| !rule.has_selectors()).map(|rule| rule.name.clone()).collect();
        match defaults.is_empty() {
            true => refused("each of them has a selector"),
            false => Ok(defaults),
        }
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.rules.iter().map(|rule| rule.name.as_str()).collect();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests;
