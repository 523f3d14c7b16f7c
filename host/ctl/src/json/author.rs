//! What an author's verb has done.

use serde_json::{Value, json};
use tenure_testkit::cases::{Failure, Run};
use tenure_types::Error;

use super::list;
use crate::author::{Checked, Row, Trial, Work};

/// The work as JSON.
pub(super) fn work(work: &Work) -> Value {
    match work {
        Work::Created(created) => json!({
            "folder": created.folder,
            "language": created.language,
            "files": created.files,
        }),
        Work::Built(built) => json!({
            "file": built.file,
            "language": built.language,
            "bytes": built.bytes,
            "sha256": built.sha256,
        }),
        Work::Tested(tested) => json!({
            "file": tested.file,
            "passed": tested.passed(),
            "cases": list(&tested.runs, run),
        }),
        Work::Checked(checked) => self::checked(checked),
        Work::Benched(benched) => json!({ "file": benched.file, "calls": list(&benched.rows, row) }),
        Work::Packed(packed) => json!({
            "folder": packed.folder,
            "manifest": packed.manifest,
            "sha256": packed.sha256,
            "signed": packed.signed,
        }),
        Work::Signed(signed) => json!({
            "signature": signed.signature,
            "public_key": signed.public_key,
            "sha256": signed.sha256,
        }),
    }
}

fn run(run: &Run) -> Value {
    json!({
        "file": run.path,
        "steps": run.steps,
        "failure": run.failure.as_ref().map(|Failure { line, step, expected, got, .. }| json!({
            "line": line,
            "step": step,
            "expected": expected,
            "got": got,
        })),
    })
}

fn checked(checked: &Checked) -> Value {
    let why = |error: &Error| json!({ "code": error.code.name(), "cause": error.cause });
    let (verdict, memory, reason) = match &checked.trial {
        Trial::Served { memory } => ("served", Some(memory), None),
        Trial::Refused { memory, why: error } => ("refused", Some(memory), Some(why(error))),
        Trial::Failed(error) => ("failed", None, Some(why(error))),
    };
    json!({
        "file": checked.file,
        "sha256": checked.sha256,
        "bytes": checked.bytes,
        "interface_version": checked.contents.version(),
        "worlds": checked.contents.worlds(),
        "imports": checked.contents.imports,
        "exports": checked.contents.exports,
        "memories": checked.contents.memories,
        "initial_memory_bytes": checked.contents.initial_memory,
        "memory_tier_mib": memory,
        "trial": verdict,
        "reason": reason,
        "conformance": checked.conformance.as_ref().map(|suite| json!({
            "passed": suite.passed,
            "failure": suite.failure,
            "skipped": suite.skipped,
        })),
    })
}

fn row(row: &Row) -> Value {
    json!({
        "call": row.call,
        "allocations": row.held,
        "median_ns": u64::try_from(row.median.as_nanos()).unwrap_or(u64::MAX),
        "p99_ns": u64::try_from(row.p99.as_nanos()).unwrap_or(u64::MAX),
    })
}
