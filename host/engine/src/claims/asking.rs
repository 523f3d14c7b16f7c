//! Deciding on a claim: the policy that serves the network proposes, the ledger disposes.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_ledger::{Book, ClaimFact, ClaimKey, PolicyState, Presence, StateFact, Violation, Wish};
use tenure_types::{
    Allocation, AssignedAddress, End, Error, ErrorCode, Moment, NetworkName, Outcome, PolicyStamp, Proposal,
    Request, RequestContext, Result, Sandbox,
};

use super::facts::claim;
use super::lacking::Offered;
use super::question::ClaimQuestion;
use super::{Agent, AgentClaims};
use crate::core::strikes::Requester;
use crate::network::slot::{Alone, no_book};
use crate::policy::states::kept;
use crate::ports::Policy;

/// A policy's proposal for a claim, and the question. The ledger has accepted it on the book that the policy saw.
pub(super) struct Proposed {
    pub(super) request: Request,
    pub(super) proposal: Proposal,
    pub(super) policy: Arc<PolicyStamp>,
    /// The pools that it has no address of because the claim can do without.
    pub(super) without: Vec<usize>,
}

impl Proposed {
    /// The allocation, if it fits a book.
    pub(super) fn admit(&self, book: &Book, now: Moment) -> Result<Allocation, Violation> {
        book.admit_without(&self.request, &self.proposal, &self.policy, now, &self.without)
    }
}

/// The difference between an existing claim and its agent's request.
pub(super) enum Held {
    /// The claim has no allocation.
    Nothing,
    /// The addresses agree; this fact, if any, records the rest.
    Agrees(Option<ClaimFact>),
    /// The addresses differ, for this reason.
    Differs(String),
}

impl AgentClaims {
    /// Compares what a claim holds with what its agent asks for.
    pub(super) fn held(&self, book: &Book, key: &ClaimKey, wish: &Wish, now: Moment) -> Held {
        let Some(held) = book.owned_by(&key.owner()) else { return Held::Nothing };
        let has = |wanted: &&IpAddr| held.addresses.iter().any(|address| address.ip() == **wanted);
        if let Some(other) = wish.addresses.iter().find(|wanted| !has(wanted)) {
            return Held::Differs(format!("{key} holds other addresses than {other}"));
        }
        if let Err(missing) = check_families(wish, &held.addresses) {
            return Held::Differs(format!("{key}: {missing}"));
        }
        let node = self.core.committer.node();
        let known = node.claims.get(key).filter(|claim| claim.generation == held.generation);
        Held::Agrees(match known {
            Some(claim) if claim.wish == *wish => match claim.presence {
                Presence::Here(_) => None,
                Presence::Reserved(_) => Some(ClaimFact::Confirmed { key: key.clone(), at: now }),
            },
            known => {
                let made_at = known.map_or(held.allocated_at, |claim| claim.made_at);
                Some(ClaimFact::Claimed(claim(key, wish, held, made_at, now)))
            }
        })
    }

    /// The policy that serves a network and the network's book, ready to decide on new claims or to plan.
    pub(crate) fn deciding(
        &self,
        alone: &Alone<'_>,
        name: &NetworkName,
        now: Moment,
    ) -> Result<(Arc<dyn Policy>, Arc<Book>)> {
        self.core.admits()?;
        self.imports.admits_beside_moves(alone.state().as_ref())?;
        self.core.check_within(alone, &self.core.bounds())?;
        let choice = self.core.committer.choice(name).ok_or_else(|| unknown(name))?;
        self.restore_claims(alone, name, now)?;
        let mut state = alone.state();
        let served = state.as_mut().ok_or_else(no_book)?;
        let policy = self.core.policy_of(served, &choice)?;
        served.policy = Some(Arc::clone(&policy));
        self.core.expire(served, now);
        Ok((policy, Arc::clone(&served.book)))
    }

