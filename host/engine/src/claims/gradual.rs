//! Declarations of many changes, which are decided on as a whole and carried out in pieces.
//!
//! ```text
//! each network: a copy of its book ─▶ its policy proposes what is missing, in pieces ─▶ refused? nothing has happened
//! each network: claims end, in pieces ─▶ claims are made, in pieces, as proposed where that still fits ─▶ durable
//! ```
//!
//! Each claim begins or ends in one group of facts; the declaration as a whole does not. What changes on the network between the two
//! passes can still have a claim refused, and a crash can come between two pieces: then the declaration is carried out in part, and
//! the same one completes it.

use std::sync::Arc;

use tenure_ledger::{Book, ClaimKey, Fact};
use tenure_types::{Error, Result};

use super::AgentClaims;
use super::asking::{BY_AGENT, Held, unknown};
use super::delegated::{DelegatedClaim, ForClaims};
use super::facts::beginning;
use super::pieces::TurnPiece;
use super::plan::{Missing, Plan, Portion, Proposals, changed};
use crate::core::committer::defect;
use crate::give_way::give_way;
use crate::network::networks::Entered;
use crate::network::slot::{Alone, no_book};
use crate::ports::Ticket;

/// The part that was carried out of a declaration.
#[derive(Default)]
pub(super) struct CarriedOut {
    pub(super) created: Vec<ClaimKey>,
    pub(super) kept: Vec<ClaimKey>,
    pub(super) released: Vec<ClaimKey>,
    /// Of the last facts that are not known to be durable; everything staged before is durable with them.
    ticket: Option<Ticket>,
    /// Whether anything was staged.
    has_begun: bool,
}

impl CarriedOut {
    /// Passes on an error, and says if it comes too late for nothing to have happened.
    fn explained(&self, error: Error) -> Error {
        if !self.has_begun {
            return error;
        }
        let cause = format!("{}; the declaration is carried out in part: declare again", error.cause);
        Error { cause, ..error }
    }

    /// Resolves once all of it is durable.
    pub(super) async fn durable(&mut self) -> Result<()> {
        match self.ticket.take() {
            Some(ticket) => ticket.durable().await,
            None => Ok(()),
        }
    }
}

impl AgentClaims {
    /// Lays out what a declaration does on one network, on a copy of its present book: has the policy propose what is missing. Others
    /// are served between the pieces, so that some of it may not fit any more in the end.
    pub(super) async fn foresee_claims(
        &self,
        slot: &Entered<'_>,
        portion: &mut Portion<'_>,
        given: &ForClaims,
    ) -> Result<Plan> {
        let copy = {
            let alone = slot.alone().await;
            let book = alone.state().as_ref().map(|served| Book::clone(&served.book));
            book.ok_or_else(|| unknown(portion.network))?
        };
        let now = self.core.now();
        let (mut plan, missing) = self.compare_claims(Arc::new(copy), portion, now)?;
        if missing.is_empty() {
            return Ok(plan);
        }
        give_way().await;
        plan.expire(now, self.core.settings().cooldown);
        plan.book()?;
        give_way().await;
        let mut piece = self.piece(slot).await;
        let (policy, _) = self.deciding(&piece.alone, portion.network, now)?;
        self.imports.admits_beside_others(portion.network, None).await?;
        if policy.delegate().is_some() {
            self.plan_delegated(&mut plan, &missing, policy.as_ref(), given, now)?;
            return Ok(plan);
        }
        portion.proposals = Proposals::of(self.core.remembered(portion.network, policy.as_ref()));
        for one in missing {
            piece = self.next_step(slot, piece).await;
            let book = Arc::clone(plan.book()?);
            let state = portion.proposals.state().ok_or_else(|| defect("a policy is asked with no state"))?;
            let question = one.question(policy.as_ref(), book, now);
            let (allocation, proposed, _) = self.decide(&piece.alone, &question, state).await?;
            drop(question);
            plan.create(&one, allocation, now);
            portion.proposals.add(one.key, proposed);
        }
        Ok(plan)
    }

    /// Carries a declaration out on one network, some claims at a time.
    pub(super) async fn carry_out_gradually(
        &self,
        slot: &Entered<'_>,
        portion: &mut Portion<'_>,
        given: &ForClaims,
        done: &mut CarriedOut,
    ) -> Result<()> {
        let carried_out = self.end_and_make(slot, portion, given, done).await;
        carried_out.map_err(|error| done.explained(error))
    }

