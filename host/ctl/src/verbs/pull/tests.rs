//! Rounds with a made-up registry.

use std::cell::RefCell;
use std::fs;

use tempfile::TempDir;

use super::*;

/// A directory, and the references that were pulled.
struct Tree {
    directory: TempDir,
    asked: RefCell<Vec<String>>,
}

impl Tree {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), asked: RefCell::default() }
    }

    /// Makes a round; returns the outcomes. A reference that ends with `down` fails, and one that ends with `signed` has a signature.
    fn round(&self, references: &[(&str, &str)]) -> Vec<(String, PullOutcome)> {
        let named =
            |(name, reference): &(&str, &str)| (PolicyName::new(*name).unwrap(), (*reference).to_owned());
        let round = PullRound {
            references: references.iter().map(named).collect(),
            directory: self.directory.path().to_owned(),
        };
        let report = round.run(|reference| {
            self.asked.borrow_mut().push(reference.to_owned());
            if reference.ends_with("down") {
                return Err(Error::new(ErrorCode::RegistryUnreachable, "it is down"));
            }
            Ok(Pulled {
                bytes: reference.into(),
                source: reference.to_owned(),
                name: "another".to_owned(),
                signature: reference.ends_with("signed").then(|| "signature".to_owned()),
            })
        });
        report.unwrap().policies.into_iter().map(|of| (of.name, of.outcome)).collect()
    }

    fn file(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.directory.path().join(name)).ok()
    }
}

fn outcomes(list: &[(&str, PullOutcome)]) -> Vec<(String, PullOutcome)> {
    list.iter().map(|(name, outcome)| ((*name).to_owned(), *outcome)).collect()
}

#[test]
fn what_is_there_is_not_pulled_again() {
    let tree = Tree::new();
    let first = [("one", "oci://r/one"), ("two", "oci://r/two-signed")];
    assert_eq!(tree.round(&first), outcomes(&[("one", PullOutcome::Pulled), ("two", PullOutcome::Pulled)]));
    assert_eq!(tree.file("two.wasm.minisig").as_deref(), Some("signature"));
    assert_eq!(
        tree.round(&first),
        outcomes(&[("one", PullOutcome::Unchanged), ("two", PullOutcome::Unchanged)])
    );
    assert_eq!(tree.asked.borrow().len(), 2);
    // A damaged component is pulled again.
    fs::write(tree.directory.path().join("one.wasm"), "torn").unwrap();
    assert_eq!(tree.round(&first)[0].1, PullOutcome::Pulled);
    assert_eq!(tree.file("one.wasm").as_deref(), Some("oci://r/one"));
}

#[test]
fn another_reference_replaces_the_component_and_its_signature() {
    let tree = Tree::new();
    tree.round(&[("one", "oci://r/one-signed")]);
    tree.round(&[("one", "oci://r/other")]);
    assert_eq!(tree.file("one.wasm").as_deref(), Some("oci://r/other"));
    assert_eq!(tree.file("one.wasm.minisig"), None, "the signature of another component is left");
}

#[test]
fn a_registry_that_is_down_keeps_nothing_else_back() {
    let tree = Tree::new();
    tree.round(&[("one", "oci://r/one")]);
    let found = tree.round(&[("one", "oci://r/one-down"), ("two", "oci://r/two")]);
    assert_eq!(found, outcomes(&[("one", PullOutcome::Failed), ("two", PullOutcome::Pulled)]));
    assert_eq!(tree.file("one.wasm").as_deref(), Some("oci://r/one"), "the last component is gone");
}

#[test]
fn what_is_no_longer_named_is_removed() {
    let tree = Tree::new();
    tree.round(&[("one", "oci://r/one-signed"), ("two", "oci://r/two")]);
    let found = tree.round(&[("two", "oci://r/two")]);
    assert_eq!(found, outcomes(&[("one", PullOutcome::Removed), ("two", PullOutcome::Unchanged)]));
    assert_eq!((tree.file("one.wasm"), tree.file("one.wasm.minisig")), (None, None));
}

#[test]
fn what_is_in_the_way_of_one_policy_keeps_no_other_back() {
    let tree = Tree::new();
    tree.round(&[("gone", "oci://r/gone")]);
    let path = |name: &str| tree.directory.path().join(name);
    fs::remove_file(path("gone.wasm")).unwrap();
    for name in ["gone.wasm", "one.wasm"] {
        fs::create_dir(path(name)).unwrap();
    }
    let wanted = [("one", "oci://r/one"), ("two", "oci://r/two")];
    let failed = [("gone", PullOutcome::Failed), ("one", PullOutcome::Failed), ("two", PullOutcome::Pulled)];
    assert_eq!(tree.round(&wanted), outcomes(&failed));
    for name in ["gone.wasm", "one.wasm"] {
        fs::remove_dir(path(name)).unwrap();
    }
    let after =
        [("gone", PullOutcome::Removed), ("one", PullOutcome::Pulled), ("two", PullOutcome::Unchanged)];
    assert_eq!(tree.round(&wanted), outcomes(&after));
}
