//! The effect of a declaration on one network: the facts that bring the agent's claims in line with it, on a draft of the network's
//! book, as far as the network's policy has proposed addresses for what is missing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_ledger::{Book, Claim, ClaimFact, ClaimKey, Fact, PolicyState};
use tenure_types::{Allocation, Error, ErrorCode, Moment, NetworkName, Result};

use super::asking::{BY_AGENT, Held, Proposed, unknown};
use super::delegated::{DelegatedClaim, ForClaims};
use super::facts::beginning;
use super::question::ClaimQuestion;
use super::{AgentClaims, Ask};
use crate::core::committer::defect;
use crate::network::slot::Alone;
use crate::policy::states::kept;
use crate::ports::Policy;

/// The part of a declaration that is about one network.
pub(super) struct Portion<'a> {
    pub(super) network: &'a NetworkName,
    /// The claims that are no longer declared.
    pub(super) gone: Vec<&'a ClaimKey>,
    pub(super) wanted: Vec<(&'a ClaimKey, &'a Ask)>,
    /// The proposals of the network's policy so far.
    pub(super) proposals: Proposals,
}

/// Proposals of a policy for claims that are not made yet. Another policy, or another state of it, makes all of them void.
#[derive(Default)]
pub(super) struct Proposals {
    by_claim: BTreeMap<ClaimKey, Proposed>,
    /// The policy's state before the first of them, and after the last.
    states: Option<(PolicyState, PolicyState)>,
}

impl Proposals {
    /// None yet, of a policy with this state.
    pub(super) fn of(state: PolicyState) -> Self {
        Self { by_claim: BTreeMap::new(), states: Some((state.clone(), state)) }
    }

    /// Whether they were begun by this policy with this state.
    fn stand(&self, now: &PolicyState) -> bool {
        let before = self.states.as_ref().map(|(before, _)| before);
        before.is_some_and(|before| before.policy == now.policy && before.version == now.version)
    }

    /// Whether each of them depends on those before it.
    fn are_chained(&self) -> bool {
        self.states.as_ref().is_some_and(|(before, after)| before.bytes != after.bytes)
    }

    /// The state to ask with next.
    pub(super) fn state(&mut self) -> Option<&mut PolicyState> {
        self.states.as_mut().map(|(_, after)| after)
    }

    pub(super) fn add(&mut self, key: &ClaimKey, proposed: Proposed) {
        self.by_claim.insert(key.clone(), proposed);
    }

    /// The proposal for a claim, if that does not depend on what has changed since.
    pub(super) fn take(&mut self, key: &ClaimKey, now: &PolicyState) -> Option<Proposed> {
        let stands = self.stand(now) && !self.are_chained();
        self.by_claim.remove(key).filter(|_| stands)
    }

    /// The fact of the policy's state after the last of them.
    pub(super) fn kept(&self, network: &NetworkName, now: Moment) -> Option<Fact> {
        let (before, after) = self.states.as_ref()?;
        kept(network, before, Some(Arc::clone(&after.bytes)), now).map(Fact::from)
    }
}

/// A claim that a declaration has to make, and when it was made first.
#[derive(Clone, Copy)]
pub(super) struct Missing<'a> {
    pub(super) key: &'a ClaimKey,
    pub(super) ask: &'a Ask,
    pub(super) made_at: Moment,
}

impl<'a> Missing<'a> {
    /// The question to a policy about it.
    pub(super) fn question<'q>(
        &self,
        policy: &'q dyn Policy,
        book: Arc<Book>,
        now: Moment,
    ) -> ClaimQuestion<'q>
    where
        'a: 'q,
    {
        ClaimQuestion { policy, book, key: self.key, wish: &self.ask.wish, now }
    }
}

/// A plan, and what is missing in it: claims for which this policy has to be asked.
pub(super) struct Layout<'a> {
    pub(super) plan: Plan,
    pub(super) missing: Option<(Arc<dyn Policy>, Vec<Missing<'a>>)>,
}

/// The effect of a declaration on one network.
pub(super) struct Plan {
    /// The book with the facts applied, as far as a policy has to see them.
    draft: Arc<Book>,
    facts: Vec<Fact>,
    /// How many of the facts the draft has.
    drafted: usize,
    pub(super) created: Vec<ClaimKey>,
    pub(super) kept: Vec<ClaimKey>,
    pub(super) released: Vec<ClaimKey>,
}

impl Plan {
    fn of(draft: Arc<Book>) -> Self {
        let (created, kept, released) = (Vec::new(), Vec::new(), Vec::new());
        Self { draft, facts: Vec::new(), drafted: 0, created, kept, released }
    }

    /// The book as it is after all facts. Copies it if there are any.
    pub(super) fn book(&mut self) -> Result<&Arc<Book>> {
        for fact in self.facts.iter().skip(self.drafted) {
            if let Fact::Ledger(fact) = fact {
                let draft = Arc::make_mut(&mut self.draft);
                draft.apply(draft.through() + 1, fact).map_err(defect)?;
            }
        }
        self.drafted = self.facts.len();
        Ok(&self.draft)
    }

