//! The policy catalogue, and the result of an activation.

use tenure_rpc::v1::{ActivatePolicyResponse, ListPoliciesResponse};

use super::network::ranges;
use super::parts::{clean, joined, or_dash, policy, short};
use super::table::{table, text};

/// A row for each policy; below the table, why a policy cannot be used.
pub(super) fn policies(answer: &ListPoliciesResponse) -> String {
    if answer.policies.is_empty() {
        return "No policies: add one to the daemon's configuration.\n".to_owned();
    }
    let mut table = table(["POLICY", "SHA256", "SOURCE", "NETWORKS", "USABLE"]);
    let mut problems = String::new();
    for line in &answer.policies {
        let stamp = line.policy.clone().unwrap_or_default();
        let shadows = line.shadows.iter().map(|network| format!("{network} (shadow)"));
        let users: Vec<_> = line.networks.iter().cloned().chain(shadows).collect();
        let usable = match (line.problem.is_empty(), line.loading) {
            (true, _) => "yes",
            (false, true) => "not yet",
            (false, false) => "no",
        };
        table.add_row([
            clean(&stamp.name),
            or_dash(&short(&stamp.sha256)),
            clean(&line.source),
            joined(&users, ", "),
            usable.to_owned(),
        ]);
        if !line.problem.is_empty() {
            problems.extend([&clean(&stamp.name), ": ", &clean(&line.problem), "\n"]);
        }
        for benched in &line.benched {
            problems.extend([&clean(&stamp.name), ": benched: ", &clean(benched), "\n"]);
        }
        if !line.file_problem.is_empty() {
            let (name, why) = (clean(&stamp.name), clean(&line.file_problem));
            problems.push_str(&format!("{name}: serves as before; its file is not applied: {why}\n"));
        }
    }
    text(&table) + &problems
}

/// The policy that serves now, and the one before.
pub(super) fn activated(network: &str, answer: &ActivatePolicyResponse) -> String {
    let (before, after) = (policy(answer.before.as_ref()), policy(answer.after.as_ref()));
    let network = clean(network);
    let mut text = match answer.before == answer.after {
        true => format!("{network}: no change; served by {after}\n"),
        false => format!("{network}: now served by {after}; before, by {before}\n"),
    };
    text.push_str(&ranges(&answer.ranges_added, &answer.ranges_removed));
    text
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1::{Policy, PolicyRef};

    use super::*;

    fn stamp(name: &str) -> Option<PolicyRef> {
        Some(PolicyRef { name: name.into(), sha256: "9f86d081884c7d659a2feaa0c55ad015".into() })
    }

    #[test]
    fn policies_show_their_networks_and_problems() {
        let answer = ListPoliciesResponse {
            policies: vec![
                Policy {
                    policy: stamp("host-local"),
                    source: "embedded".into(),
                    networks: vec!["blue".into(), "pods".into()],
                    shadows: vec!["red".into()],
                    problem: String::new(),
                    ..Policy::default()
                },
                Policy {
                    policy: Some(PolicyRef { name: "mine".into(), sha256: String::new() }),
                    source: "/etc/tenure/mine.wasm".into(),
                    networks: Vec::new(),
                    problem: "No such file or directory".into(),
                    ..Policy::default()
                },
            ],
        };
        insta::assert_snapshot!(policies(&answer), @"
        POLICY      SHA256        SOURCE                 NETWORKS                  USABLE
        host-local  9f86d081884c  embedded               blue, pods, red (shadow)  yes
        mine        -             /etc/tenure/mine.wasm  -                         no
        mine: No such file or directory
        ");
    }

    #[test]
    fn an_activation_names_both() {
        let answer = ActivatePolicyResponse {
            before: stamp("host-local"),
            after: stamp("highest-first"),
            ranges_added: vec!["10.2.0.1-10.2.0.254".into()],
            ..ActivatePolicyResponse::default()
        };
        insta::assert_snapshot!(activated("pods", &answer), @"
        pods: now served by highest-first@9f86d081884c; before, by host-local@9f86d081884c
          added   10.2.0.1-10.2.0.254
        ");
        let answer = ActivatePolicyResponse {
            before: stamp("host-local"),
            after: stamp("host-local"),
            ..ActivatePolicyResponse::default()
        };
        insta::assert_snapshot!(activated("pods", &answer), @"pods: no change; served by host-local@9f86d081884c");
    }
}
