//! Answers of watched and shadowed networks: each request that a watched policy does not answer is put to the policy before
//! it, on the same book. What the one would have answered and the other did not is worse, and counts against a budget. Agents'
//! requests for claims do not count, and are counted apart in a shadow: one agent's could otherwise take a policy from all pods, or hide that it fails them. A policy
//! that fails an agent is benched for that agent.

use std::sync::Arc;
use std::time::Duration;

use tenure_ledger::Book;
use tenure_types::{ErrorCode, Outcome, Owner, PolicyStamp, Request, Result};

use super::PolicyExchange;
use crate::network::slot::Alone;
use crate::policy::verdicts::checked;
use crate::policy::words::shortened;
use crate::ports::{Policy, on_trial};

impl PolicyExchange {
    /// Passes on a policy's answer to a request, after counting it where the network is watched, and noting it where it is
    /// shadowed. The caller has the network's turn; the call began at `began`.
    pub(crate) async fn judged(
        &self,
        alone: &Alone<'_>,
        request: &Request,
        book: Arc<Book>,
        began: Duration,
        answer: Result<Outcome>,
    ) -> Result<Outcome> {
        if self.shadows.any() {
            let took = self.core.ports.clock.monotonic().saturating_sub(began);
            self.shadows.asked(request, &checked(&book, request, answer.clone()), took);
        }
        match request.owner {
            Owner::Claim { .. } => answer,
            Owner::Attachment { .. } | Owner::Unknown { .. } => {
                self.watched(alone, request, book, answer).await
            }
        }
    }

    /// Counts an answer, if the network is watched.
    async fn watched(
        &self,
        alone: &Alone<'_>,
        request: &Request,
        book: Arc<Book>,
        answer: Result<Outcome>,
    ) -> Result<Outcome> {
        let (comparable, measure) = {
            let mut state = alone.state();
            match state.as_mut().and_then(|served| served.watch.as_mut()) {
                None => return answer,
                Some(watch) => {
                    watch.calls += 1;
                    (watch.comparable, watch.measure.clone())
                }
            }
        };
        let cause = match &answer {
            Ok(outcome) => match book.check(request, &outcome.proposal) {
                Ok(()) => return answer,
                Err(violation) => format!("rejected: {violation}"),
            },
            // A failure is worse than any answer of the previous policy, unless that fails as well.
            Err(error) if error.code == ErrorCode::PolicyFailed || comparable => error.cause.clone(),
            Err(_) => return answer,
        };
        if !self.was_better_before(request, &book, comparable, measure).await {
            return answer;
        }
        drop(book);
        if let Some(watch) = alone.state().as_mut().and_then(|served| served.watch.as_mut()) {
            watch.worse += 1;
            watch.last = shortened(&cause);
            if watch.is_over(self.core.settings().exchange.worse_percent) {
                self.due.notify_one();
            }
        }
        answer
    }

    /// Whether the policy before would have done better: answered on this book, or, if that is not the book that it would have,
    /// at least not failed. It is asked with the state that it has kept last. `measure` takes its place.
    async fn was_better_before(
        &self,
        request: &Request,
        book: &Arc<Book>,
        comparable: bool,
        measure: Option<PolicyStamp>,
    ) -> bool {
        let Some(before) = measure.or_else(|| self.core.policy_before(&request.network)) else { return true };
        let policy = match self.core.ports.catalogue.find_pinned(&before) {
            Ok(policy) => policy,
            // It is asked at the next request, once it is loaded.
            Err(error) if error.code == ErrorCode::Preparing => return false,
            // One that cannot be called says nothing in defence of the new one.
            Err(_) => return true,
        };
        match self.tried(policy, request, Arc::clone(book)).await {
            Ok(_) => true,
            Err(error) => !comparable && error.code != ErrorCode::PolicyFailed,
        }
    }

    /// A policy's answer to a request on a book, with the state that it has kept last there; nothing comes of it.
    pub(super) async fn tried(
        &self,
        policy: Arc<dyn Policy>,
        request: &Request,
        book: Arc<Book>,
    ) -> Result<Outcome> {
        let state = {
            let node = self.core.committer.node();
            let state = node.states.of(&request.network).and_then(|memory| memory.of(policy.stamp()));
            state.map(|state| Arc::clone(&state.bytes)).unwrap_or_default()
        };
        let answer = on_trial(policy).propose(request, Arc::clone(&book), state).await;
        checked(&book, request, answer)
    }
}
