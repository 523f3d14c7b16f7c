//! `tenurectl repair`: frees what a check's report says is gone. The daemon looks again before it does.

use std::path::Path;

use serde::Deserialize;
use tenure_rpc::v1;
use tenure_types::{Error, ErrorCode};

use crate::daemon::Daemon;
use crate::exit::Exit;
use crate::{Outcome, json, render};

/// The only kind of finding that is two sources' word, and so can be repaired.
const PROVEN: &str = "sandbox-gone";

/// What `tenurectl check --output json` printed.
#[derive(Deserialize)]
struct CheckReport {
    findings: Vec<Finding>,
}

/// A finding, as far as it says what to repair.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Finding {
    pub(crate) kind: String,
    pub(crate) network: String,
    pub(crate) subject: String,
    pub(crate) generation: u64,
    #[serde(default)]
    pub(crate) addresses: Vec<String>,
    #[serde(default)]
    pub(crate) pod_namespace: String,
    #[serde(default)]
    pub(crate) pod_name: String,
}

/// What a repair did or would do.
pub(crate) struct Report {
    /// Whether it was done.
    pub(crate) applied: bool,
    /// Each finding that says something is gone, with what became of it.
    pub(crate) repaired: Vec<(Finding, v1::RepairOutcome)>,
    /// The findings that need a person.
    pub(crate) left: Vec<Finding>,
}

/// Repairs what a report says.
pub(crate) async fn run(daemon: &Daemon, report: &Path, apply: bool) -> Result<Outcome, Error> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", report.display()))
    };
    let text = std::fs::read(report).map_err(|error| unreadable(&error))?;
    let CheckReport { findings } = serde_json::from_slice(&text).map_err(|error| unreadable(&error))?;
    let (proven, left): (Vec<_>, Vec<_>) = findings.into_iter().partition(|finding| finding.kind == PROVEN);
    let meant = |finding: &Finding| v1::AllocationRef {
        network: finding.network.clone(),
        generation: finding.generation,
    };
    let request = v1::RepairRequest { allocations: proven.iter().map(meant).collect(), apply };
    let answer = daemon.call(async |mut admin| admin.repair(request).await).await?;
    let report = Report { applied: apply, repaired: proven.into_iter().zip(answer.outcomes).collect(), left };
    let kept = report.repaired.iter().any(|(_, outcome)| outcome.outcome == "kept");
    let exit = if kept || !report.left.is_empty() { Exit::Problems } else { Exit::Done };
    Ok(Outcome { text: render::repair(&report), json: json::repair(&report), exit })
}
