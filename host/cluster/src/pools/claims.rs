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

/// A name that no claim can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} in annotation {annotation} cannot be the name of a claim: it consists of lower-case letters, digits, '-' and '.', and a comma separates two"
)]
pub struct InvalidClaimName {
    name: String,
    annotation: &'static str,
}

/// The longest name of an object.
const LONGEST_NAME: usize = 253;

/// The most characters of an invalid name that are shown.
const MOST_SHOWN: usize = 80;

impl ClaimName {
    /// Whether it is an IPAMClaim: one of an interface, and so of its network.
    #[must_use]
    pub fn is_of_interface(&self) -> bool {
        self.kind == ClaimKind::Ipam
    }

    /// Names a claim as an annotation does. The name is a part of the path of requests, so it must be the name of an object: a DNS subdomain.
    fn read(
        kind: ClaimKind,
        namespace: &str,
        name: String,
        annotation: &'static str,
    ) -> Result<Self, InvalidClaimName> {
        let is_inner = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
        let is_label = |label: &str| {
            let ends = [label.bytes().next(), label.bytes().last()];
            ends.iter().all(|end| end.is_some_and(is_inner))
                && label.bytes().all(|letter| is_inner(letter) || letter == b'-')
        };
        if name.len() > LONGEST_NAME || !name.split('.').all(is_label) {
            return Err(InvalidClaimName { name: name.chars().take(MOST_SHOWN).collect(), annotation });
        }
        Ok(Self { kind, namespace: namespace.to_owned(), name })
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
///
/// # Errors
/// If no claim can have one of the names.
pub fn named_claims(
    labels: &ObjectLabels,
    namespace: &str,
    pod: &str,
    interface: &str,
) -> Result<Vec<ClaimName>, InvalidClaimName> {
    let text = labels.annotations.get(CLAIM_ANNOTATION).map(String::as_str).unwrap_or_default();
    let (_, ordinal) = pod.rsplit_once('-').unwrap_or_default();
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    let own = names.map(|name| (ClaimKind::Address, name.replace("{ordinal}", ordinal), CLAIM_ANNOTATION));
    let referred = referred_claim(labels, interface).map(|name| (ClaimKind::Ipam, name, NETWORKS_ANNOTATION));
    let claims = own.chain(referred);
    claims.map(|(kind, name, annotation)| ClaimName::read(kind, namespace, name, annotation)).collect()
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
            let claims = named_claims(&labels, "shop", pod, "eth0").unwrap();
            claims.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(named("db-{ordinal}, db6-{ordinal}", "db-12"), ["shop/db-12", "shop/db6-12"]);
        assert_eq!(named("fixed", "db-12"), ["shop/fixed"]);
        assert_eq!(named(" , ", "db-12"), [""; 0]);
        assert_eq!(named_claims(&ObjectLabels::default(), "shop", "db-12", "eth0"), Ok(vec![]));
    }

    #[test]
    fn a_name_that_no_claim_can_have_is_refused() {
        let named = |annotation: &str, text: &str| {
            let annotations = [(annotation.to_owned(), text.to_owned())].into();
            let labels = ObjectLabels { annotations, ..ObjectLabels::default() };
            named_claims(&labels, "shop", "db-0", "net1").map_err(|invalid| invalid.to_string())
        };
        for text in ["db-0 db6-0", "db-0,../db", "DB", "db?x", "-db", "db-", "a..b", "ä", &"a".repeat(254)] {
            let words = named(CLAIM_ANNOTATION, text).unwrap_err();
            assert!(words.contains("in annotation ipam.tenure.dev/claim cannot be the name"), "{words}");
        }
        let referred = r#"[{"name": "blue", "ipam-claim-reference": "vm blue"}]"#;
        let words = named(NETWORKS_ANNOTATION, referred).unwrap_err();
        assert!(words.starts_with("\"vm blue\" in annotation k8s.v1.cni.cncf.io/networks"), "{words}");
        assert_eq!(named(CLAIM_ANNOTATION, "a-1.b, 2").map(|claims| claims.len()), Ok(2));
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
