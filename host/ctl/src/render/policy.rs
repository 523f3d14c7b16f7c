//! One policy: its versions, and its history on a network.

use tenure_rpc::v1::{GetPolicyHistoryResponse, InspectPolicyResponse, PolicyRef, UnloadPolicyResponse};

use super::cell::Cell;
use super::granted;
use super::page::Page;
use super::parts::{ago, clean, joined, or_dash, policy, when};
use super::shown::Shown;
use super::table::Table;
use crate::report::LoadedPolicy;

impl Shown for InspectPolicyResponse {
    /// A block for each version.
    fn page(&self, now_ms: u64) -> Page {
        let mut blocks = Vec::new();
        for version in &self.versions {
            let PolicyRef { name, sha256 } = version.policy.clone().unwrap_or_default();
            let mut block = format!("{}\n", clean(&name));
            let mut line = |head: &str, value: String| block.push_str(&format!("  {head:<9} {value}\n"));
            line("sha256", or_dash(&clean(&sha256)));
            line("current", if version.current { "yes" } else { "no; named by its digest only" }.to_owned());
            line("source", clean(&version.source));
            if version.loaded_at_ms > 0 {
                line("loaded", ago(version.loaded_at_ms, now_ms));
                let unsigned = "not checked: no `signatures.keys`".to_owned();
                line("signed by", if version.signer.is_empty() { unsigned } else { clean(&version.signer) });
            }
            line("serves", joined(&version.serves, ", "));
            line("shadows", joined(&version.shadows, ", "));
            line("served", joined(&version.served, ", "));
            line(
                "usable",
                if version.problem.is_empty() {
                    "yes".to_owned()
                } else {
                    format!("no: {}", clean(&version.problem))
                },
            );
            if !version.notice.is_empty() {
                line("notice", clean(&version.notice));
            }
            for benched in &version.benched {
                line("benched", clean(benched));
            }
            let granted = version.grants.iter().flat_map(granted::grants);
            for (head, value) in granted.chain(version.meter.iter().flat_map(granted::meter)) {
                line(head, value);
            }
            if !version.file_problem.is_empty() {
                line("file", format!("not applied: {}", clean(&version.file_problem)));
            }
            blocks.push(block);
        }
        blocks.join("\n").into()
    }
}

impl Shown for LoadedPolicy {
    fn page(&self, _: u64) -> Page {
        let Self { source, answer } = self;
        let signed = match answer.signer.as_str() {
            "" => String::new(),
            signer => format!(", signed by {}", clean(signer)),
        };
        let PolicyRef { name, sha256 } = answer.policy.clone().unwrap_or_default();
        let notice = match answer.notice.as_str() {
            "" => String::new(),
            notice => format!("  notice {}\n", clean(notice)),
        };
        format!(
        "loaded {}{signed}\n  sha256 {}\n  from   {}\n{notice}  networks that another version serves keep it until `tenurectl policy activate NETWORK {}`\n",
        policy(answer.policy.as_ref()),
        clean(&sha256),
        clean(source),
        clean(&name)
    ).into()
    }
}

impl Shown for UnloadPolicyResponse {
    fn page(&self, _: u64) -> Page {
        format!("unloaded {}\n", policy(self.policy.as_ref())).into()
    }
}

impl Shown for GetPolicyHistoryResponse {
    /// The steps, the latest first.
    fn page(&self, now_ms: u64) -> Page {
        let watched = if self.watched { ", and is compared with the policy before it" } else { "" };
        let table = Table::of(&self.steps)
            .column("WHEN", |step| Cell::valued(when(step.at_ms), step.at_ms))
            .column("AGE", |step| Cell::ago(step.at_ms, now_ms))
            .column("STEP", |step| clean(&step.kind))
            .column("BY", |step| or_dash(&step.by))
            .name("POLICY", |step| policy(step.policy.as_ref()))
            .prose("REASON", |step| or_dash(&clean(&step.reason)));
        Page::from(format!("{} serves{watched}\n\n", policy(self.now.as_ref()))).table(table)
    }
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1::{
        LoadPolicyResponse, PolicyGrants, PolicyMeter, PolicyStep, PolicyVersion, PolicyWorld,
    };

    use super::*;

    fn stamp(name: &str) -> Option<PolicyRef> {
        Some(PolicyRef { name: name.into(), sha256: "9f86d081884c7d659a2feaa0c55ad015".into() })
    }

