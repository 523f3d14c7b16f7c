//! Usage and outcomes of a policy's calls.

use std::time::Duration;

/// Counts by a stable name, without those that are zero.
pub type Counts = Vec<(&'static str, u64)>;

/// The meters of one policy, since it was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meter {
    /// Calls for requests and plans, however they ended. A call that was cut short and made again counts once.
    pub calls: u64,
    /// The processor time of all calls.
    pub processor: Duration,
    /// The most memory that one call has used, in bytes.
    pub memory_peak: u64,
    /// Host functions that it has called.
    pub host_calls: u64,
    /// Calls in which it failed, by the name of the [`PolicyFailure`](crate::PolicyFailure).
    pub failures: Counts,
    /// Calls in which it refused to answer, by the name of the refusal in the interface.
    pub refusals: Counts,
    /// Answers that the ledger rejected, by the name of the rule that they broke.
    pub rejections: Counts,
    /// Calls that served nobody, of which nothing else here counts anything: the conformance suite, a shadow, a comparison.
    pub trial_calls: u64,
    /// The processor time of these.
    pub trial_processor: Duration,
}
