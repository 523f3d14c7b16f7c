//! The results of defining and of removing a network.

use super::page::Page;
use super::parts::{clean, policy};
use super::shown::Shown;
use crate::report::{NetworkRedefinition, NetworkRemoval};

/// The most added, and the most removed, ranges to list.
const MOST_RANGES: usize = 8;

impl Shown for NetworkRedefinition {
    /// The definition that a network has now, or would have.
    fn page(&self, _: u64) -> Page {
        let Self { applied, answer } = self;
        let (network, policy) = (clean(&answer.network), policy(answer.policy.as_ref()));
        if !answer.changed {
            return format!("{network}: no changes; served by {policy}\n").into();
        }
        let verb = if *applied { "is defined" } else { "would be defined" };
        let mut text = format!("{network} {verb}; served by {policy}\n");
        text.push_str(&ranges(&answer.ranges_added, &answer.ranges_removed));
        if !applied {
            text.push_str("dry run; pass --apply to define it\n");
        }
        text.into()
    }
}

/// The added and removed ranges, a line each.
pub(super) fn ranges(added: &[String], removed: &[String]) -> String {
    let mut text = String::new();
    for (word, ranges) in [("added", added), ("removed", removed)] {
        let label = format!("  {word:<8}");
        for range in ranges.iter().take(MOST_RANGES) {
            text.extend([&label, clean(range).as_str(), "\n"]);
        }
        if let Some(more) = ranges.len().checked_sub(MOST_RANGES).filter(|more| *more > 0) {
            text.push_str(&format!("{label}{more} more\n"));
        }
    }
    text
}

impl Shown for NetworkRemoval {
    fn page(&self, _: u64) -> Page {
        let network = clean(&self.network);
        let text = match (self.answer.existed, self.applied) {
            (false, _) => format!("no network {network} on this node: nothing to remove\n"),
            (true, true) => format!("{network} is removed\n"),
            (true, false) => format!("{network} would be removed\ndry run; pass --apply to remove it\n"),
        };
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1::{DefineNetworkResponse, PolicyRef, RemoveNetworkResponse};

    use super::*;

    fn answer(changed: bool, added: usize) -> DefineNetworkResponse {
        DefineNetworkResponse {
            network: "pods".into(),
            policy: Some(PolicyRef { name: "host-local".into(), sha256: "9f86d081884c7d659a2f".into() }),
            changed,
            ranges_added: (0..added).map(|number| format!("10.{number}.0.1-10.{number}.0.254")).collect(),
            ranges_removed: vec!["10.200.0.1-10.200.0.254".into()],
        }
    }

    #[test]
    fn a_definition_names_what_comes_and_goes() {
        insta::assert_snapshot!(NetworkRedefinition { applied: false, answer: answer(true, 1) }.page(0), @"
        pods would be defined; served by host-local@9f86d081884c
          added   10.0.0.1-10.0.0.254
          removed 10.200.0.1-10.200.0.254
        dry run; pass --apply to define it
        ");
        let long = NetworkRedefinition { applied: true, answer: answer(true, 11) }.page(0).to_string();
        assert!(long.starts_with("pods is defined; ") && long.contains("\n  added   3 more\n"), "{long}");
        let same = NetworkRedefinition { applied: true, answer: answer(false, 0) };
        insta::assert_snapshot!(same.page(0), @"pods: no changes; served by host-local@9f86d081884c");
    }

    #[test]
    fn a_removal_says_whether_there_was_anything() {
        let said = |existed, applied| {
            let answer = RemoveNetworkResponse { existed };
            NetworkRemoval { network: "pods".into(), applied, answer }.page(0)
        };
        insta::assert_snapshot!(said(true, false), @"
        pods would be removed
        dry run; pass --apply to remove it
        ");
        insta::assert_snapshot!(said(true, true), @"pods is removed");
        insta::assert_snapshot!(said(false, true), @"no network pods on this node: nothing to remove");
    }
}
