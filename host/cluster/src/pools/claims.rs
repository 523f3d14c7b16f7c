//! The claims that a pod names.

use serde::Deserialize;
use tenure_leases::ClaimKind;

use super::CLAIM_ANNOTATION;
use crate::pods::{NETWORKS_ANNOTATION, ObjectLabels};

/// A claim, by its kind, namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimName {
    /// The kind.
    pub kind: ClaimKind,
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

/// An element of the annotation that names a pod's further networks.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct NetworkElement {
    interface: Option<String>,
    ipam_claim_reference: Option<String>,
}

/// The claims that a pod names for one of its interfaces, in its own namespace.
#[must_use]
pub fn named_claims(labels: &ObjectLabels, namespace: &str, pod: &str, interface: &str) -> Vec<ClaimName> {
    let text = labels.annotations.get(CLAIM_ANNOTATION).map(String::as_str).unwrap_or_default();
    let (_, ordinal) = pod.rsplit_once('-').unwrap_or_default();
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    let claim = |kind, name| ClaimName { kind, namespace: namespace.to_owned(), name };
    let own = names.map(|name| claim(ClaimKind::Address, name.replace("{ordinal}", ordinal)));
    own.chain(referred_claim(labels, interface).map(|name| claim(ClaimKind::Ipam, name))).collect()
}

/// The IPAMClaim that the network of an interface refers to. Multus names the interfaces of elements without a name `net1`, `net2` and so on.
fn referred_claim(labels: &ObjectLabels, interface: &str) -> Option<String> {
    let elements = network_elements(labels).unwrap_or_default();
    let is_it = |(index, element): &(usize, NetworkElement)| match element.interface.as_deref() {
        None | Some("") => interface == format!("net{}", index + 1),
        Some(name) => interface == name,
    };
    let (_, element) = elements.into_iter().enumerate().find(is_it)?;
    element.ipam_claim_reference.filter(|name| !name.is_empty())
}

/// The elements of the annotation that names a pod's further networks. In the short form, which is not JSON, no claim can be named.
fn network_elements(labels: &ObjectLabels) -> serde_json::Result<Vec<NetworkElement>> {
    let text = labels.annotations.get(NETWORKS_ANNOTATION).map(String::as_str).unwrap_or_default();
    // As Multus tells the forms apart.
    match text.contains(['[', '{', '"']) {
        true => serde_json::from_str(text),
        false => Ok(Vec::new()),
    }
}

/// The reason, for people, for which it is not known which claims a pod names: an annotation is too long, or is not as it should be.
#[must_use]
pub fn unread_claims(labels: &ObjectLabels) -> Option<String> {
    let unread = || {
        let error = network_elements(labels).err()?;
        Some(format!("annotation {NETWORKS_ANNOTATION} is not a list of networks: {error}"))
    };
    labels.too_long(&[CLAIM_ANNOTATION, NETWORKS_ANNOTATION]).or_else(unread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_named_with_the_ordinal_of_a_stateful_set() {
        let named = |text: &str, pod: &str| {
            let annotations = [(CLAIM_ANNOTATION.to_owned(), text.to_owned())].into();
            let labels = ObjectLabels { annotations, ..ObjectLabels::default() };
            named_claims(&labels, "shop", pod, "eth0").iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(named("db-{ordinal}, db6-{ordinal}", "db-12"), ["shop/db-12", "shop/db6-12"]);
        assert_eq!(named("fixed", "db-12"), ["shop/fixed"]);
        assert_eq!(named(" , ", "db-12"), [""; 0]);
        assert!(named_claims(&ObjectLabels::default(), "shop", "db-12", "eth0").is_empty());
    }

    #[test]
    fn a_network_refers_to_the_claim_of_its_interface() {
        let referred = |text: &str, interface: &str| {
            let annotations = [(NETWORKS_ANNOTATION.to_owned(), text.to_owned())].into();
            referred_claim(&ObjectLabels { annotations, ..ObjectLabels::default() }, interface)
        };
        let elements = r#"[
            {"name": "plain"},
            {"name": "blue", "namespace": "shop", "ipam-claim-reference": "vm.blue"},
            {"name": "blue", "interface": "pod7", "ipam-claim-reference": "vm.pod7"}
        ]"#;
        for (interface, claim) in [
            ("net1", None),
            ("net2", Some("vm.blue")),
            ("net3", None),
            ("pod7", Some("vm.pod7")),
            ("eth0", None),
        ] {
            assert_eq!(referred(elements, interface).as_deref(), claim, "{interface}");
        }
        assert_eq!(referred("shop/blue, plain", "net1"), None);
        assert_eq!(
            referred(r#"[{"interface": null, "ipam-claim-reference": "vm"}]"#, "net1").as_deref(),
            Some("vm")
        );
    }

    #[test]
    fn an_annotation_that_cannot_be_read_is_not_an_absent_one() {
        let unread = |text: &str| {
            let annotations = [(NETWORKS_ANNOTATION.to_owned(), text.to_owned())].into();
            unread_claims(&ObjectLabels { annotations, ..ObjectLabels::default() })
        };
        for readable in
            ["", "shop/blue, plain@net1", "[]", r#"[{"name": "blue", "mac": "02:00:00:00:00:01"}]"#]
        {
            assert_eq!(unread(readable), None, "{readable}");
        }
        for text in [r#"[{"ipam-claim-reference": 7}]"#, r#"[{"name": "blue"}"#, r#"{"name": "blue"}"#] {
            let words = unread(text).unwrap();
            assert!(words.starts_with("annotation k8s.v1.cni.cncf.io/networks is not a list"), "{words}");
        }
    }
}
