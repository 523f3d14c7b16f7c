//! The result of a verb as plain data, which is rendered for people and for programs, and its exit code.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;

use serde::Deserialize;
use tenure_policy::decisions::{Decision, Outcome};
use tenure_rpc::v1;
use tenure_types::PolicyName;

use crate::author::Work;
use crate::exit::Exit;

/// The result of a verb.
pub(crate) enum Report {
    Status(v1::GetStatusResponse),
    Networks(v1::ListNetworksResponse),
    Address(Address),
    Check(v1::CheckResponse),
    Release(Box<Release>),
    Claims(v1::ListAllClaimsResponse),
    ReleasedClaim(ReleasedClaim),
    Delegations(v1::ListDelegationsResponse),
    Cloud(Box<v1::GetCloudResponse>),
    Plan(Box<v1::ExplainPlanResponse>),
    Repair(Repair),
    Import(Import),
    Abandoned(Abandoned),
    Export(Export),
    Adopted(v1::AdoptResponse),
    Policies(v1::ListPoliciesResponse),
    Inspected(v1::InspectPolicyResponse),
    Loaded(Loaded),
    Unloaded(v1::UnloadPolicyResponse),
    Activated(Activated),
    Shadowed(Shadowed),
    History(v1::GetPolicyHistoryResponse),
    State(Box<State>),
    Exported(Exported),
    Imported(Imported),
    /// Bytes for standard output, as they are.
    Raw(Vec<u8>),
    Defined(Defined),
    Removed(Removed),
    Reloaded(v1::ReloadResponse),
    Replayed(Replayed),
    Work(Work),
}

/// Recorded decisions that a component has made again.
pub(crate) struct Replayed {
    /// The component's name and digest.
    pub(crate) policy: PolicyName,
    pub(crate) digest: String,
    /// The names and digests of the policies that were recorded.
    pub(crate) recorded: BTreeSet<(String, String)>,
    /// How many decisions there are.
    pub(crate) decisions: u64,
    /// Those that the component made otherwise.
    pub(crate) differences: Vec<Difference>,
    /// Lines of the record that could not be read.
    pub(crate) passed_over: u64,
}

/// A decision that was made otherwise.
pub(crate) struct Difference {
    pub(crate) decision: Decision,
    /// The outcome of the replay.
    pub(crate) now: Outcome,
}

/// Everything about one address.
pub(crate) struct Address {
    pub(crate) address: IpAddr,
    pub(crate) answer: v1::GetAddressResponse,
}

/// The result of a release, or of its dry run.
pub(crate) struct Release {
    pub(crate) address: IpAddr,
    /// Whether changes were made, as opposed to a dry run.
    pub(crate) applied: bool,
    pub(crate) answer: v1::ReleaseResponse,
}

/// The result of releasing a claim, or of the dry run.
pub(crate) struct ReleasedClaim {
    /// Whether changes were made, as opposed to a dry run.
    pub(crate) applied: bool,
    /// The claim as it was; `None` if there is none.
    pub(crate) claim: Option<v1::Claim>,
}

/// The result of a repair, or of its dry run.
pub(crate) struct Repair {
    /// Whether changes were made, as opposed to a dry run.
    pub(crate) applied: bool,
    /// Each finding of a sandbox that is gone, with its outcome.
    pub(crate) repaired: Vec<(Finding, v1::RepairOutcome)>,
    /// The findings left to the operator.
    pub(crate) left: Vec<Finding>,
}

/// The part of a check's finding that a repair needs.
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

/// The result of an import, or of its dry run.
pub(crate) struct Import {
    /// Whether changes were made, as opposed to a dry run.
    pub(crate) applied: bool,
    /// Each attachment with its outcome.
    pub(crate) judged: Vec<Judged>,
    /// Files and rows that were left out.
    pub(crate) passed_over: Vec<PassedOver>,
}

/// The imports of a network that were abandoned, or that would be.
pub(crate) struct Abandoned {
    pub(crate) network: String,
    /// Whether changes were made, as opposed to a dry run.
    pub(crate) applied: bool,
    pub(crate) answer: v1::AbandonImportResponse,
}

