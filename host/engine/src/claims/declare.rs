//! An agent's whole set of claims, declared at once: what is missing is made, what is no longer declared is released, and
//! either all of it becomes durable or none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure_ledger::{Book, Claim, ClaimFact, ClaimKey, Fact};
use tenure_types::{Error, ErrorCode, Moment, NetworkName, Result};

use super::asking::{BY_AGENT, Held, beginning, check_number, unknown};
use super::view::{after, shown};
use super::{Agent, Ask, Claimed};
use crate::committer::defect;
use crate::delegates::ForClaims;
use crate::engine::Engine;
use crate::networks::Entered;
use crate::pipeline::no_book;
use crate::slot::Alone;

/// What a declaration has done, or would do.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Declared {
    /// The claims that were made, or made anew with other addresses.
    pub created: Vec<Claimed>,
    /// The claims that were there and stay.
    pub kept: Vec<Claimed>,
    /// The claims that were released because they are no longer declared.
    pub released: Vec<ClaimKey>,
}

/// What a declaration does on one network.
struct Plan {
    /// The book with the facts applied, as far as a policy has to see them.
    draft: Arc<Book>,
    facts: Vec<Fact>,
    /// How many of the facts the draft has.
    drafted: usize,
    created: Vec<ClaimKey>,
    kept: Vec<ClaimKey>,
    released: Vec<ClaimKey>,
}

impl Plan {
    fn of(draft: Arc<Book>) -> Self {
        let (created, kept, released) = (Vec::new(), Vec::new(), Vec::new());
        Self { draft, facts: Vec::new(), drafted: 0, created, kept, released }
    }

    /// The book as it is after all facts. Copies it if there are any.
    fn book(&mut self) -> Result<&Arc<Book>> {
        for fact in self.facts.iter().skip(self.drafted) {
            if let Fact::Ledger(fact) = fact {
                let draft = Arc::make_mut(&mut self.draft);
                draft.apply(draft.through() + 1, fact).map_err(defect)?;
            }
        }
        self.drafted = self.facts.len();
        Ok(&self.draft)
    }

    /// The claim that a fact of this plan makes.
    fn made(&self, key: &ClaimKey) -> Option<Claim> {
        self.facts.iter().rev().find_map(|fact| match fact {
            Fact::Claims(ClaimFact::Claimed(claim)) if claim.key == *key => Some(claim.clone()),
            _ => None,
        })
    }
}

impl Engine {
    /// Brings an agent's claims in line with its declaration; durable when this returns. Without `apply`, only says what
    /// it would do.
    ///
    /// A declaration over several networks has the turns of all of them while their policies are asked.
    ///
    /// # Errors
    /// As [`ensure`](Self::ensure), except that a claim which holds other addresses is made anew; then nothing is changed.
    pub async fn declare(&self, agent: &Agent, asks: &[Ask], apply: bool) -> Result<Declared> {
        self.has_state()?;
        self.restore_claims_of(&agent.name).await?;
        let Some(network) = asks.first().map(|ask| ask.network.clone()).or_else(|| self.first_of(agent))
        else {
            if apply {
                self.witnessed.retain(|key| key.agent != agent.name);
            }
            // What ended the agent's last claim may not be durable yet.
            self.ports.journal.barrier().durable().await?;
            return Ok(Declared::default());
        };
        self.observed("declare", &network, None, self.serve_declare(agent, asks, apply)).await
    }

    fn first_of(&self, agent: &Agent) -> Option<NetworkName> {
        self.committer.node().claims.of(&agent.name).next().map(|claim| claim.key.network.clone())
    }

