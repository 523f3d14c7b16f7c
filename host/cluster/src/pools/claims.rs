//! The claims that a pod names.

use super::CLAIM_ANNOTATION;
use crate::pods::ObjectLabels;

/// A claim, by its namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimName {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl std::fmt::Display for ClaimName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The claims that a pod names, in its own namespace.
#[must_use]
pub fn named_claims(labels: &ObjectLabels, namespace: &str, pod: &str) -> Vec<ClaimName> {
    let text = labels.annotations.get(CLAIM_ANNOTATION).map(String::as_str).unwrap_or_default();
    let (_, ordinal) = pod.rsplit_once('-').unwrap_or_default();
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    let claim =
        |name: &str| ClaimName { namespace: namespace.to_owned(), name: name.replace("{ordinal}", ordinal) };
    names.map(claim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_named_with_the_ordinal_of_a_stateful_set() {
        let named = |text: &str, pod: &str| {
            let annotations = [(CLAIM_ANNOTATION.to_owned(), text.to_owned())].into();
            let labels = ObjectLabels { annotations, ..ObjectLabels::default() };
            named_claims(&labels, "shop", pod).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(named("db-{ordinal}, db6-{ordinal}", "db-12"), ["shop/db-12", "shop/db6-12"]);
        assert_eq!(named("fixed", "db-12"), ["shop/fixed"]);
        assert_eq!(named(" , ", "db-12"), [""; 0]);
        assert!(named_claims(&ObjectLabels::default(), "shop", "db-12").is_empty());
    }
}