/// An attachment to import and the daemon's decision about it.
pub(crate) struct Judged {
    pub(crate) entry: Entry,
    pub(crate) outcome: v1::ImportOutcome,
}

/// An attachment on a network, with its addresses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) network: String,
    /// The attachment; it has no container if the owner of the addresses is unknown.
    pub(crate) entry: v1::ImportEntry,
}

/// A file, row or allocation that is not imported or exported.
#[derive(Debug, PartialEq)]
pub(crate) struct PassedOver {
    /// The file, the row of a file, or the address and its owner.
    pub(crate) what: String,
    pub(crate) why: String,
}

/// Allocations that were written down for another IPAM.
pub(crate) struct Export {
    pub(crate) file: PathBuf,
    /// How many were written.
    pub(crate) written: usize,
    /// Those that the other IPAM's file cannot express.
    pub(crate) left_out: Vec<PassedOver>,
}

/// A policy that was loaded.
pub(crate) struct Loaded {
    /// The file, or the registry's reference with its digest.
    pub(crate) source: String,
    pub(crate) answer: v1::LoadPolicyResponse,
}

/// The policy that serves a network now, and the one before.
pub(crate) struct Activated {
    pub(crate) network: String,
    pub(crate) answer: v1::ActivatePolicyResponse,
}

/// What policies remember on a network.
pub(crate) struct State {
    pub(crate) network: String,
    pub(crate) answer: v1::GetPolicyStateResponse,
}

/// A state that was written to a file.
pub(crate) struct Exported {
    pub(crate) network: String,
    pub(crate) state: v1::PolicyState,
    pub(crate) file: PathBuf,
}

/// A state that was replaced.
pub(crate) struct Imported {
    pub(crate) network: String,
    pub(crate) answer: v1::ReplacePolicyStateResponse,
}

/// The shadow run of a network.
pub(crate) struct Shadowed {
    pub(crate) network: String,
    pub(crate) answer: v1::ShadowPolicyResponse,
}

/// The definition that a network has now, or would have.
pub(crate) struct Defined {
    /// Whether changes were made, as opposed to a dry run.
    pub(crate) applied: bool,
    pub(crate) answer: v1::DefineNetworkResponse,
}

/// The result of removing a network, or of the dry run.
pub(crate) struct Removed {
    pub(crate) network: String,
    /// Whether changes were made, as opposed to a dry run.
    pub(crate) applied: bool,
    pub(crate) answer: v1::RemoveNetworkResponse,
}

impl Report {
    /// The program's exit code.
    pub(crate) fn exit(&self) -> Exit {
        let is_well = match self {
            Self::Status(status) => status.state != "not-ready",
            Self::Check(check) => check.findings.is_empty(),
            Self::Release(release) => release.answer.outcome != "kept",
            Self::Repair(repair) => {
                repair.left.is_empty() && repair.repaired.iter().all(|(_, outcome)| outcome.outcome != "kept")
            }
            Self::Import(import) => {
                let problem =
                    |judged: &Judged| matches!(judged.outcome.outcome.as_str(), "refused" | "unknown");
                import.passed_over.is_empty() && !import.judged.iter().any(problem)
            }
            Self::Export(export) => export.left_out.is_empty(),
            Self::Replayed(replayed) => replayed.differences.is_empty(),
            Self::Reloaded(reloaded) => reloaded.problems.is_empty(),
            Self::Work(work) => work.is_well(),
            Self::Networks(_)
            | Self::Claims(_)
            | Self::ReleasedClaim(_)
            | Self::Delegations(_)
            | Self::Cloud(_)
            | Self::Plan(_)
            | Self::Address(_)
            | Self::Abandoned(_)
            | Self::Adopted(_)
            | Self::Policies(_)
            | Self::Inspected(_)
            | Self::Loaded(_)
            | Self::Unloaded(_)
            | Self::Activated(_)
            | Self::Shadowed(_)
            | Self::History(_)
            | Self::State(_)
            | Self::Exported(_)
            | Self::Imported(_)
            | Self::Raw(_)
            | Self::Defined(_)
            | Self::Removed(_) => true,
        };
        if is_well { Exit::Done } else { Exit::Problems }
    }
}
