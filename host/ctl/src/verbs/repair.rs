//! `tenurectl repair`: releases the allocations whose sandbox a check reported gone. The daemon verifies each one again first.

use std::path::Path;

use serde::Deserialize;
use tenure_rpc::v1;
use tenure_types::Error;

use super::file::{malformed, read};
use crate::daemon::Daemon;
use crate::render::Report;
use crate::report::{Finding, Repair, RepairedFinding};

/// The only kind of finding that two sources confirm, and so the only one that can be repaired.
const PROVEN: &str = "sandbox-gone";

/// The output of `tenurectl check --output json`.
#[derive(Deserialize)]
struct CheckReport {
    findings: Vec<Finding>,
}

/// Repairs the findings of a report.
pub(super) async fn repair(daemon: &Daemon, from: &Path, apply: bool) -> Result<Report, Error> {
    let CheckReport { findings } = serde_json::from_slice(&read(from)?).map_err(|error| {
        malformed(from, &error).to_be_solved_by("pass the output of `tenurectl check --output json`")
    })?;
    let (proven, left): (Vec<_>, Vec<_>) = findings.into_iter().partition(|finding| finding.kind == PROVEN);
    let meant = |finding: &Finding| v1::AllocationRef {
        network: finding.network.clone(),
        generation: finding.generation,
    };
    let request = v1::RepairRequest { allocations: proven.iter().map(meant).collect(), apply };
    let answer = daemon.call(async |mut admin| admin.repair(request).await).await?;
    let repaired = proven.into_iter().zip(answer.outcomes);
    let repaired = repaired.map(|(finding, outcome)| RepairedFinding { finding, outcome }).collect();
    Ok(Report::of(Repair { applied: apply, repaired, left }))
}
