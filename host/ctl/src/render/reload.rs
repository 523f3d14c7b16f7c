//! The result of a reload.

use tenure_rpc::v1::ReloadResponse;

use super::parts::{clean, joined};

/// The keys that took effect, the keys that need a restart, and the problems.
pub(super) fn reloaded(answer: &ReloadResponse) -> String {
    let mut text = match (answer.applied.as_slice(), answer.after_restart.as_slice()) {
        ([], []) => "reloaded: no changes\n".to_owned(),
        ([], _) => "reloaded: all changes need a restart\n".to_owned(),
        (applied, _) => format!("reloaded: {}\n", joined(applied, ", ")),
    };
    if !answer.after_restart.is_empty() {
        text.extend(["after a restart: ", &joined(&answer.after_restart, ", "), "\n"]);
    }
    for problem in &answer.problems {
        text.extend(["not yet: ", &clean(&problem.key), ": ", &clean(&problem.message), "\n"]);
    }
    text
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1::ReloadProblem;

    use super::*;

    #[test]
    fn it_says_what_holds_and_what_does_not() {
        let mut answer = ReloadResponse {
            applied: vec!["limits.queue".into(), "networks.pods".into()],
            after_restart: vec!["metrics.listen".into()],
            problems: vec![ReloadProblem { key: "networks.pods".into(), message: "no policy mine".into() }],
        };
        insta::assert_snapshot!(reloaded(&answer), @"
        reloaded: limits.queue, networks.pods
        after a restart: metrics.listen
        not yet: networks.pods: no policy mine
        ");
        answer.applied.clear();
        answer.problems.clear();
        insta::assert_snapshot!(reloaded(&answer), @"
        reloaded: all changes need a restart
        after a restart: metrics.listen
        ");
        insta::assert_snapshot!(reloaded(&ReloadResponse::default()), @"reloaded: no changes");
    }
}
