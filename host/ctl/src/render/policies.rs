//! The policy catalogue, and the result of an activation.

use tenure_rpc::v1::{self, ListPoliciesResponse};

use super::network::ranges;
use super::page::Page;
use super::parts::{clean, joined, or_dash, policy, short};
use super::shown::Shown;
use super::table::Table;
use crate::report::Activated;

impl Shown for ListPoliciesResponse {
    /// A row for each policy; below the table, why a policy cannot be used.
    fn page(&self, _: u64) -> Page {
        let table = Table::of(&self.policies)
            .name("POLICY", name)
            .column("SHA256", |of| or_dash(&short(sha256(of))))
            .name("SOURCE", |of| clean(&of.source))
            .prose("NETWORKS", users)
            .prose("USABLE", |of| match (of.problem.is_empty(), of.loading) {
                (true, _) => "yes",
                (false, true) => "not yet",
                (false, false) => "no",
            })
            .wide("FULL SHA256", |of| or_dash(sha256(of)));
        let none = "No policies: add one to the daemon's configuration.\n";
        Page::default().table_or(table, none).text(self.policies.iter().map(problems).collect::<String>())
    }
}

fn name(of: &v1::Policy) -> String {
    of.policy.as_ref().map(|policy| clean(&policy.name)).unwrap_or_default()
}

fn sha256(of: &v1::Policy) -> &str {
    of.policy.as_ref().map_or("", |policy| &policy.sha256)
}

/// The networks that it serves, and those in whose shadow it runs.
fn users(of: &v1::Policy) -> String {
    let shadows = of.shadows.iter().map(|network| format!("{network} (shadow)"));
    joined(&of.networks.iter().cloned().chain(shadows).collect::<Vec<_>>(), ", ")
}

/// The reasons why a policy cannot be used everywhere.
fn problems(of: &v1::Policy) -> String {
    let name = name(of);
    let mut problems = String::new();
    if !of.problem.is_empty() {
        problems.extend([&name, ": ", &clean(&of.problem), "\n"]);
    }
    if !of.notice.is_empty() {
        problems.extend([&name, ": ", &clean(&of.notice), "\n"]);
    }
    for benched in &of.benched {
        problems.extend([&name, ": benched: ", &clean(benched), "\n"]);
    }
    if !of.file_problem.is_empty() {
        let why = clean(&of.file_problem);
        problems.push_str(&format!("{name}: serves as before; its file is not applied: {why}\n"));
    }
    problems
}

impl Shown for Activated {
    /// The policy that serves now, and the one before.
    fn page(&self, _: u64) -> Page {
        let Self { network, answer } = self;
        let (before, after) = (policy(answer.before.as_ref()), policy(answer.after.as_ref()));
        let network = clean(network);
        let mut text = match answer.before == answer.after {
            true => format!(
                "{network}: still served by {after}; an operator's choice now, which overrides the configuration\n"
            ),
            false => format!("{network}: now served by {after}; before, by {before}\n"),
        };
        text.push_str(&ranges(&answer.ranges_added, &answer.ranges_removed));
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1::{ActivatePolicyResponse, Policy, PolicyRef};

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
                    notice: "it plans, and is never asked for a plan".into(),
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
        insta::assert_snapshot!(answer.page(0), @"
        POLICY      SHA256        SOURCE                 NETWORKS                  USABLE
        host-local  9f86d081884c  embedded               blue, pods, red (shadow)  yes
        mine        -             /etc/tenure/mine.wasm  -                         no
        host-local: it plans, and is never asked for a plan
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
        insta::assert_snapshot!(Activated { network: "pods".into(), answer }.page(0), @"
        pods: now served by highest-first@9f86d081884c; before, by host-local@9f86d081884c
          added   10.2.0.1-10.2.0.254
        ");
        let answer = ActivatePolicyResponse {
            before: stamp("host-local"),
            after: stamp("host-local"),
            ..ActivatePolicyResponse::default()
        };
        insta::assert_snapshot!(Activated { network: "pods".into(), answer }.page(0), @"pods: still served by host-local@9f86d081884c; an operator's choice now, which overrides the configuration");
    }
}
