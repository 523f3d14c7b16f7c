//! Policy calls: each call is timed, and each failure is counted, by kind and against the policy.

use std::sync::Arc;

use tenure_ledger::Choice;
use tenure_types::{DelegateName, Error, ErrorCode, NetworkName, PolicyFailure, Result};

use crate::core::EngineCore;
use crate::core::strikes::Requester;
use crate::network::slot::Served;
use crate::ports::{Answer, Policy};

/// The rule that an invalid definition breaks.
pub(crate) const DEFINITION: &str = "definition";

impl EngineCore {
    /// Calls a policy on behalf of a network and its pods, unless it is benched there, and reports the duration and the
    /// outcome to the observer.
    pub(crate) async fn ask<'a, A>(
        &self,
        network: &NetworkName,
        policy: &dyn Policy,
        question: impl FnOnce() -> Answer<'a, A>,
    ) -> Result<A> {
        self.ask_for(&Requester::Node, network, policy, question).await
    }

    /// As [`ask`](Self::ask), on behalf of a requester whose failures count for itself.
    pub(crate) async fn ask_for<'a, A>(
        &self,
        requester: &Requester,
        network: &NetworkName,
        policy: &dyn Policy,
        question: impl FnOnce() -> Answer<'a, A>,
    ) -> Result<A> {
        let started = self.ports.clock.monotonic();
        self.strikes.check(requester, network, policy.stamp(), started)?;
        let answer = question().await;
        let ended = self.ports.clock.monotonic();
        self.strikes.count(requester, network, policy.stamp(), &answer, ended);
        let outcome = answer.as_ref().map(drop).map_err(|error| error.code);
        self.ports.observer.policy_call(policy.stamp(), ended.saturating_sub(started), outcome);
        if let Some(failure) = answer.as_ref().err().and_then(|error| error.failure) {
            self.ports.observer.policy_failed(policy.stamp(), failure);
        }
        match policy.silenced() {
            0 => {}
            lines => self.ports.observer.policy_silenced(policy.stamp(), lines),
        }
        answer
    }

    /// The error for a policy's answer that the ledger refused; counts as a failure of the policy, and against the rule.
    pub(crate) fn rejected(
        &self,
        policy: &dyn Policy,
        rule: &'static str,
        why: std::fmt::Arguments<'_>,
    ) -> Error {
        policy.rejected(rule);
        self.ports.observer.policy_failed(policy.stamp(), PolicyFailure::Rejected);
        let cause = format_args!("policy {} {why}", policy.stamp());
        Error::new(ErrorCode::ProposalRejected, cause).failed_by(PolicyFailure::Rejected)
    }

    /// The policy that serves a network; after a restart, the component with the same digest is loaded again.
    pub(crate) fn policy_of(&self, served: &Served, choice: &Choice) -> Result<Arc<dyn Policy>> {
        match served.policy.as_ref().filter(|policy| **policy.stamp() == choice.policy) {
            Some(policy) => Ok(Arc::clone(policy)),
            None => self.ports.catalogue.find_pinned(&choice.policy),
        }
    }

    /// The delegate that serves a network, if one does; also while the configuration does not have it.
    pub(crate) fn delegate_of(&self, network: &NetworkName) -> Option<DelegateName> {
        self.committer.choice(network)?.policy.name.delegate()
    }
}
