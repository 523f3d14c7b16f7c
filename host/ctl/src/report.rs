//! The answers of verbs that are more than one message of the daemon, as plain data. Serialized, they are their JSON, whose names are a
//! contract with programs.

#[cfg(test)]
mod filled;
mod installed;
#[cfg(feature = "registry")]
mod pulled;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(all(test, feature = "author"))]
mod widths;

use std::collections::BTreeSet;
use std::iter;
use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tenure_policy::decisions::{DecisionOutcome, Function, RecordedDecision};
use tenure_rpc::v1;
use tenure_types::Error;

pub(crate) use self::installed::{
    CheckVerdict, Diagnosis, FileChange, FileOutcome, InstallReport, InstalledKind, NodeCheck,
};
#[cfg(feature = "registry")]
pub(crate) use self::pulled::{PullOutcome, PullReport, PulledPolicy};

/// The claims of agents.
#[derive(Serialize)]
pub(crate) struct ClaimList {
    pub(crate) claims: Vec<ClaimOfAgent>,
}

/// A claim, and how its agent stands to it.
#[derive(Serialize)]
pub(crate) struct ClaimOfAgent {
    #[serde(flatten)]
    pub(crate) claim: v1::Claim,
    #[serde(flatten)]
    pub(crate) standing: v1::AgentStanding,
    /// Whether the daemon reported the standing, which an older one does not.
    #[serde(skip)]
    pub(crate) is_reported: bool,
}

impl From<v1::ListAllClaimsResponse> for ClaimList {
    fn from(answer: v1::ListAllClaimsResponse) -> Self {
        let standings = answer.standings.into_iter().map(Some).chain(iter::repeat(None));
        let of_agent = |(claim, standing): (_, Option<v1::AgentStanding>)| ClaimOfAgent {
            claim,
            is_reported: standing.is_some(),
            standing: standing.unwrap_or_default(),
        };
        Self { claims: answer.claims.into_iter().zip(standings).map(of_agent).collect() }
    }
}

/// Recorded decisions that a component has made again.
#[derive(Serialize)]
pub(crate) struct Replayed {
    /// The component.
    pub(crate) policy: ComponentStamp,
    /// The policies that were recorded.
    pub(crate) recorded: BTreeSet<ComponentStamp>,
    /// How many decisions there are.
    pub(crate) decisions: u64,
    /// How many of them it could not make: it asked what the record does not contain.
    pub(crate) unanswered: u64,
    /// Decisions that the component made otherwise, or could not make.
    pub(crate) differences: Vec<ReplayDifference>,
    /// Lines of the record that could not be read.
    pub(crate) passed_over: u64,
}

/// A component's name and digest.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct ComponentStamp {
    pub(crate) name: String,
    pub(crate) sha256: String,
}

/// A decision that was made otherwise.
#[derive(Serialize)]
pub(crate) struct ReplayDifference {
    pub(crate) network: String,
    pub(crate) number: u64,
    pub(crate) at_ms: u64,
    pub(crate) function: Function,
    pub(crate) pod_namespace: String,
    pub(crate) pod_name: String,
    /// The owner, in words.
    #[serde(skip)]
    pub(crate) who: String,
    pub(crate) recorded: DecisionOutcome,
    /// The outcome of the replay.
    pub(crate) now: DecisionOutcome,
}

impl ReplayDifference {
    /// A recorded decision, and its outcome in the replay.
    pub(crate) fn of(decision: RecordedDecision, now: DecisionOutcome) -> Self {
        let attribute = |name| decision.attribute(name).unwrap_or_default().to_owned();
        Self {
            pod_namespace: attribute("pod.namespace"),
            pod_name: attribute("pod.name"),
            who: decision.who(),
            network: decision.network,
            number: decision.number,
            at_ms: decision.at_ms,
            function: decision.function,
            recorded: decision.outcome,
            now,
        }
    }
}

/// Everything about one address.
#[derive(Serialize)]
pub(crate) struct Address {
    #[serde(skip)]
    pub(crate) address: IpAddr,
    #[serde(flatten)]
    pub(crate) answer: v1::GetAddressResponse,
}

/// The result of a release, or of its dry run.
#[derive(Serialize)]
pub(crate) struct Release {
    #[serde(skip)]
    pub(crate) address: IpAddr,
    /// Whether changes were made, as opposed to a dry run.
    pub(crate) applied: bool,
    #[serde(flatten)]
    pub(crate) answer: v1::ReleaseResponse,
}

/// An address that was put into quarantine.
#[derive(Serialize)]
pub(crate) struct AddedToQuarantine {
    pub(crate) address: IpAddr,
    pub(crate) network: String,
    #[serde(flatten)]
    pub(crate) answer: v1::QuarantineAddressResponse,
}

/// An address that was taken out of quarantine.
#[derive(Serialize)]
pub(crate) struct LiftedQuarantine {
    pub(crate) address: IpAddr,
    #[serde(flatten)]
    pub(crate) answer: v1::LiftQuarantineResponse,
}

/// The result of releasing a claim, or of the dry run.
#[derive(Serialize)]
pub(crate) struct ReleasedClaim {
    /// Whether changes were made, as opposed to a dry run.
    pub(crate) applied: bool,
    /// The claim as it was; `None` if there is none.
    pub(crate) claim: Option<v1::Claim>,
}

