//! The daemon's rights in the API server. The daemon has the credentials, so it asks; the answers are judged here.

use tenure_rpc::v1::{CheckClusterAccessResponse, ClusterRight};
use tenure_types::{Error, ErrorCode};

use crate::report::NodeCheck;

const NAME: &str = "api-rights";

/// Judges the API server's answers: rights that are missing, then writes that are refused, then rights that are too much.
pub(super) fn rights(answer: &Result<CheckClusterAccessResponse, Error>, is_before: bool) -> NodeCheck {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return unasked(error, is_before),
    };
    if !answer.trouble.is_empty() {
        let next = "check the daemon's way to the API server, and its token or `cluster.kubeconfig`";
        return NodeCheck::problem(NAME, answer.trouble.clone(), next);
    }
    let user = &answer.user;
    let (needed, spare): (Vec<_>, Vec<_>) = answer.rights.iter().partition(|right| !right.purpose.is_empty());
    let missing: Vec<_> = needed.iter().filter(|right| !right.allowed).collect();
    if !missing.is_empty() {
        let lacks = |right: &&&ClusterRight| format!("{} {} ({})", right.verb, right.resource, right.purpose);
        let lacks: Vec<_> = missing.iter().map(lacks).collect();
        return NodeCheck::problem(
            NAME,
            format!("{user} may not {}", lacks.join(", ")),
            "install the chart's ClusterRole and its binding for this account: `helm upgrade`, or `kubectl apply` of the manifests",
        );
    }
    if !answer.own_refused.is_empty() {
        return NodeCheck::problem(
            NAME,
            format!("{user} may not write the NodeIPAM of this node: {}", answer.own_refused),
            "run the daemon with the token that the kubelet mounts into its pod, or with the kubelet's credentials and the chart's cluster.kubeletCredentials",
        );
    }
    if answer.others_accepted {
        return NodeCheck::warning(
            NAME,
            format!("{user} may write the NodeIPAM of other nodes, too"),
            "install the chart's ValidatingAdmissionPolicy and its binding; use no administrator's kubeconfig",
        );
    }
    let too_much: Vec<_> = spare.iter().filter(|right| right.allowed).map(named).collect();
    if !too_much.is_empty() {
        return NodeCheck::warning(
            NAME,
            format!("{user} may also {}, which tenure does not need", too_much.join(", ")),
            "find the binding by `kubectl get clusterrolebindings --output wide`, and remove it",
        );
    }
    NodeCheck::fine(NAME, format!("{user} has the {} rights that tenure needs, and no others", needed.len()))
}

fn named(right: &&ClusterRight) -> String {
    format!("{} {}", right.verb, right.resource)
}

/// The reason for which the daemon says nothing about rights.
fn unasked(error: &Error, is_before: bool) -> NodeCheck {
    match error.code {
        ErrorCode::NoCluster => NodeCheck::skipped(NAME, error.cause.clone()),
        ErrorCode::UnknownMethod => NodeCheck::skipped(NAME, "the daemon is older than this question"),
        ErrorCode::Unreachable if is_before => {
            NodeCheck::skipped(NAME, "asked by the daemon once it runs, which has the credentials")
        }
        // The check of the daemon itself says why.
        ErrorCode::Unreachable => {
            NodeCheck::skipped(NAME, "the daemon, which has the credentials, is not reached")
        }
        _ => NodeCheck::skipped(NAME, format!("the daemon does not say: {}", error.cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::CheckVerdict;

    fn right(verb: &str, resource: &str, purpose: &str, allowed: bool) -> ClusterRight {
        let [verb, resource, purpose] = [verb, resource, purpose].map(str::to_owned);
        ClusterRight { verb, resource, purpose, allowed }
    }

    fn answer() -> CheckClusterAccessResponse {
        CheckClusterAccessResponse {
            user: "system:serviceaccount:tenure-system:tenure-agent".into(),
            rights: vec![
                right("get", "pods", "knows which pods are gone", true),
                right("list", "secrets", "", false),
            ],
            ..Default::default()
        }
    }

    fn judged(change: impl FnOnce(&mut CheckClusterAccessResponse)) -> (CheckVerdict, String, String) {
        let mut answer = answer();
        change(&mut answer);
        let check = rights(&Ok(answer), false);
        (check.verdict, check.found, check.next_step)
    }

    #[test]
    fn each_finding_has_its_verdict_and_a_next_step() {
        let (verdict, found, next) = judged(|_| ());
        assert_eq!((verdict, next), (CheckVerdict::Fine, String::new()));
        assert!(found.ends_with("tenure-agent has the 1 rights that tenure needs, and no others"), "{found}");
        type Change = fn(&mut CheckClusterAccessResponse);
        let cases: [(Change, CheckVerdict, &str); 5] = [
            (
                |of| of.rights[0].allowed = false,
                CheckVerdict::Problem,
                "may not get pods (knows which pods are gone)",
            ),
            (|of| of.own_refused = "bound to no node".into(), CheckVerdict::Problem, "bound to no node"),
            (|of| of.others_accepted = true, CheckVerdict::Warning, "the NodeIPAM of other nodes"),
            (|of| of.rights[1].allowed = true, CheckVerdict::Warning, "may also list secrets"),
            (|of| of.trouble = "connection refused".into(), CheckVerdict::Problem, "connection refused"),
        ];
        for (change, expected, words) in cases {
            let (verdict, found, next) = judged(change);
            assert!(verdict == expected && found.contains(words) && !next.is_empty(), "{found}: {next}");
        }
    }

    #[test]
    fn a_daemon_that_cannot_say_is_no_problem_of_rights() {
        for (code, is_before, words) in [
            (ErrorCode::NoCluster, false, "no API server"),
            (ErrorCode::UnknownMethod, false, "older"),
            (ErrorCode::Unreachable, true, "once it runs"),
            (ErrorCode::Unreachable, false, "is not reached"),
            (ErrorCode::DeadlineExceeded, false, "does not say"),
        ] {
            let check = rights(&Err(Error::new(code, "no API server")), is_before);
            assert!(check.verdict == CheckVerdict::Skipped && check.found.contains(words), "{}", check.found);
        }
    }
}
