//! A candidate policy and the book that it would see: made once from the network's image, as a snapshot is, then kept in
//! step by the network's own facts. A state of its own is kept in memory only.

use std::sync::Arc;

use tenure_ledger::{Book, Defined, Image, LedgerFact, PolicyState};
use tenure_types::{Definition, Error, ErrorCode, NetworkConfig, Outcome, Request, RequestContext, Result};

use crate::core::committer::defect;
use crate::policy::verdicts::{Decided, checked, decided};
use crate::ports::Policy;

/// A candidate and its book.
pub(super) struct Follower {
    policy: Arc<dyn Policy>,
    book: Arc<Book>,
    /// Present state of the candidate.
    state: Arc<[u8]>,
    /// The place of the next fact that the book has not seen, in a numbering of its own.
    next: u64,
    /// The facts up to this place in the log are part of the image.
    through: u64,
}

impl Follower {
    /// A follower that begins with a network's image, under the candidate's definition of the network.
    pub(super) fn new(policy: Arc<dyn Policy>, image: Image, definition: &Definition) -> Result<Self> {
        let through = image.through;
        let config: Arc<NetworkConfig> = Arc::clone(&image.network.config);
        let (by, at) = (image.network.defined_by, image.network.changed_at);
        let mut book = Book::restore(image).map_err(defect)?;
        let defined = Defined { config: &config, definition, by };
        let facts = book.redefine(defined, at).map_err(|invalid| {
            let cause = format_args!("policy {} returned an invalid definition: {invalid}", policy.stamp());
            Error::new(ErrorCode::ProposalRejected, cause)
        })?;
        let mut next = through + 1;
        for fact in &facts {
            book.apply(next, fact).map_err(defect)?;
            next += 1;
        }
        Ok(Self { policy, book: Arc::new(book), state: Arc::default(), next, through })
    }

    /// Lets the candidate begin with the network's present state, as if it took over now.
    pub(super) async fn take_over(&mut self, now: PolicyState) -> Result<()> {
        if !self.policy.keeps_state() || now.bytes.is_empty() {
            return Ok(());
        }
        self.state = match now.policy.digest == self.policy.stamp().digest {
            true => now.bytes,
            false => self.policy.migrate(now.bytes, &now.policy, Arc::clone(&self.book)).await?,
        };
        Ok(())
    }

    /// Decides as the candidate would. It remembers that, as it would if it served.
    pub(super) async fn decide(&mut self, request: &Request) -> (Decided, Option<Error>) {
        let (decided, outcome) = self.ask(request).await;
        match outcome {
            Ok(Outcome { state, .. }) => {
                self.state = state.unwrap_or_else(|| Arc::clone(&self.state));
                (decided, None)
            }
            Err(error) => (decided, Some(error)),
        }
    }

    /// Decides as the candidate would. It does not remember that.
    pub(super) async fn rehearse(&self, request: &Request) -> (Decided, Option<Error>) {
        let (decided, outcome) = self.ask(request).await;
        (decided, outcome.err())
    }

    async fn ask(&self, request: &Request) -> (Decided, Result<Outcome>) {
        let answer = self.policy.propose(request, Arc::clone(&self.book), Arc::clone(&self.state)).await;
        let checked = checked(&self.book, request, answer);
        (decided(&checked), checked)
    }

    /// Follows a change of the network's book. Returns whether it could: another definition, or facts that contradict the
    /// candidate's ranges, need a new beginning.
    pub(super) fn follow(&mut self, place: u64, fact: &LedgerFact) -> bool {
        if place <= self.through {
            return true;
        }
        match fact {
            LedgerFact::Allocated(_)
            | LedgerFact::Released { .. }
            | LedgerFact::Renewed { .. }
            | LedgerFact::Quarantined { .. }
            | LedgerFact::QuarantineLifted { .. } => {}
            _ => return false,
        }
        let followed = Arc::make_mut(&mut self.book).apply(self.next, fact).is_ok();
        self.next += 1;
        followed
    }

    pub(super) fn expire(&mut self, now: tenure_types::Moment, cooldown: std::time::Duration) {
        if self.book.has_expired(now, cooldown) {
            Arc::make_mut(&mut self.book).expire(now, cooldown);
        }
    }

    /// The latest allocations' requests, as if they were made now.
    pub(super) fn recent(&self, most: usize) -> Vec<Request> {
        let skipped = self.book.allocations().len().saturating_sub(most);
        let recent = self.book.allocations().skip(skipped).map(|allocation| Request {
            network: allocation.network.clone(),
            owner: allocation.owner.clone(),
            requested: Vec::new(),
            sandbox: allocation.sandbox.clone(),
            supply_full: false,
            context: RequestContext::default(),
            requested_at: allocation.requested_at,
        });
        recent.collect()
    }
}
