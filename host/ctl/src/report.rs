//! What a verb found or did: plain data, for people and for programs alike, and how the program ends with it.

use std::net::IpAddr;

use serde::Deserialize;
use tenure_rpc::v1;

use crate::exit::Exit;

/// What a verb found or did.
pub(crate) enum Report {
    Status(v1::GetStatusResponse),
    Networks(v1::ListNetworksResponse),
    Address(Address),
    Check(v1::CheckResponse),
    Release(Box<Release>),
    Repair(Repair),
    Import(Import),
    Adopted(v1::AdoptResponse),
    Policies(v1::ListPoliciesResponse),
    Activated(Activated),
    Defined(Defined),
    Removed(Removed),
    Reloaded(v1::ReloadResponse),
}

/// Everything about one address.
pub(crate) struct Address {
    pub(crate) address: IpAddr,
    pub(crate) answer: v1::GetAddressResponse,
}

/// What a release did or would do.
pub(crate) struct Release {
    pub(crate) address: IpAddr,
    /// Whether it was done.
    pub(crate) applied: bool,
    pub(crate) answer: v1::ReleaseResponse,
}

/// What a repair did or would do.
pub(crate) struct Repair {
    /// Whether it was done.
    pub(crate) applied: bool,
    /// Each finding that says something is gone, with what became of it.
    pub(crate) repaired: Vec<(Finding, v1::RepairOutcome)>,
    /// The findings that need a person.
    pub(crate) left: Vec<Finding>,
}

/// A finding of a check, as far as it says what to repair.
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

/// What an import did or would do.
pub(crate) struct Import {
    /// Whether it was done.
    pub(crate) applied: bool,
    /// Each attachment with what became of it.
    pub(crate) judged: Vec<Judged>,
    /// What was left out.
    pub(crate) passed_over: Vec<PassedOver>,
}

/// A network's attachment and what the daemon says of it.
pub(crate) struct Judged {
    pub(crate) entry: Entry,
    /// What becomes of it.
    pub(crate) outcome: v1::ImportOutcome,
}

/// An attachment with its addresses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) network: String,
    /// The attachment; without a container where nobody knows whose the addresses are.
    pub(crate) entry: v1::ImportEntry,
}

/// Something that is not imported.
#[derive(Debug, PartialEq)]
pub(crate) struct PassedOver {
    /// The file, or the row in it.
    pub(crate) what: String,
    pub(crate) why: String,
}

/// What serves a network now, and what did.
pub(crate) struct Activated {
    pub(crate) network: String,
    pub(crate) answer: v1::ActivatePolicyResponse,
}

/// What a network is now, or would be.
pub(crate) struct Defined {
    /// Whether it was done.
    pub(crate) applied: bool,
    pub(crate) answer: v1::DefineNetworkResponse,
}

/// What became of a network that was to be removed, or would.
pub(crate) struct Removed {
    pub(crate) network: String,
    /// Whether it was done.
    pub(crate) applied: bool,
    pub(crate) answer: v1::RemoveNetworkResponse,
}

impl Report {
    /// How the program ends with it.
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
            Self::Reloaded(reloaded) => reloaded.problems.is_empty(),
            Self::Networks(_)
            | Self::Address(_)
            | Self::Adopted(_)
            | Self::Policies(_)
            | Self::Activated(_)
            | Self::Defined(_)
            | Self::Removed(_) => true,
        };
        if is_well { Exit::Done } else { Exit::Problems }
    }
}
