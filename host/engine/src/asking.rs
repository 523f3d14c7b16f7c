//! Asking a policy: each question is timed, and each failure is counted by its kind.

use tenure_types::{Error, ErrorCode, PolicyFailure, Result};

use crate::engine::Engine;
use crate::ports::Policy;

impl Engine {
    /// Asks a policy, and says how long it took and how it went.
    pub(crate) fn ask<A>(&self, policy: &dyn Policy, question: impl FnOnce() -> Result<A>) -> Result<A> {
        let started = self.ports.clock.monotonic();
        let answer = question();
        let took = self.ports.clock.monotonic().saturating_sub(started);
        let outcome = answer.as_ref().map(drop).map_err(|error| error.code);
        self.ports.observer.policy_call(policy.stamp(), took, outcome);
        if let Some(failure) = answer.as_ref().err().and_then(|error| error.failure) {
            self.ports.observer.policy_failed(policy.stamp(), failure);
        }
        match policy.silenced() {
            0 => {}
            lines => self.ports.observer.policy_silenced(policy.stamp(), lines),
        }
        answer
    }

    /// What the ledger refused of a policy's answer.
    pub(crate) fn rejected(&self, policy: &dyn Policy, why: std::fmt::Arguments<'_>) -> Error {
        self.ports.observer.policy_failed(policy.stamp(), PolicyFailure::Rejected);
        let cause = format_args!("policy {} {why}", policy.stamp());
        Error::new(ErrorCode::ProposalRejected, cause).failed_by(PolicyFailure::Rejected)
    }
}