/// The result of a repair, or of its dry run.
#[derive(Serialize)]
pub(crate) struct Repair {
    /// Whether changes were made, as opposed to a dry run.
    pub(crate) applied: bool,
    /// Each finding of a sandbox that is gone, with its outcome.
    pub(crate) repaired: Vec<RepairedFinding>,
    /// The findings left to the operator.
    pub(crate) left: Vec<Finding>,
}

/// A finding of a sandbox that is gone, and the daemon's decision about it.
#[derive(Serialize)]
pub(crate) struct RepairedFinding {
    pub(crate) finding: Finding,
    #[serde(flatten)]
    pub(crate) outcome: v1::RepairOutcome,
}

/// The part of a check's finding that a repair needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Serialize)]
pub(crate) struct ImportReport {
    /// Whether changes were made, as opposed to a dry run.
    pub(crate) applied: bool,
    /// Each attachment with its outcome.
    #[serde(rename = "entries")]
    pub(crate) judged: Vec<Judged>,
    /// Files and rows that were left out.
    #[serde(rename = "left_out")]
    pub(crate) passed_over: Vec<PassedOver>,
    /// The error of each network that could not be imported, or only in part. The network's entries name it, too.
    #[serde(skip)]
    pub(crate) failures: Vec<Error>,
}

/// The imports of a network that were abandoned, or that would be.
#[derive(Serialize)]
pub(crate) struct AbandonedImport {
    pub(crate) network: String,
    /// Whether changes were made, as opposed to a dry run.
    pub(crate) applied: bool,
    #[serde(flatten)]
    pub(crate) answer: v1::AbandonImportResponse,
}

/// An attachment to import and the daemon's decision about it.
#[derive(Serialize)]
pub(crate) struct Judged {
    #[serde(flatten)]
    pub(crate) entry: FoundAttachment,
    #[serde(flatten)]
    pub(crate) outcome: v1::ImportOutcome,
}

/// An attachment on a network, with its addresses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct FoundAttachment {
    pub(crate) network: String,
    /// The attachment; it has no container if the owner of the addresses is unknown.
    #[serde(flatten)]
    pub(crate) entry: v1::ImportEntry,
}

/// A file, row or allocation that is not imported or exported.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct PassedOver {
    /// The file, the row of a file, or the address and its owner.
    pub(crate) what: String,
    pub(crate) why: String,
}

/// Allocations that were written down for another IPAM.
#[derive(Serialize)]
pub(crate) struct Export {
    pub(crate) file: PathBuf,
    /// How many were written.
    pub(crate) written: usize,
    /// Attachments of any network that a boot has ended since the daemon stopped. They are not in the file.
    pub(crate) ended_by_reboot: usize,
    /// Allocations that the other IPAM's file cannot express.
    pub(crate) left_out: Vec<PassedOver>,
}

/// A policy that was loaded.
#[derive(Serialize)]
pub(crate) struct LoadedPolicy {
    /// The file, or the registry's reference with its digest.
    pub(crate) source: String,
    #[serde(flatten)]
    pub(crate) answer: v1::LoadPolicyResponse,
}

/// The policy that serves a network now, and the one before.
#[derive(Serialize)]
pub(crate) struct Activated {
    #[serde(skip)]
    pub(crate) network: String,
    #[serde(flatten)]
    pub(crate) answer: v1::ActivatePolicyResponse,
}

/// The state of a policy on a network.
#[derive(Serialize)]
pub(crate) struct PolicyStateReport {
    #[serde(skip)]
    pub(crate) network: String,
    #[serde(flatten)]
    pub(crate) answer: v1::GetPolicyStateResponse,
}

/// A state that was written to a file.
#[derive(Serialize)]
pub(crate) struct ExportedState {
    #[serde(skip)]
    pub(crate) network: String,
    #[serde(rename = "now")]
    pub(crate) state: v1::PolicyState,
    pub(crate) file: PathBuf,
}

/// A state that was replaced.
#[derive(Serialize)]
pub(crate) struct ReplacedState {
    #[serde(skip)]
    pub(crate) network: String,
    #[serde(flatten)]
    pub(crate) answer: v1::ReplacePolicyStateResponse,
}

/// The shadow run of a network.
#[derive(Serialize)]
pub(crate) struct Shadowed {
    #[serde(skip)]
    pub(crate) network: String,
    #[serde(flatten)]
    pub(crate) answer: v1::ShadowPolicyResponse,
}

/// The definition that a network has now, or would have.
#[derive(Serialize)]
pub(crate) struct NetworkRedefinition {
    /// Whether changes were made, as opposed to a dry run.
    pub(crate) applied: bool,
    #[serde(flatten)]
    pub(crate) answer: v1::DefineNetworkResponse,
}

/// The result of removing a network, or of the dry run.
#[derive(Serialize)]
pub(crate) struct NetworkRemoval {
    pub(crate) network: String,
    /// Whether changes were made, as opposed to a dry run.
    pub(crate) applied: bool,
    #[serde(flatten)]
    pub(crate) answer: v1::RemoveNetworkResponse,
}
