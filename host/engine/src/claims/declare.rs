//! An agent's whole set of claims, declared at once: what is missing is made, what is no longer declared is released. Either all of it
//! becomes durable or none, unless it is more than [`MOST_AT_ONCE`] changes: then it is decided on as a whole and carried out in pieces.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure_ledger::{ClaimKey, Presence};
use tenure_types::{Error, ErrorCode, Moment, NetworkName, Result};

use super::asking::{Held, check_number, unknown};
use super::delegated::ForClaims;
use super::gradual::CarriedOut;
use super::pieces::MOST_IN_A_PIECE;
use super::plan::{Plan, Portion, Proposals};
use super::view::{Claimed, after, shown};
use super::{Agent, AgentClaims, Ask};
use crate::give_way::give_way;
use crate::network::networks::Entered;
use crate::network::slot::{Alone, no_book};
use crate::ports::Ticket;

/// How often the policies are asked for what no longer fits.
const MOST_ROUNDS: usize = 16;

/// The most changes that are carried out at once.
const MOST_AT_ONCE: usize = MOST_IN_A_PIECE;

/// The effect of a declaration, or of its dry run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Declared {
    /// The claims that were made, or made again with other addresses.
    pub created: Vec<Claimed>,
    /// The claims that were there and stay.
    pub kept: Vec<Claimed>,
    /// The claims that were released because they are no longer declared.
    pub released: Vec<ClaimKey>,
}

/// The claims that a declaration is about.
#[derive(Default)]
struct Own {
    known: BTreeSet<ClaimKey>,
    /// How many claims of the agent other scopes have.
    elsewhere: usize,
    /// How many claims begin, end or change.
    changes: usize,
}

impl AgentClaims {
    /// Serves [`Engine::declare`](crate::Engine::declare).
    pub(crate) async fn declare(&self, agent: &Agent, asks: &[Ask], apply: bool) -> Result<Declared> {
        let _asking = apply.then(|| self.asking_for(agent, asks));
        self.core.has_state()?;
        self.restore_claims_of(&agent.name).await?;
        let Some(network) = asks.first().map(|ask| ask.network.clone()).or_else(|| self.first_of(agent))
        else {
            if apply {
                let _turn = self.core.turns.enter(&agent.name).await?;
                self.give_up_where(|key, claim| agent.has(key, claim)).await?;
            }
            // What ended the agent's last claim may not be durable yet.
            self.core.ports.journal.barrier().durable().await?;
            return Ok(Declared::default());
        };
        self.core.observed("declare", &network, None, self.serve_declare(agent, asks, apply)).await
    }

    fn first_of(&self, agent: &Agent) -> Option<NetworkName> {
        self.core.committer.node().claims.of(&agent.name).next().map(|claim| claim.key.network.clone())
    }

    async fn serve_declare(&self, agent: &Agent, asks: &[Ask], apply: bool) -> Result<Declared> {
        let wanted = by_key(agent, asks)?;
        let _turn = self.core.turns.enter(&agent.name).await?;
        give_way().await;
        wanted.keys().try_for_each(|key| self.check_scope(agent, key))?;
        let Own { known, elsewhere, changes } = self.own(agent, &wanted);
        if wanted.keys().any(|key| !known.contains(key)) {
            check_number(agent, wanted.len() + elsewhere)?;
        }
        let names: BTreeSet<&NetworkName> =
            known.iter().chain(wanted.keys()).map(|key| &key.network).collect();
        let (mut slots, mut portions) = (Vec::new(), Vec::new());
        for network in names {
            slots.push(self.core.networks.known(network).ok_or_else(|| unknown(network))?);
            let of = |key: &&ClaimKey| key.network == *network;
            let gone = known.iter().filter(of).filter(|key| !wanted.contains_key(*key)).collect();
            let wanted = wanted.iter().filter(|(key, _)| of(key)).map(|(key, ask)| (key, *ask)).collect();
            portions.push(Portion { network, gone, wanted, proposals: Proposals::default() });
        }
        give_way().await;
        let given = self.given_for(&wanted, &slots, apply).await?;
        let declared = match apply {
            false => self.would_declare(&slots, &mut portions, &given).await?,
            true if changes > MOST_AT_ONCE => self.settle_gradually(&slots, &mut portions, &given).await?,
            true => {
                let (declared, ticket) = self.settle_on(&slots, &mut portions, &given).await?;
                ticket.durable().await?;
                declared
            }
        };
        drop(given);
        give_way().await;
        if apply {
            self.give_up_where(|key, claim| agent.has(key, claim) && !wanted.contains_key(key)).await?;
            for key in &declared.released {
                self.delegates.settle_quietly(&key.network, &key.owner()).await;
            }
        }
        Ok(declared)
    }

    /// The claims that a declaration of an agent concerns: those of its scope, and those that it takes over.
    fn own(&self, agent: &Agent, wanted: &BTreeMap<ClaimKey, &Ask>) -> Own {
        let node = self.core.committer.node();
        let mut own = Own::default();
        for claim in node.claims.of(&agent.name) {
            let ask = wanted.get(&claim.key);
            if claim.wish.claimant.scope == agent.scope || ask.is_some() {
                own.known.insert(claim.key.clone());
            } else {
                own.elsewhere += 1;
            }
            let stays =
                ask.is_some_and(|ask| ask.wish == claim.wish && matches!(claim.presence, Presence::Here(_)));
            own.changes += usize::from(!stays && (ask.is_some() || claim.wish.claimant.scope == agent.scope));
        }
        own.changes += wanted.keys().filter(|key| !own.known.contains(*key)).count();
        own
    }

