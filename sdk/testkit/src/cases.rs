//! Case files: what a policy answers, in plain text.
//!
//! ```text
//! # A comment.
//! network {
//!   "ranges": [[{ "subnet": "10.1.1.0/29" }]]
//! }
//! add team-a/web-0 -> 10.1.1.2
//! add team-a/web-1 requesting 10.1.1.5 -> 10.1.1.5
//! add claim cilium/router -> any
//! del team-a/web-0
//! thaw
//! add team-b/db-0 -> exhausted "no address is free"
//! network { "subnet": "10.1.1" } -> invalid-config "ipam.subnet"
//! ```
//!
//! | step | |
//! |---|---|
//! | `network JSON` | defines a network by its `ipam` object, in place of the one before, without allocations |
//! | `add OWNER [with NAME=VALUE, ...] [requesting ADDRESS, ...] -> OUTCOME` | adds an owner, with the labels and annotations that the policy may see, such as `pod.label.app=web`; a repeated ADD gets the same addresses |
//! | `del OWNER` | deletes an owner, whose addresses then cool down |
//! | `thaw` | ends the cooling of all addresses |
//! | `supply POOL FIRST-LAST in SUBNET [with NAME=VALUE, ...]` | adds a range to a pool that the host supplies, with attributes such as `block=b1` |
//! | `drain POOL FIRST-LAST` | such a range hands out nothing more |
//! | `withdraw POOL FIRST-LAST` | removes such a range |
//! | `plan [SITUATION] -> PLAN` | asks a policy that plans; nothing carries the plan out |
//!
//! An owner is a pod `NAMESPACE/NAME`, a `claim AGENT/NAME`, or any other word. An outcome is a list of addresses, one of
//! each pool; `any` for any free address; or why there is none, with a part of the text or without:
//!
//! | outcome | |
//! |---|---|
//! | `exhausted`, `unavailable`, `not-yet`, `denied`, `over-quota`, `invalid-config` | the policy's refusal |
//! | `refused` | any refusal of the policy's |
//! | `rejected` | the ledger does not accept the policy's answer |
//! | `failed` | the policy panicked, or returned something malformed |
//!
//! A situation is an object, in which everything may be left out:
//!
//! ```text
//! plan { "waiting": { "pods.v4": 3 } } -> request-block pods.v4 addresses=7
//! plan {
//!   "pending": [{ "kind": "request-block", "pool": "pods.v4", "attributes": { "addresses": "7" } }],
//!   "objects": [{ "kind": "block", "name": "b1", "attributes": { "idle.seconds": "90" } }],
//!   "attributes": { "preallocation": "4" }
//! } -> none
//! ```
//!
//! `tenurectl plan --explain --output json` shows a node's `objects` and `attributes` in this form. A plan is a list of effects, each as
//! `KIND POOL NAME=VALUE ...`, in order and with all their attributes; only `reason` may be left out. A line that ends with a comma goes on
//! in the next one. A value with a space, a comma or a double quote is in double quotes. `none` is a plan without effects, `any` is every plan, and a
//! refusal or failure has the words above.

mod effect;
mod expected_plan;
mod long;
mod outcome;
mod parse;
mod plan;
mod run;
mod step;

use std::path::{Path, PathBuf};

pub use effect::CaseEffect;
pub use expected_plan::ExpectedPlan;
pub use outcome::ExpectedOutcome;
pub use parse::{Malformed, parse};
pub use plan::{CaseObject, CaseSituation};
pub use run::{CaseFailure, CaseRun, run};
pub use step::{Case, CaseStep, SupplyChange};

/// Why a folder of case files cannot be run.
#[derive(Debug)]
pub enum Unusable {
    /// A file or the folder cannot be read.
    Unreadable(PathBuf, std::io::Error),
    /// A file is not written as a case file.
    Malformed(PathBuf, Malformed),
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable(path, error) => write!(formatter, "{}: {error}", path.display()),
            Self::Malformed(path, error) => {
                write!(formatter, "{}:{}: {}", path.display(), error.line, error.message)
            }
        }
    }
}

impl std::error::Error for Unusable {}

/// Reads the case files of a folder: each `.txt`, by name.
///
/// # Errors
/// [`Unusable`] names the file, and the line.
pub fn read(folder: &Path) -> Result<Vec<Case>, Unusable> {
    let unreadable = |path: &Path, error| Unusable::Unreadable(path.into(), error);
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, error))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unreadable(folder, error))?.path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            paths.push(path);
        }
    }
    paths.sort();
    let case = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
        let steps = parse(&text).map_err(|error| Unusable::Malformed(path.clone(), error))?;
        Ok(Case { path, steps })
    };
    paths.into_iter().map(case).collect()
}