    async fn end_and_make(
        &self,
        slot: &Entered<'_>,
        portion: &mut Portion<'_>,
        given: &ForClaims,
        done: &mut CarriedOut,
    ) -> Result<()> {
        let mut piece = self.piece(slot).await;
        for key in std::mem::take(&mut portion.gone) {
            piece = self.next_change(slot, piece, done).await?;
            self.end_in(&piece, key, done)?;
            self.heard.forget(key);
            done.released.push(key.clone());
        }
        let mut missing = Vec::new();
        for (key, ask) in std::mem::take(&mut portion.wanted) {
            piece = self.next_change(slot, piece, done).await?;
            let now = self.core.now();
            let book = book_of(&piece.alone)?;
            match self.held(&book, key, &ask.wish, now) {
                Held::Agrees(fact) => {
                    drop(book);
                    self.stage_in(&piece, &fact.map(Fact::from).into_iter().collect::<Vec<_>>(), done)?;
                    done.kept.push(key.clone());
                }
                Held::Nothing => missing.push(Missing { key, ask, made_at: now }),
                Held::Differs(_) => {
                    let made_at = self.core.committer.node().claims.get(key).map(|claim| claim.made_at);
                    missing.push(Missing { key, ask, made_at: made_at.unwrap_or(now) });
                    drop(book);
                    self.end_in(&piece, key, done)?;
                }
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        self.imports.admits_beside_others(portion.network, None).await?;
        for one in missing {
            piece = self.next_change(slot, piece, done).await?;
            let facts = self.making(&piece.alone, portion, &one, given).await?;
            self.stage_in(&piece, &facts, done)?;
            done.created.push(one.key.clone());
        }
        Ok(())
    }

    /// The piece for the next change. The changes of the piece before become durable first: a pod that is served between two pieces waits
    /// for the disk with the facts of one piece, and not with those of the whole declaration.
    async fn next_change<'slot>(
        &self,
        slot: &'slot Entered<'_>,
        mut piece: TurnPiece<'slot>,
        done: &mut CarriedOut,
    ) -> Result<TurnPiece<'slot>> {
        if self.is_over(&piece) {
            drop(piece);
            give_way().await;
            done.durable().await?;
            piece = self.piece(slot).await;
        }
        Ok(self.next_step(slot, piece).await)
    }

    fn end_in(&self, piece: &TurnPiece<'_>, key: &ClaimKey, done: &mut CarriedOut) -> Result<()> {
        let facts = self.ending(&*book_of(&piece.alone)?, key, self.core.now(), BY_AGENT.reason());
        self.stage_in(piece, &facts, done)
    }

    /// Stages and applies the facts of one claim.
    fn stage_in(&self, piece: &TurnPiece<'_>, facts: &[Fact], done: &mut CarriedOut) -> Result<()> {
        if facts.is_empty() {
            return Ok(());
        }
        let mut state = piece.alone.state();
        let served = state.as_mut().ok_or_else(no_book)?;
        done.ticket = Some(self.core.committer.commit(&mut served.book, facts)?.1);
        done.has_begun = true;
        Ok(())
    }

    /// The facts that make a claim: as proposed before, or if that does not fit any more, as proposed now.
    async fn making(
        &self,
        alone: &Alone<'_>,
        portion: &mut Portion<'_>,
        missing: &Missing<'_>,
        given: &ForClaims,
    ) -> Result<Vec<Fact>> {
        let (Missing { key, ask, made_at }, now) = (*missing, self.core.now());
        let (policy, book) = self.deciding(alone, portion.network, now)?;
        if policy.delegate().is_some() {
            let obtained = given.get(key).ok_or_else(|| changed(key))?;
            let claim = DelegatedClaim { key, wish: &ask.wish, policy: policy.as_ref() };
            return self.declared_delegated(&book, claim, obtained, made_at, now);
        }
        let mut remembered = self.core.remembered(portion.network, policy.as_ref());
        let proposed = portion.proposals.take(key, &remembered);
        let admitted = proposed.and_then(|proposed| proposed.admit(&book, now).ok());
        let (allocation, kept) = match admitted {
            Some(allocation) => (allocation, None),
            None => {
                let question = missing.question(policy.as_ref(), book, now);
                let (allocation, _, kept) = self.decide(alone, &question, &mut remembered).await?;
                (allocation, kept)
            }
        };
        let begun = beginning(key, &ask.wish, allocation, made_at, now);
        Ok(begun.into_iter().chain(kept.map(Fact::from)).collect())
    }
}

fn book_of(alone: &Alone<'_>) -> Result<Arc<Book>> {
    alone.state().as_ref().map(|served| Arc::clone(&served.book)).ok_or_else(no_book)
}
