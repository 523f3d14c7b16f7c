//! The page of policies' states.

use std::iter;

use tenure_rpc::v1::PolicyRef;

use super::cell::Cell;
use super::page::Page;
use super::parts::{clean, policy};
use super::shown::Shown;
use super::table::Table;
use crate::report::{ExportedState, PolicyStateReport, ReplacedState};

impl Shown for PolicyStateReport {
    /// The state in use, and those of other policies.
    fn page(&self, now_ms: u64) -> Page {
        let Self { network, answer } = self;
        let Some(now) = &answer.now else {
            return format!("no policy has kept a state on network {}\n", clean(network)).into();
        };
        let digest = |policy: Option<&PolicyRef>| policy.map(|policy| policy.sha256.clone());
        let is_in_use = digest(now.policy.as_ref()) == digest(answer.serves.as_ref());
        let before = answer.before.iter().map(|state| (state, false));
        let states: Vec<_> = iter::once((now, is_in_use)).chain(before).collect();
        let table = Table::of(&states)
            .column("VERSION", |(state, _)| state.version)
            .column("BYTES", |(state, _)| state.state.len())
            .name("WRITTEN BY", |(state, _)| policy(state.policy.as_ref()))
            .column("AGE", |(state, _)| Cell::ago(state.at_ms, now_ms))
            .column("IN USE", |(_, is_in_use)| if *is_in_use { "yes" } else { "no" });
        Page::default().table(table)
    }
}

impl Shown for ExportedState {
    fn page(&self, _: u64) -> Page {
        let Self { network, state, file } = self;
        let (version, bytes) = (state.version, state.state.len());
        let file = clean(&file.display().to_string());
        format!("{}: version {version} written to {file}, {bytes} B\n", clean(network)).into()
    }
}

impl Shown for ReplacedState {
    fn page(&self, _: u64) -> Page {
        let (version, bytes) = self.answer.now.as_ref().map_or((0, 0), |now| (now.version, now.state.len()));
        format!("{}: state replaced; version {version} now, {bytes} B\n", clean(&self.network)).into()
    }
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1::{GetPolicyStateResponse, PolicyRef, PolicyState, ReplacePolicyStateResponse};

    use super::*;

    fn kept(name: &str, version: u64, state: &[u8]) -> PolicyState {
        let policy = Some(stamp(name));
        PolicyState { policy, version, at_ms: 1_000, state: state.to_vec() }
    }

    fn stamp(name: &str) -> PolicyRef {
        PolicyRef { name: name.into(), sha256: format!("{name}{}", "0".repeat(60)) }
    }

    #[test]
    fn states_are_listed_and_the_one_in_use_is_marked() {
        let answer = GetPolicyStateResponse {
            now: Some(kept("rotation", 7, b"rack-a")),
            before: vec![kept("zones", 3, b"")],
            serves: Some(stamp("rotation")),
        };
        let mut shown = PolicyStateReport { network: "pods".into(), answer };
        insta::assert_snapshot!(shown.page(61_000), @"
        VERSION  BYTES  WRITTEN BY             AGE     IN USE
        7        6      rotation@rotation0000  1m ago  yes
        3        0      zones@zones0000000     1m ago  no
        ");
        shown.answer.serves = Some(stamp("host-local"));
        assert!(!shown.page(61_000).to_string().contains("yes"), "another policy serves");
        shown.answer.now = None;
        insta::assert_snapshot!(shown.page(61_000), @"no policy has kept a state on network pods");
    }

    #[test]
    fn what_was_done_is_said_in_a_line() {
        let (network, state) = ("pods".to_owned(), kept("rotation", 7, b"rack-a"));
        let answer = ReplacePolicyStateResponse { now: Some(state.clone()) };
        insta::assert_snapshot!(ReplacedState { network: network.clone(), answer }.page(0), @"pods: state replaced; version 7 now, 6 B");
        let exported = ExportedState { network, state, file: "pods.state".into() }.page(0);
        insta::assert_snapshot!(exported, @"pods: version 7 written to pods.state, 6 B");
    }
}
