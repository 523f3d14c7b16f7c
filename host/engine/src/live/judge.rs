//! Answers of watched and shadowed networks: each request that a watched policy does not answer is put to the policy before
//! it, on the same book. What the one would have answered and the other did not is worse, and counts against a budget.

use std::sync::Arc;
use std::time::Duration;

use tenure_ledger::Book;
use tenure_types::{ErrorCode, Proposal, Request, Result};

use super::verdicts::checked;
use super::words::shortened;
use crate::engine::Engine;
use crate::slot::Alone;

impl Engine {
    /// Passes on a policy's answer to a request, after counting it where the network is watched, and noting it where it is
    /// shadowed. The caller has the network's turn; the call began at `began`.
    pub(crate) async fn judged(
        &self,
        alone: &Alone<'_>,
        request: &Request,
        book: Arc<Book>,
        began: Duration,
        answer: Result<Proposal>,
    ) -> Result<Proposal> {
        if self.shadows.any() {
            let took = self.ports.clock.monotonic().saturating_sub(began);
            self.shadows.asked(request, &checked(&book, request, answer.clone()), took);
        }
        self.watched(alone, request, book, answer).await
    }

    /// Counts an answer, if the network is watched.
    async fn watched(
        &self,
        alone: &Alone<'_>,
        request: &Request,
        book: Arc<Book>,
        answer: Result<Proposal>,
    ) -> Result<Proposal> {
        let comparable = {
            let mut state = alone.state();
            match state.as_mut().and_then(|served| served.watch.as_mut()) {
                None => return answer,
                Some(watch) => {
                    watch.calls += 1;
                    watch.comparable
                }
            }
        };
        let cause = match &answer {
            Ok(proposal) => match book.check(request, proposal) {
                Ok(()) => return answer,
                Err(violation) => format!("rejected: {violation}"),
            },
            // A failure is worse than whatever the policy before would have answered, unless that fails as well.
            Err(error) if error.code == ErrorCode::PolicyFailed || comparable => error.cause.clone(),
            Err(_) => return answer,
        };
        if comparable && !self.was_answered_before(request, &book).await {
            return answer;
        }
        drop(book);
        if let Some(watch) = alone.state().as_mut().and_then(|served| served.watch.as_mut()) {
            watch.worse += 1;
            watch.last = shortened(&cause);
            if watch.is_over(self.settings().exchange.worse_percent) {
                self.due.notify_one();
            }
        }
        answer
    }

    /// Whether the policy before would have answered a request on this book.
    async fn was_answered_before(&self, request: &Request, book: &Arc<Book>) -> bool {
        let before = self
            .committer
            .node()
            .choices
            .of(&request.network)
            .and_then(|served| served.before.front().cloned());
        let Some(before) = before else { return true };
        // One that cannot be called says nothing in defence of the new one.
        let Ok(policy) = self.ports.catalogue.find_pinned(&before.policy) else { return true };
        match policy.propose(request, Arc::clone(book)).await {
            Ok(proposal) => book.check(request, &proposal).is_ok(),
            Err(_) => false,
        }
    }
}
