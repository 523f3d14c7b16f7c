//! JSON output for programs: the protocol's messages with the protocol's field names; every field is always present.
//!
//! It is written by hand rather than derived, so that a change to the protocol cannot silently change it.

mod allocations;
mod author;
mod check;
mod claims;
mod cloud;
mod delegations;
mod networks;
mod plan;
mod policies;
mod replay;
mod states;

use serde_json::{Value, json};
use tenure_rpc::v1;
use tenure_types::Error;

pub(crate) use self::allocations::Allocations;
use self::allocations::{address, release};
use self::check::{check, repair};
use self::networks::{defined, networks, removed};
use self::policies::{activated, history, inspected, loaded, policies, shadow, unloaded};
use crate::exit::next_step;
use crate::report::{Abandoned, Entry, Export, Import, Judged, PassedOver, Report};

/// A report as JSON.
pub(crate) fn report(report: &Report) -> Value {
    match report {
        Report::Status(answer) => status(answer),
        Report::Networks(answer) => networks(answer),
        Report::Address(found) => address(&found.answer),
        Report::Check(answer) => check(answer),
        Report::Release(done) => release(done),
        Report::Claims(answer) => claims::claims(answer),
        Report::ReleasedClaim(done) => claims::released(done),
        Report::Delegations(answer) => delegations::delegations(answer),
        Report::Cloud(answer) => cloud::cloud(answer),
        Report::Plan(answer) => plan::plan(answer),
        Report::Repair(done) => repair(done),
        Report::Import(done) => import(done),
        Report::Abandoned(done) => abandoned(done),
        Report::Export(done) => export(done),
        Report::Adopted(answer) => adopted(answer),
        Report::Policies(answer) => policies(answer),
        Report::Inspected(answer) => inspected(answer),
        Report::Loaded(answer) => loaded(answer),
        Report::Unloaded(answer) => unloaded(answer),
        Report::Shadowed(done) => shadow(&done.answer),
        Report::History(answer) => history(answer),
        Report::State(state) => states::state(&state.answer),
        Report::Exported(exported) => states::exported(exported),
        Report::Imported(imported) => states::imported(&imported.answer),
        // Printed as it is.
        Report::Raw(_) => Value::Null,
        Report::Activated(done) => activated(&done.answer),
        Report::Defined(done) => defined(done),
        Report::Removed(done) => removed(done),
        Report::Reloaded(answer) => reloaded(answer),
        Report::Replayed(replayed) => replay::replayed(replayed),
        Report::Work(work) => author::work(work),
    }
}

/// An error as JSON.
pub(crate) fn error(error: &Error) -> Value {
    json!({ "error": { "code": error.code.name(), "cause": error.cause, "next_step": next_step(error.code) } })
}

fn status(status: &v1::GetStatusResponse) -> Value {
    json!({
        "state": status.state,
        "reasons": status.reasons,
        "conditions": list(&status.conditions, |condition| json!({
            "name": condition.name,
            "severity": condition.severity,
            "subject": condition.subject,
            "message": condition.message,
            "since_ms": condition.since_ms,
            "next_step": condition.next_step,
        })),
        "version": status.version,
        "boot_id": status.boot_id,
        "uptime_ms": status.uptime_ms,
        "networks": status.networks,
        "allocations": status.allocations,
        "cooling": status.cooling,
        "in_flight": status.in_flight,
        "queued": status.queued,
        "state_dir": status.state_dir,
        "log_bytes": status.log_bytes,
        "snapshot_bytes": status.snapshot_bytes,
    })
}

fn reloaded(answer: &v1::ReloadResponse) -> Value {
    json!({
        "applied": answer.applied,
        "after_restart": answer.after_restart,
        "problems": list(&answer.problems, |problem| json!({ "key": problem.key, "message": problem.message })),
    })
}

fn adopted(answer: &v1::AdoptResponse) -> Value {
    json!({ "was_lost": answer.was_lost })
}

fn import(report: &Import) -> Value {
    json!({
        "applied": report.applied,
        "entries": list(&report.judged, |Judged { entry: Entry { network, entry }, outcome }| json!({
            "network": network,
            "container_id": entry.container_id,
            "interface": entry.interface,
            "addresses": entry.addresses,
            "pod_namespace": entry.pod_namespace,
            "pod_name": entry.pod_name,
            "outcome": outcome.outcome,
            "reason": outcome.reason,
        })),
        "left_out": left_out(&report.passed_over),
    })
}

fn abandoned(report: &Abandoned) -> Value {
    json!({
        "applied": report.applied,
        "network": report.network,
        "imports": list(&report.answer.imports, |open| json!({
            "source": open.source,
            "by": open.by,
            "entries": open.entries,
            "reached": open.reached,
            "begun_at_ms": open.begun_at_ms,
        })),
    })
}

fn export(report: &Export) -> Value {
    json!({ "file": report.file, "written": report.written, "left_out": left_out(&report.left_out) })
}

fn left_out(left_out: &[PassedOver]) -> Vec<Value> {
    list(left_out, |PassedOver { what, why }| json!({ "what": what, "why": why }))
}

fn list<T>(items: &[T], item: impl Fn(&T) -> Value) -> Vec<Value> {
    items.iter().map(item).collect()
}

#[cfg(test)]
mod tests {
    use tenure_types::ErrorCode;

    use super::*;

    #[test]
    fn an_error_says_what_and_why_and_what_next() {
        let error = Error::new(ErrorCode::UnknownNetwork, "no network \"p\u{1b}[2Jods\" on this node");
        insta::assert_snapshot!(super::error(&error), @r#"{"error":{"cause":"no network \"p\\u{1b}[2Jods\" on this node","code":"unknown-network","next_step":"`tenurectl networks` lists the networks; the first ADD, `tenurectl network define` or tenured.toml creates one"}}"#);
    }
}
