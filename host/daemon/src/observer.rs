//! Observes the engine: counts its requests and events in metrics, and logs requests.

mod refused_claims;

use std::sync::Arc;
use std::time::Duration;

use tenure_engine::ports::{Clock as _, Decision, Observer};
use tenure_ledger::StepKind;
use tenure_observe::Metrics;
use tenure_types::{Error, ErrorCode, NetworkName, Owner, PolicyFailure, PolicyStamp};

use self::refused_claims::RefusedClaims;
use crate::clock::KernelClock;

/// The verbs by which a policy is asked for a plan.
const PLANS: [&str; 2] = ["plan", "explain"];

/// The verb by which an agent asks for all of its claims; its owner is not one of them.
const DECLARE: &str = "declare";

/// Metrics, and the log.
pub(crate) struct Observing {
    pub(crate) metrics: Arc<Metrics>,
    refused_claims: RefusedClaims,
}

impl Observing {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics, refused_claims: RefusedClaims::default() }
    }

    /// How many refusals like this one have not been logged; `None` if it is not to be logged either. An agent may repeat what is refused as often
    /// as it likes, and each attempt of a call that waits for a network is a request.
    fn untold(&self, decision: &Decision<'_>, error: &Error) -> Option<u64> {
        let agent = match decision.owner {
            Some(Owner::Claim { agent, .. }) => Some(agent),
            _ if decision.verb == DECLARE => None,
            _ => return Some(0),
        };
        self.refused_claims.note(KernelClock.monotonic(), agent, error.code)
    }
}

impl Observer for Observing {
    fn request(&self, decision: &Decision<'_>) {
        let Decision { verb, network, owner, error, took } = decision;
        if !PLANS.contains(verb) {
            tenure_supervise::stir();
        }
        self.metrics.request(verb, error.map_or(Ok(()), |error| Err(error.code)), *took);
        let owner = owner.map(tracing::field::display);
        let untold = error.map_or(Some(0), |error| self.untold(decision, error));
        match error {
            None => tracing::debug!(verb, %network, owner, ?took, "served"),
            // A plan is made each second while a request waits; the executor logs what is new about it. The plugin
            // repeats what is refused during preparations, which are conditions.
            Some(error) if PLANS.contains(verb) || error.code == ErrorCode::Preparing || untold.is_none() => {
                tracing::debug!(verb, %network, owner, code = error.code.name(), cause = error.cause, "refused");
            }
            Some(error) => {
                let (code, next_step) = (error.code.name(), error.next_step());
                tracing::warn!(verb, %network, owner, code, cause = error.cause, next_step, untold, "refused");
            }
        }
    }

    fn policy_call(&self, policy: &PolicyStamp, took: Duration, _: Result<(), ErrorCode>) {
        self.metrics.policy_call(&policy.name, took);
    }

    fn policy_failed(&self, policy: &PolicyStamp, failure: PolicyFailure) {
        self.metrics.policy_failed(&policy.name, failure.name());
    }

    fn policy_silenced(&self, policy: &PolicyStamp, lines: u64) {
        self.metrics.policy_silenced(&policy.name, lines);
    }

    fn policy_step(&self, _: &NetworkName, kind: StepKind) {
        self.metrics.policy_step(kind.name());
    }

    fn shadowed(&self, _: &NetworkName, verdict: &'static str) {
        self.metrics.policy_shadowed(verdict);
    }

    fn log(&self, log_bytes: u64) {
        self.metrics.checkpoint_log(log_bytes);
    }

    fn sync(&self, took: Duration, written: Result<usize, ErrorCode>, log_bytes: u64) {
        tenure_supervise::stir();
        match written {
            Ok(records) => self.metrics.checkpoint_synced(took, records, log_bytes),
            Err(_) => self.metrics.checkpoint_failed(),
        }
    }
}