    #[test]
    fn a_policy_shows_its_versions_and_what_they_serve() {
        let version = PolicyVersion {
            policy: stamp("zones"),
            source: "/root/zones.wasm".into(),
            signer: "RWQ".into(),
            loaded_at_ms: 1_000,
            current: true,
            serves: vec!["pods".into()],
            grants: Some(PolicyGrants {
                worlds: vec![PolicyWorld { name: "stateful".into(), granted: false }],
                deadline_ms: 50,
                memory_bytes: 8 << 20,
                networks: vec!["pods".into(), "blue-*".into()],
                ..PolicyGrants::default()
            }),
            notice: "it plans, and is never asked for a plan".into(),
            meter: Some(PolicyMeter {
                trial_calls: 60,
                trial_processor_us: 700,
                calls: 12,
                processor_us: 144,
                memory_peak_bytes: 70_000,
                host_calls: 24,
                refusals: [("exhausted".into(), 2)].into(),
                rejections: [("outside".into(), 1), ("held".into(), 3)].into(),
                ..PolicyMeter::default()
            }),
            ..PolicyVersion::default()
        };
        let embedded = PolicyVersion {
            policy: stamp("host-local"),
            source: "embedded".into(),
            problem: "it traps".into(),
            ..PolicyVersion::default()
        };
        let answer = InspectPolicyResponse { versions: vec![version, embedded] };
        insta::assert_snapshot!(answer.page(61_000), @"
        zones
          sha256    9f86d081884c7d659a2feaa0c55ad015
          current   yes
          source    /root/zones.wasm
          loaded    1m ago
          signed by RWQ
          serves    pods
          shadows   -
          served    -
          usable    yes
          notice    it plans, and is never asked for a plan
          worlds    policy, stateful (not granted, and never called)
          networks  pods, blue-*
          ranges    any
          effects   none
          limits    50 ms and 8 MiB for a call
          calls     12
          processor 144 us in all, 12 us for a call
          memory    69 KiB at most in a call
          asked     24 calls of the host
          failed    0
          refused   2 exhausted
          rejected  3 held, 1 outside
          on trial  60 calls besides, of the conformance suite, shadows and comparisons; 700 us in all

        host-local
          sha256    9f86d081884c7d659a2feaa0c55ad015
          current   no; named by its digest only
          source    embedded
          serves    -
          shadows   -
          served    -
          usable    no: it traps
        ");
    }

    #[test]
    fn a_history_shows_its_steps_with_their_reasons() {
        let step = |at_ms, kind: &str, policy: &str, reason: &str| PolicyStep {
            at_ms,
            kind: kind.into(),
            policy: stamp(policy),
            reason: reason.into(),
            by: if kind == "chosen" { "operator".into() } else { "tenured".into() },
        };
        let answer = GetPolicyHistoryResponse {
            now: stamp("host-local"),
            watched: false,
            before: vec![],
            steps: vec![
                step(60_000, "rolled-back", "host-local", "3 of 20 requests failed"),
                step(1_000, "chosen", "zones", ""),
            ],
        };
        insta::assert_snapshot!(answer.page(61_000), @"
        host-local@9f86d081884c serves

        WHEN                  AGE     STEP         BY        POLICY                   REASON
        1970-01-01T00:01:00Z  1s ago  rolled-back  tenured   host-local@9f86d081884c  3 of 20 requests
                                                                                      failed
        1970-01-01T00:00:01Z  1m ago  chosen       operator  zones@9f86d081884c       -
        ");
    }

    #[test]
    fn loading_says_what_was_loaded() {
        let answer = LoadPolicyResponse { policy: stamp("zones"), ..LoadPolicyResponse::default() };
        let source = "oci://registry.example.com/zones@sha256:4b30".to_owned();
        insta::assert_snapshot!(LoadedPolicy { source, answer }.page(0), @"
        loaded zones@9f86d081884c
          sha256 9f86d081884c7d659a2feaa0c55ad015
          from   oci://registry.example.com/zones@sha256:4b30
          networks that another version serves keep it until `tenurectl policy activate NETWORK zones`
        ");
        let answer =
            LoadPolicyResponse { policy: stamp("zones"), notice: "it plans".into(), signer: "RWQ".into() };
        let noticed = LoadedPolicy { source: "zones.wasm".into(), answer }.page(0).to_string();
        assert!(noticed.contains("\n  from   zones.wasm\n  notice it plans\n"), "{noticed}");
        insta::assert_snapshot!(UnloadPolicyResponse { policy: stamp("zones") }.page(0), @"unloaded zones@9f86d081884c");
    }
}
