//! A case file and its steps.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use tenure_sdk::Range;

use super::{CaseSituation, ExpectedOutcome, ExpectedPlan};

/// A case file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The case's path.
    pub path: PathBuf,
    /// The case's steps, each with its line.
    pub steps: Vec<(usize, CaseStep)>,
}

/// A step of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseStep {
    /// Defines the network.
    Network {
        /// The `ipam` object.
        ipam: String,
        /// The refusal that is expected; `None` if it must be accepted.
        refused: Option<ExpectedOutcome>,
    },
    /// Adds an owner.
    Add {
        /// The owner.
        owner: String,
        /// Labels and annotations that the policy is granted to see, such as `pod.label.app`, with their values.
        metadata: Vec<(String, String)>,
        /// The addresses that it requests.
        requested: Vec<IpAddr>,
        /// The outcome that the step must have.
        outcome: ExpectedOutcome,
    },
    /// Deletes an owner, which must hold something.
    Del {
        /// The owner.
        owner: String,
    },
    /// Ends the cooling of all addresses.
    Thaw,
    /// Changes the ranges of a pool that the host supplies.
    Supply {
        /// The pool's name.
        pool: String,
        /// The change.
        change: SupplyChange,
    },
    /// Asks for a plan.
    Plan {
        /// The situation as the file has it.
        text: String,
        /// The situation.
        situation: CaseSituation,
        /// The outcome that the plan must have.
        outcome: ExpectedPlan,
    },
}

/// A change of a pool's ranges, as the host makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SupplyChange {
    /// Adds the range.
    Add(Range),
    /// The range of this name, its ends, hands out nothing more.
    Drain(String),
    /// Removes the range of this name, its ends.
    Withdraw(String),
}

/// As a case file has it, on one line and without its outcome.
impl fmt::Display for CaseStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |word: &str, values: Vec<String>| match values.as_slice() {
            [] => String::new(),
            values => format!(" {word} {}", values.join(", ")),
        };
        match self {
            Self::Network { ipam, .. } => formatter.write_str(&one_line("network", ipam)),
            Self::Add { owner, metadata, requested, .. } => {
                write!(formatter, "add {owner}")?;
                let metadata = metadata.iter().map(|(name, value)| format!("{name}={value}")).collect();
                let requested = requested.iter().map(ToString::to_string).collect();
                write!(formatter, "{}{}", list("with", metadata), list("requesting", requested))
            }
            Self::Del { owner } => write!(formatter, "del {owner}"),
            Self::Thaw => formatter.write_str("thaw"),
            Self::Supply { pool, change: SupplyChange::Add(range) } => {
                let attributes =
                    range.attributes.iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(formatter, "supply {pool} {range} in {}{}", range.subnet, list("with", attributes))
            }
            Self::Supply { pool, change: SupplyChange::Drain(range) } => {
                write!(formatter, "drain {pool} {range}")
            }
            Self::Supply { pool, change: SupplyChange::Withdraw(range) } => {
                write!(formatter, "withdraw {pool} {range}")
            }
            Self::Plan { text, .. } => formatter.write_str(&one_line("plan", text)),
        }
    }
}

/// A step with an object, without the object's line breaks.
fn one_line(verb: &str, json: &str) -> String {
    let words: Vec<_> = [verb].into_iter().chain(json.split_whitespace()).collect();
    words.join(" ")
}