    /// Makes a claim.
    pub(super) fn create(&mut self, missing: &Missing<'_>, allocation: Allocation, now: Moment) {
        let Missing { key, ask, made_at } = *missing;
        self.facts.extend(beginning(key, &ask.wish, allocation, made_at, now));
        self.created.push(key.clone());
    }

    /// The claim that a fact of this plan makes.
    pub(super) fn made(&self, key: &ClaimKey) -> Option<Claim> {
        self.facts.iter().rev().find_map(|fact| match fact {
            Fact::Claims(ClaimFact::Claimed(claim)) if claim.key == *key => Some(claim.clone()),
            _ => None,
        })
    }

    /// Takes the facts, and lets go of the book, which can then be changed without being copied.
    pub(super) fn take_facts(&mut self) -> Vec<Fact> {
        self.let_go();
        std::mem::take(&mut self.facts)
    }

    /// Ends the cooldowns that are over in the draft.
    pub(super) fn expire(&mut self, now: Moment, cooldown: Duration) {
        Arc::make_mut(&mut self.draft).expire(now, cooldown);
    }

    fn let_go(&mut self) {
        self.draft = Arc::new(Book::empty(self.draft.name()));
    }
}

impl AgentClaims {
    /// Lays out what is done on one network, on its present book; proposals that do not fit that any more are dropped.
    pub(super) fn lay_out<'a>(
        &self,
        alone: &Alone<'_>,
        portion: &mut Portion<'a>,
        given: &ForClaims,
        now: Moment,
    ) -> Result<Layout<'a>> {
        let book = alone.state().as_ref().map(|served| Arc::clone(&served.book));
        let book = book.ok_or_else(|| unknown(portion.network))?;
        let (mut plan, missing) = self.compare_claims(book, portion, now)?;
        if missing.is_empty() {
            return Ok(Layout { plan, missing: None });
        }
        // The cooldowns that are over have to show in the draft, which must not share the book when they end.
        plan.let_go();
        let (policy, book) = self.deciding(alone, portion.network, now)?;
        plan.draft = book;
        if policy.delegate().is_some() {
            self.plan_delegated(&mut plan, &missing, policy.as_ref(), given, now)?;
            return Ok(Layout { plan, missing: None });
        }
        let state = self.core.remembered(portion.network, policy.as_ref());
        if !portion.proposals.stand(&state) {
            portion.proposals = Proposals::of(state.clone());
        }
        let mut unasked = Vec::new();
        for one in missing {
            let Some(proposed) = portion.proposals.by_claim.get(one.key) else {
                unasked.push(one);
                continue;
            };
            match proposed.admit(plan.book()?, now) {
                Ok(allocation) => plan.create(&one, allocation, now),
                // Somebody has it by now.
                Err(_) if !portion.proposals.are_chained() => {
                    portion.proposals.by_claim.remove(one.key);
                    unasked.push(one);
                }
                Err(_) => {
                    portion.proposals = Proposals::of(state);
                    return self.lay_out(alone, portion, given, now);
                }
            }
        }
        let missing = Some((policy, unasked)).filter(|(_, unasked)| !unasked.is_empty());
        Ok(Layout { plan, missing })
    }

    /// Plans to make what is missing from what a delegate gave for it.
    pub(super) fn plan_delegated(
        &self,
        plan: &mut Plan,
        missing: &[Missing<'_>],
        policy: &dyn Policy,
        given: &ForClaims,
        now: Moment,
    ) -> Result<()> {
        for one in missing {
            let obtained = given.get(one.key).ok_or_else(|| changed(one.key))?;
            let claim = DelegatedClaim { key: one.key, wish: &one.ask.wish, policy };
            let book = Arc::clone(plan.book()?);
            plan.facts.extend(self.declared_delegated(&book, claim, obtained, one.made_at, now)?);
            plan.created.push(one.key.clone());
        }
        Ok(())
    }

    /// Compares what the agent has on a book with what it declares.
    pub(super) fn compare_claims<'a>(
        &self,
        book: Arc<Book>,
        portion: &Portion<'a>,
        now: Moment,
    ) -> Result<(Plan, Vec<Missing<'a>>)> {
        let mut plan = Plan::of(book);
        let reason = BY_AGENT.reason();
        for key in &portion.gone {
            plan.facts.extend(self.ending(&plan.draft, key, now, reason));
            plan.released.push((*key).clone());
        }
        let mut missing = Vec::new();
        for (key, ask) in &portion.wanted {
            match self.held(&plan.draft, key, &ask.wish, now) {
                Held::Agrees(fact) => {
                    plan.facts.extend(fact.map(Fact::from));
                    plan.kept.push((*key).clone());
                }
                Held::Nothing => missing.push(Missing { key, ask, made_at: now }),
                Held::Differs(_) => {
                    let made_at = self.core.committer.node().claims.get(key).map(|claim| claim.made_at);
                    plan.facts.extend(self.ending(&plan.draft, key, now, reason));
                    missing.push(Missing { key, ask, made_at: made_at.unwrap_or(now) });
                }
            }
        }
        Ok((plan, missing))
    }
}

/// The error for a network that got a delegate while a declaration was decided on.
pub(super) fn changed(key: &ClaimKey) -> Error {
    Error::new(ErrorCode::NotReady, format_args!("{key}: the network has just changed; ask again"))
}
