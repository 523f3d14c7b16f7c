//! The watch over a policy that has just begun to serve: each request that it does not answer is put to the policy before
//! it, on the same book. What the one would have answered and the other did not is worse, and counts against a budget.

use std::sync::Arc;
use std::time::Duration;

use tenure_ledger::Book;
use tenure_types::{Error, ErrorCode, Proposal, Request, Result};

use crate::engine::Engine;
use crate::slot::Alone;

/// Fewer than this many worse answers never roll a policy back.
const LEAST: u64 = 3;

/// The count of a watch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Watch {
    /// All calls.
    pub(super) calls: u64,
    /// Those that the policy before would have answered.
    pub(super) worse: u64,
    /// The last of those.
    pub(super) last: String,
    /// Whether the policy before answers on the present book: its definition was the same.
    pub(super) comparable: bool,
}

impl Watch {
    /// A watch that begins now; `comparable` says whether the exchange changed the policy and nothing else.
    pub(crate) fn new(comparable: bool) -> Self {
        Self { comparable, ..Self::default() }
    }

    /// Whether the budget is exceeded: worse answers in percent of all calls.
    pub(super) fn is_over(&self, percent: u32) -> bool {
        self.worse >= LEAST && self.worse * 100 > u64::from(percent) * self.calls
    }

    /// The count, in words.
    pub(super) fn told(&self) -> String {
        let last = if self.last.is_empty() { String::new() } else { format!("; the last: {}", self.last) };
        match self.comparable {
            true => format!(
                "{} of {} requests were not answered, and the policy before would have{last}",
                self.worse, self.calls
            ),
            false => format!("{} of {} requests failed{last}", self.worse, self.calls),
        }
    }
}

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
            watch.last = super::history::shortened(&cause);
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

/// An answer, as the ledger will take it: a proposal that it would reject is an error.
pub(super) fn checked(book: &Book, request: &Request, answer: Result<Proposal>) -> Result<Proposal> {
    let proposal = answer?;
    match book.check(request, &proposal) {
        Ok(()) => Ok(proposal),
        Err(violation) => Err(Error::new(ErrorCode::ProposalRejected, violation)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_share_of_the_calls_and_never_fewer_than_three() {
        let over = |calls, worse, percent| Watch { calls, worse, ..Watch::default() }.is_over(percent);
        assert!(!over(2, 2, 1), "two are not enough");
        assert!(over(3, 3, 1) && over(299, 3, 1) && !over(300, 3, 1));
        assert!(over(3, 3, 0) && over(1_000_000, 3, 0));
        assert!(!over(10, 10, 100), "100 percent never rolls back");
    }
}