    async fn serve_declare(&self, agent: &Agent, asks: &[Ask], apply: bool) -> Result<Declared> {
        let wanted = by_key(agent, asks)?;
        check_number(agent, wanted.len())?;
        let _turn = self.turns.enter(&agent.name).await?;
        let known: BTreeSet<ClaimKey> =
            self.committer.node().claims.of(&agent.name).map(|claim| claim.key.clone()).collect();
        let names: BTreeSet<&NetworkName> =
            known.iter().chain(wanted.keys()).map(|key| &key.network).collect();
        let mut slots = Vec::new();
        for name in names {
            slots.push((name, self.networks.known(name).ok_or_else(|| unknown(name))?));
        }
        let given = self.given_for(&wanted, &slots, apply).await?;
        // In the order of their names, so that no two declarations wait for each other.
        let (mut alones, mut plans) = (Vec::new(), Vec::new());
        for (name, slot) in &slots {
            alones.push((*name, slot.alone().await));
        }
        let now = self.now();
        for (name, alone) in &alones {
            let of = |key: &&ClaimKey| key.network == **name;
            let gone: Vec<_> = known.iter().filter(of).filter(|key| !wanted.contains_key(*key)).collect();
            let wanted: Vec<_> =
                wanted.iter().filter(|(key, _)| of(key)).map(|(key, ask)| (key, *ask)).collect();
            plans.push(self.plan(alone, name, &gone, (&wanted, &given), now).await?);
        }
        let (declared, ticket) = match apply {
            false => (self.would_do(plans, now)?, self.ports.journal.barrier()),
            true => {
                let ticket = self.carry_out(alones, &mut plans)?;
                (self.done(plans), ticket)
            }
        };
        ticket.durable().await?;
        drop(given);
        if apply {
            self.witnessed.retain(|key| key.agent != agent.name || wanted.contains_key(key));
            let is_heard = || {
                let now = self.now();
                wanted.keys().for_each(|key| self.heard.asked(key, now));
            };
            // The turns and the disk may have taken a while.
            is_heard();
            declared.released.iter().for_each(|key| self.heard.forget(key));
            for key in &declared.released {
                self.settle_quietly(&key.network, &key.owner()).await;
            }
            // And so may delegates, for whom not every caller waits.
            is_heard();
        }
        Ok(declared)
    }