    /// Says what a declaration would do.
    async fn would_declare(
        &self,
        slots: &[Entered<'_>],
        portions: &mut [Portion<'_>],
        given: &ForClaims,
    ) -> Result<Declared> {
        let mut plans = Vec::new();
        for (slot, portion) in slots.iter().zip(portions) {
            plans.push(self.foresee_claims(slot, portion, given).await?);
        }
        self.core.ports.journal.barrier().durable().await?;
        self.would_do(plans, self.core.now())
    }

    /// Carries many changes out, some at a time, unless it is foreseen that one is refused; durable when this returns.
    async fn settle_gradually(
        &self,
        slots: &[Entered<'_>],
        portions: &mut [Portion<'_>],
        given: &ForClaims,
    ) -> Result<Declared> {
        for (slot, portion) in slots.iter().zip(portions.iter_mut()) {
            self.foresee_claims(slot, portion, given).await?;
        }
        let mut done = CarriedOut::default();
        for (slot, portion) in slots.iter().zip(portions) {
            self.carry_out_gradually(slot, portion, given, &mut done).await?;
        }
        done.durable().await?;
        Ok(self.declared(done))
    }

    /// Has the policies propose what is missing until all of it fits, and carries it out.
    async fn settle_on(
        &self,
        slots: &[Entered<'_>],
        portions: &mut [Portion<'_>],
        given: &ForClaims,
    ) -> Result<(Declared, Ticket)> {
        for _ in 0..MOST_ROUNDS {
            let Some((turns, mut plans)) = self.agree(slots, portions, given).await? else { continue };
            let ticket = self.carry_out(turns, portions, &mut plans)?;
            return Ok((self.done(plans), ticket));
        }
        let cause = "the declaration's networks change faster than it can be decided on; ask again";
        Err(Error::new(ErrorCode::NotReady, cause))
    }

    /// Asks delegates for the addresses of the claims that are missing on their networks. They are asked before the networks' turns are
    /// taken, because they may be slow; what is not used in the end is given back.
    async fn given_for(
        &self,
        wanted: &BTreeMap<ClaimKey, &Ask>,
        slots: &[Entered<'_>],
        apply: bool,
    ) -> Result<ForClaims> {
        let mut given = ForClaims::new();
        for (key, ask) in wanted {
            let slot = slots.iter().find(|slot| *slot.name() == key.network);
            let (Some(slot), Some(delegate)) = (slot, self.core.delegate_of(&key.network)) else { continue };
            let book = slot.state().as_ref().map(|served| Arc::clone(&served.book));
            let book = book.ok_or_else(|| unknown(&key.network))?;
            match self.held(&book, key, &ask.wish, self.core.now()) {
                Held::Agrees(_) => {}
                Held::Differs(cause) => return Err(Error::new(ErrorCode::ClaimDiffers, cause)),
                Held::Nothing if !apply => {
                    let cause = format_args!("{key}: a delegate does not support dry runs");
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

    /// Stages and applies the facts of all networks in one group.
    fn carry_out(
        &self,
        turns: Vec<Alone<'_>>,
        portions: &[Portion<'_>],
        plans: &mut [Plan],
    ) -> Result<Ticket> {
        let (now, mut facts) = (self.core.now(), Vec::new());
        for (portion, plan) in portions.iter().zip(plans) {
            facts.append(&mut plan.take_facts());
            facts.extend(portion.proposals.kept(portion.network, now));
        }
        if facts.is_empty() {
            return Ok(self.core.ports.journal.barrier());
        }
        // Whoever holds the states of several networks has this.
        let _defining = self.core.defining();
        let mut states: Vec<_> = turns.into_iter().map(Alone::hold).collect();
        let mut books = BTreeMap::new();
        for (portion, state) in portions.iter().zip(&mut states) {
            books.insert(portion.network.clone(), &mut state.as_mut().ok_or_else(no_book)?.book);
        }
        let ticket = self.core.committer.commit_across(&mut books, &facts)?;
        // In the turns: a claim of the same name that is made next has been heard of.
        let gone = portions.iter().flat_map(|portion| &portion.gone);
        gone.for_each(|key| self.heard.forget(key));
        Ok(ticket)
    }

    fn done(&self, plans: Vec<Plan>) -> Declared {
        let mut done = CarriedOut::default();
        for plan in plans {
            done.created.extend(plan.created);
            done.kept.extend(plan.kept);
            done.released.extend(plan.released);
        }
        self.declared(done)
    }

    fn declared(&self, done: CarriedOut) -> Declared {
        let claimed = |keys: Vec<ClaimKey>| keys.iter().filter_map(|key| self.claimed(key)).collect();
        let CarriedOut { created, kept, released, .. } = done;
        Declared { created: claimed(created), kept: claimed(kept), released }
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
