//! Checks, and the repairs that follow them.

use serde_json::{Value, json};
use tenure_rpc::v1;

use super::list;
use crate::report::{Finding, Repair};

pub(super) fn check(answer: &v1::CheckResponse) -> Value {
    json!({
        "compared": answer.compared,
        "findings": list(&answer.findings, finding),
        "notes": list(&answer.notes, finding),
        "findings_left_out": answer.findings_left_out,
        "notes_left_out": answer.notes_left_out,
    })
}

fn finding(finding: &v1::Finding) -> Value {
    json!({
        "kind": finding.kind,
        "network": finding.network,
        "subject": finding.subject,
        "detail": finding.detail,
        "next_step": finding.next_step,
        "generation": finding.generation,
        "addresses": finding.addresses,
        "pod_namespace": finding.pod_namespace,
        "pod_name": finding.pod_name,
    })
}

pub(super) fn repair(report: &Repair) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "kind": finding.kind,
            "network": finding.network,
            "subject": finding.subject,
            "generation": finding.generation,
            "addresses": finding.addresses,
            "pod_namespace": finding.pod_namespace,
            "pod_name": finding.pod_name,
        })
    };
    json!({
        "applied": report.applied,
        "repaired": list(&report.repaired, |(found, outcome)| json!({
            "finding": finding(found),
            "outcome": outcome.outcome,
            "reason": outcome.reason,
        })),
        "left": list(&report.left, finding),
    })
}
