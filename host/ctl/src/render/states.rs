//! What policies remember on a network.

use tenure_rpc::v1::PolicyState;

use super::parts::{ago, clean, policy};
use super::table::{table, text};
use crate::report::{Exported, Imported, State};

/// The state in use, and those of other policies.
pub(super) fn state(state: &State, now_ms: u64) -> String {
    let State { network, answer } = state;
    let Some(now) = &answer.now else {
        return format!("no policy has kept a state on network {}\n", clean(network));
    };
    let digest = |policy: Option<&tenure_rpc::v1::PolicyRef>| policy.map(|policy| policy.sha256.clone());
    let is_in_use = digest(now.policy.as_ref()) == digest(answer.serves.as_ref());
    let mut table = table(["VERSION", "BYTES", "WRITTEN BY", "AGE", "IN USE"]);
    let row = |state: &PolicyState, is_in_use: bool| {
        [
            state.version.to_string(),
            state.state.len().to_string(),
            policy(state.policy.as_ref()),
            ago(state.at_ms, now_ms),
            if is_in_use { "yes" } else { "no" }.to_owned(),
        ]
    };
    table.add_row(row(now, is_in_use));
    for before in &answer.before {
        table.add_row(row(before, false));
    }
    text(&table)
}

pub(super) fn exported(exported: &Exported) -> String {
    let Exported { network, state, file } = exported;
    let (version, bytes) = (state.version, state.state.len());
    let file = clean(&file.display().to_string());
    format!("{}: version {version} written to {file}, {bytes} B\n", clean(network))
}

pub(super) fn imported(imported: &Imported) -> String {
    let now = imported.answer.now.clone().unwrap_or_default();
    let (version, bytes) = (now.version, now.state.len());
    format!("{}: state replaced; version {version} now, {bytes} B\n", clean(&imported.network))
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1::{GetPolicyStateResponse, PolicyRef, ReplacePolicyStateResponse};

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
        let mut shown = State { network: "pods".into(), answer };
        insta::assert_snapshot!(state(&shown, 61_000), @"
        VERSION  BYTES  WRITTEN BY             AGE     IN USE
        7        6      rotation@rotation0000  1m ago  yes
        3        0      zones@zones0000000     1m ago  no
        ");
        shown.answer.serves = Some(stamp("host-local"));
        assert!(!state(&shown, 61_000).contains("yes"), "another policy serves");
        shown.answer.now = None;
        insta::assert_snapshot!(state(&shown, 61_000), @"no policy has kept a state on network pods");
    }

    #[test]
    fn what_was_done_is_said_in_a_line() {
        let (network, state) = ("pods".to_owned(), kept("rotation", 7, b"rack-a"));
        let answer = ReplacePolicyStateResponse { now: Some(state.clone()) };
        insta::assert_snapshot!(imported(&Imported { network: network.clone(), answer }), @"pods: state replaced; version 7 now, 6 B");
        let exported = exported(&Exported { network, state, file: "pods.state".into() });
        insta::assert_snapshot!(exported, @"pods: version 7 written to pods.state, 6 B");
    }
}