    /// Has the policy propose addresses for a claim, and checks them against the book. Returns the fact of a new state, too,
    /// which is then the one to ask with next. The caller has the network's turn; the book may be a draft of its own.
    pub(super) async fn decide(
        &self,
        alone: &Alone<'_>,
        asked: &ClaimQuestion<'_>,
        remembered: &mut PolicyState,
    ) -> Result<(Allocation, Proposed, Option<StateFact>)> {
        let ClaimQuestion { policy, book, key, wish, now } = asked;
        let (policy, now, name) = (*policy, *now, &key.network);
        let taken = |wanted: &&IpAddr| book.holder(**wanted).is_some();
        if let Some(taken) = wish.addresses.iter().find(taken) {
            // Do not reveal the owner to other callers.
            let cause = format_args!("{taken} of network {name} has another owner");
            return Err(Error::new(ErrorCode::AddressUnavailable, cause));
        }
        let request = Request {
            network: name.clone(),
            owner: key.owner(),
            requested: wish.addresses.clone(),
            sandbox: Sandbox::default(),
            supply_full: self.demands.is_full(name),
            context: RequestContext {
                pools: self.core.kept_pools().others(book),
                ..RequestContext::default()
            },
            requested_at: now,
        };
        let began = self.core.ports.clock.monotonic();
        let state = || Arc::clone(&remembered.bytes);
        let requester = Requester::Agent(key.agent.clone());
        let question = || policy.propose(&request, Arc::clone(book), state());
        let outcome = self.core.ask_for(&requester, name, policy, question).await;
        let outcome = self.exchange.judged(alone, &request, Arc::clone(book), began, outcome).await;
        let Offered { outcome: Outcome { proposal, state }, without } = match outcome {
            // A supply that may grow is not waited for: nobody knows when it does, and the claim can do without it.
            Err(error) if matches!(error.code, ErrorCode::PoolExhausted | ErrorCode::NotYet) => {
                self.ask_without(&requester, &request, asked, state(), error).await?
            }
            outcome => Offered { outcome: outcome?, without: Vec::new() },
        };
        let proposed = Proposed { request, proposal, policy: Arc::clone(policy.stamp()), without };
        let allocation = proposed.admit(book, now).map_err(|violation| {
            // It may name the owners of other addresses.
            tracing::warn!(network = %name, policy = %policy.stamp(), %violation, "the ledger refused a proposal for a claim");
            let why = format_args!("made an invalid proposal for network {name}; the daemon's log has it");
            self.core.rejected(policy, violation.rule(), why)
        })?;
        check_families(wish, &allocation.addresses)
            .map_err(|missing| Error::new(ErrorCode::AddressUnavailable, format_args!("{key}: {missing}")))?;
        let kept = kept(name, remembered, state, now);
        if let Some(StateFact::Kept { state, .. }) = &kept {
            remembered.clone_from(state);
        }
        Ok((allocation, proposed, kept))
    }
}

/// The reason of the release of a claim by its agent.
pub(super) const BY_AGENT: End = End::Agent;

/// Refuses to let an agent have more claims than it may. One that has more already, because it may have fewer than before, gets
/// no further one, and keeps, confirms and releases those that it has.
pub(super) fn check_number(agent: &Agent, number: usize) -> Result<()> {
    if number <= agent.most {
        return Ok(());
    }
    let Agent { name, most, .. } = agent;
    let cause = format_args!("agents.{name}.claims allows {most} claims, and this would be {number}");
    Err(Error::new(ErrorCode::ClaimDenied, cause))
}

/// The error for a network that does not exist yet.
pub(super) fn unknown(name: &NetworkName) -> Error {
    Error::new(ErrorCode::UnknownNetwork, format_args!("network {name} does not exist yet"))
}

pub(crate) fn check_families(wish: &Wish, addresses: &[AssignedAddress]) -> Result<(), &'static str> {
    let has = |is_wanted: bool, is_of: fn(&IpAddr) -> bool| {
        !is_wanted || addresses.iter().any(|address| is_of(&address.ip()))
    };
    match wish.families {
        families if !has(families.ipv4, IpAddr::is_ipv4) => Err("the network gave it no IPv4 address"),
        families if !has(families.ipv6, IpAddr::is_ipv6) => Err("the network gave it no IPv6 address"),
        _ => Ok(()),
    }
}
