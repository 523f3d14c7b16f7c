//! The pods that a pool serves.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Selector, SelectorExt as _};

use crate::pods::ObjectLabels;

/// How exactly a pool selects a pod; the last one is the most exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exactness {
    /// By its namespace.
    Namespace,
    /// By its own labels.
    Pod,
    /// By both.
    Both,
}

impl Exactness {
    /// The fields that say so.
    pub(crate) const fn fields(self) -> &'static str {
        match self {
            Self::Namespace => "namespaceSelector",
            Self::Pod => "podSelector",
            Self::Both => "podSelector and namespaceSelector",
        }
    }
}

/// An AddressPool, and the pods that it selects.
#[derive(Debug, Clone)]
pub struct PoolSelectors {
    /// The pool's name.
    pub name: String,
    pods: Option<LabelRule>,
    namespaces: Option<LabelRule>,
    /// The addresses are for claims alone.
    is_for_claims: bool,
}

#[derive(Debug, Clone)]
enum LabelRule {
    Selector(Selector),
    /// One that this version cannot read, or that is not known, selects nothing: it must not be guessed.
    Unreadable,
}

impl LabelRule {
    fn new(selector: LabelSelector) -> Self {
        Selector::try_from(selector).map_or(Self::Unreadable, Self::Selector)
    }

    fn selects(&self, labels: &ObjectLabels) -> bool {
        match self {
            Self::Selector(selector) => selector.matches(&labels.labels),
            Self::Unreadable => false,
        }
    }
}

impl PoolSelectors {
    /// The rule of a pool. An empty selector selects everything, and none makes the pool a default one.
    #[must_use]
    pub fn new(name: &str, pods: Option<LabelSelector>, namespaces: Option<LabelSelector>) -> Self {
        let rule = |selector: Option<LabelSelector>| selector.map(LabelRule::new);
        Self { name: name.to_owned(), pods: rule(pods), namespaces: rule(namespaces), is_for_claims: false }
    }

    /// The rule of a pool for claims: it serves pods by their claims alone.
    #[must_use]
    pub fn for_claims(name: &str) -> Self {
        Self { name: name.to_owned(), pods: None, namespaces: None, is_for_claims: true }
    }

    /// Whether the pool's addresses are for claims alone.
    #[must_use]
    pub fn is_for_claims(&self) -> bool {
        self.is_for_claims
    }

    /// The rule of a pool of which nothing is known but its name.
    pub(crate) fn unknown(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            pods: Some(LabelRule::Unreadable),
            namespaces: None,
            is_for_claims: false,
        }
    }

    /// Whether the pool serves selected pods alone.
    #[must_use]
    pub fn has_selectors(&self) -> bool {
        self.pods.is_some() || self.namespaces.is_some() || self.is_for_claims
    }

    /// How exactly the pool selects a pod; `None` if it does not.
    pub(crate) fn selects(&self, pod: &ObjectLabels, namespace: &ObjectLabels) -> Option<Exactness> {
        match (&self.pods, &self.namespaces) {
            (Some(pods), Some(namespaces)) => {
                (pods.selects(pod) && namespaces.selects(namespace)).then_some(Exactness::Both)
            }
            (Some(pods), None) => pods.selects(pod).then_some(Exactness::Pod),
            (None, Some(namespaces)) => namespaces.selects(namespace).then_some(Exactness::Namespace),
            (None, None) => None,
        }
    }
}
