//! The result of a reload.

use tenure_rpc::v1::ReloadResponse;

use super::page::Page;
use super::parts::{clean, joined};
use super::shown::Shown;

impl Shown for ReloadResponse {
    /// The keys that took effect, the keys that need a restart, and the problems.
    fn page(&self, _: u64) -> Page {
        let mut text = match (self.applied.as_slice(), self.after_restart.as_slice()) {
            ([], []) => "reloaded: no changes\n".to_owned(),
            ([], _) => "reloaded: all changes need a restart\n".to_owned(),
            (applied, _) => format!("reloaded: {}\n", joined(applied, ", ")),
        };
        if !self.after_restart.is_empty() {
            text.extend(["after a restart: ", &joined(&self.after_restart, ", "), "\n"]);
        }
        for problem in &self.problems {
            text.extend(["not yet: ", &clean(&problem.key), ": ", &clean(&problem.message), "\n"]);
        }
        text.into()
    }

    fn is_well(&self) -> bool {
        self.problems.is_empty()
    }
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
        insta::assert_snapshot!(answer.page(0), @"
        reloaded: limits.queue, networks.pods
        after a restart: metrics.listen
        not yet: networks.pods: no policy mine
        ");
        answer.applied.clear();
        answer.problems.clear();
        insta::assert_snapshot!(answer.page(0), @"
        reloaded: all changes need a restart
        after a restart: metrics.listen
        ");
        insta::assert_snapshot!(ReloadResponse::default().page(0), @"reloaded: no changes");
    }
}