    /// What delegates give for the claims that are missing on their networks. They are asked before the networks' turns are
    /// taken, because they may be slow; what is not used in the end is given back.
    async fn given_for(
        &self,
        wanted: &BTreeMap<ClaimKey, &Ask>,
        slots: &[(&NetworkName, Entered<'_>)],
        apply: bool,
    ) -> Result<ForClaims> {
        let mut given = ForClaims::new();
        for (key, ask) in wanted {
            let slot = slots.iter().find(|(name, _)| **name == key.network).map(|(_, slot)| slot);
            let (Some(slot), Some(delegate)) = (slot, self.delegate_of(&key.network)) else { continue };
            let book = slot.state().as_ref().map(|served| Arc::clone(&served.book));
            let book = book.ok_or_else(|| unknown(&key.network))?;
            match self.held(&book, key, &ask.wish, self.now()) {
                Held::Agrees(_) => {}
                Held::Differs(cause) => return Err(Error::new(ErrorCode::ClaimDiffers, cause)),
                Held::Nothing if !apply => {
                    let cause = format_args!("{key}: a delegate cannot be asked without effect");
                    return Err(Error::new(ErrorCode::ClaimInvalid, cause));
                }
                Held::Nothing => {
                    drop(book);
                    given.insert(key.clone(), self.obtain_claim(slot, key, &ask.wish, delegate).await?);
                }
            }
        }
        Ok(given)
    }

    /// Decides what is done on one network.
    async fn plan(
        &self,
        alone: &Alone<'_>,
        name: &NetworkName,
        gone: &[&ClaimKey],
        (wanted, given): (&[(&ClaimKey, &Ask)], &ForClaims),
        now: Moment,
    ) -> Result<Plan> {
        let book = alone.state().as_ref().map(|served| Arc::clone(&served.book));
        let mut plan = Plan::of(book.ok_or_else(|| unknown(name))?);
        let reason = BY_AGENT.reason();
        for key in gone {
            plan.facts.extend(self.ending(&plan.draft, key, now, reason));
            plan.released.push((*key).clone());
        }
        let mut missing = Vec::new();
        for (key, ask) in wanted {
            match self.held(&plan.draft, key, &ask.wish, now) {
                Held::Agrees(fact) => {
                    plan.facts.extend(fact.map(Fact::from));
                    plan.kept.push((*key).clone());
                }
                Held::Nothing => missing.push((*key, *ask, now)),
                Held::Differs(_) => {
                    let made_at = self.committer.node().claims.get(key).map(|claim| claim.made_at);
                    plan.facts.extend(self.ending(&plan.draft, key, now, reason));
                    missing.push((*key, *ask, made_at.unwrap_or(now)));
                }
            }
        }
        if missing.is_empty() {
            return Ok(plan);
        }
        // The cooldowns that are over have to show in the draft.
        let (policy, book) = self.deciding(alone, name, now)?;
        plan.draft = book;
        let mut remembered = self.remembered(name, policy.as_ref());
        for (key, ask, made_at) in missing {
            if policy.delegate().is_some() {
                let obtained = given.get(key).ok_or_else(|| changed(key))?;
                let (book, wanted) = (Arc::clone(plan.book()?), (key, &ask.wish));
                let at = (made_at, now);
                plan.facts.extend(self.declared_delegated(&book, wanted, obtained, policy.as_ref(), at)?);
                plan.created.push(key.clone());
                continue;
            }
            let book = Arc::clone(plan.book()?);
            let (policy, state) = (policy.as_ref(), (&mut remembered, now));
            let (decided, kept) = self.decide(alone, (policy, book), key, &ask.wish, state).await?;
            plan.facts.extend(beginning(key, &ask.wish, decided, made_at, now));
            plan.facts.extend(kept.map(Fact::from));
            plan.created.push(key.clone());
        }
        Ok(plan)
    }

    /// Stages and applies the facts of all networks in one group.
    fn carry_out(
        &self,
        alones: Vec<(&NetworkName, Alone<'_>)>,
        plans: &mut [Plan],
    ) -> Result<crate::ports::Ticket> {
        // The drafts share the books; without them, a change copies nothing.
        let mut facts = Vec::new();
        for plan in plans.iter_mut() {
            plan.draft = Arc::new(Book::empty(plan.draft.name()));
            facts.append(&mut plan.facts);
        }
        if facts.is_empty() {
            return Ok(self.ports.journal.barrier());
        }
        // Whoever holds the states of several networks has this.
        let _defining = self.defining();
        let mut states: Vec<_> = alones.into_iter().map(|(name, alone)| (name, alone.hold())).collect();
        let mut books = BTreeMap::new();
        for (name, state) in &mut states {
            books.insert((*name).clone(), &mut state.as_mut().ok_or_else(no_book)?.book);
        }
        self.committer.commit_across(&mut books, &facts)
    }

    fn done(&self, plans: Vec<Plan>) -> Declared {
        let mut declared = Declared::default();
        for plan in plans {
            declared.created.extend(plan.created.iter().filter_map(|key| self.claimed(key)));
            declared.kept.extend(plan.kept.iter().filter_map(|key| self.claimed(key)));
            declared.released.extend(plan.released);
        }
        declared
    }

    fn would_do(&self, plans: Vec<Plan>, now: Moment) -> Result<Declared> {
        let mut declared = Declared::default();
        for mut plan in plans {
            let book = Arc::clone(plan.book()?);
            for key in &plan.created {
                let (claim, held) = (plan.made(key), book.owned_by(&key.owner()));
                declared.created.extend(claim.zip(held).map(|(claim, held)| {
                    let lapses_at = claim.wish.lease.map(|lease| after(now, lease));
                    shown(&book, claim, held, lapses_at)
                }));
            }
            declared.kept.extend(plan.kept.iter().filter_map(|key| self.claimed(key)));
            declared.released.extend(plan.released);
        }
        Ok(declared)
    }
}

/// The error for a network that got a delegate while a declaration was decided on.
fn changed(key: &ClaimKey) -> Error {
    Error::new(ErrorCode::NotReady, format_args!("{key}: the network has just changed; ask again"))
}

/// The claims by key; each may be declared once.
fn by_key<'a>(agent: &Agent, asks: &'a [Ask]) -> Result<BTreeMap<ClaimKey, &'a Ask>> {
    let mut wanted = BTreeMap::new();
    for ask in asks {
        let key = ask.key(&agent.name);
        if let Some(twice) = wanted.insert(key, ask) {
            let cause = format_args!("claim {} on network {} is declared twice", twice.name, twice.network);
            return Err(Error::new(ErrorCode::ClaimInvalid, cause));
        }
    }
    Ok(wanted)
}
