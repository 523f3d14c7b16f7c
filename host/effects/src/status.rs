//! The status of an executor's intents and plans, for `tenurectl`, metrics and support bundles.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_types::{Attributes, ErrorCode, Moment};

/// The intents and the last plan of an executor. Times are readings of the boot clock.
#[derive(Debug, Clone)]
pub struct Progress {
    /// The open intents.
    pub intents: Vec<IntentStatus>,
    /// The last plan.
    pub plan: Option<PlanStatus>,
    /// The number of ended intents by kind and outcome: `done` or `undone`.
    pub ends: BTreeMap<(&'static str, &'static str), u64>,
}

/// An open intent.
#[derive(Debug, Clone)]
pub struct IntentStatus {
    /// Identifier of the intent.
    pub id: String,
    /// Kind of the effect.
    pub kind: &'static str,
    /// Target, amount, and the policy's reason.
    pub attributes: Attributes,
    /// Beginning, maybe in an earlier boot.
    pub since: Moment,
    /// Current step, and when it began; `None` while the intent waits for another one on the same target.
    pub step: Option<(String, Duration)>,
}

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStatus {
    /// Time at which the plan was made.
    pub at: Duration,
    /// Why nothing could be planned.
    pub words: Option<String>,
    /// The code of that answer: `PoolExhausted` when nothing more fits, `NotYet` while the outside has nothing.
    pub code: Option<ErrorCode>,
    /// The intents that it began.
    pub begun: Vec<String>,
    /// The effects that were refused, with the reason.
    pub refused: Vec<String>,
}
