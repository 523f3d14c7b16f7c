//! Comparing blocks of the ledger with the API server, by the table of `tenure_leases::agent::compare`.

use std::time::Duration;

use ipnet::IpNet;
use tenure_leases::agent::compare::{CompareVerdict, compare};
use tenure_leases::agent::ledger::{BlockUsage, LeaseHold, LedgerBlock};
use tenure_leases::{BlockPhase, FetchedBlock, HolderIdentity, IpBlock, LeaseRules, PoolKey};
use tenure_ledger::Book;
use tenure_types::{Attributes, agreed};

use crate::agent::accepting::AgentError;
use crate::agent::core::{AgentCore, internal};
use crate::agent::fetch::{self, BlockInTurn};
use crate::agent::records::{HeldLease, MARK};
use crate::agent::state::FrozenOutcome;
use crate::agent::usage::labelled;

/// The wait before a block is compared again that stayed as it is.
const COMPARE_AGAIN: Duration = Duration::from_secs(2);

/// The most doublings of that wait.
const MOST_DOUBLINGS: u32 = 5;

impl AgentCore {
    /// Compares a block with a quorum GET of its name, and does what follows.
    pub(crate) async fn compare(&self, me: &HolderIdentity, lease: &HeldLease) -> Result<(), AgentError> {
        let cidr = lease.cidr();
        let (fetched, is_over) = self.fetched(lease).await?;
        let book = self.book_of(&lease.pool.name).await;
        let row = self.row(lease, book.as_deref());
        // An address that the block may still give counts like one that is in use.
        let usage = match self.is_shut(lease, book.as_deref()) {
            true => row.usage,
            false => BlockUsage { under_way: row.usage.under_way.max(1), ..row.usage },
        };
        let row = LedgerBlock { usage, ..row };
        let intent = self.giving_back(cidr);
        let is_contested = row.hold == LeaseHold::Contested;
        let verdict = match is_over {
            true if is_contested => CompareVerdict::Keep,
            true => CompareVerdict::Contest,
            false => compare(LeaseRules::ALL, me, &row, &fetched),
        };
        let times = self.was_compared(cidr, verdict);
        let leased = |block: &IpBlock| block.uid == lease.uid && block.phase == BlockPhase::Leased;
        let is_held = |block: &IpBlock| !is_over && leased(block) && block.is_held_by(&me.name, me.machine);
        if let FetchedBlock::Found(block) = &fetched
            && is_held(block)
        {
            self.confirm(lease, &block.pool).await?;
        }
        match verdict {
            CompareVerdict::Keep => {}
            CompareVerdict::Reassert => self.reassert(lease, times),
            CompareVerdict::Open if intent.is_some() => self.ends(lease, FrozenOutcome::Reopened),
            CompareVerdict::Open => self.set_hold(lease, LeaseHold::Open).await?,
            CompareVerdict::Rebind(uid) => {
                tracing::warn!(block = %cidr, %uid, "the lease of a held block was made again");
                let pool = match fetched {
                    FetchedBlock::Found(block) => block.pool,
                    FetchedBlock::Missing | FetchedBlock::Unreachable => lease.pool.clone(),
                };
                self.rebind(&HeldLease { pool, ..lease.clone() }, uid).await?;
                self.state().unconfirmed.remove(&cidr);
            }
            CompareVerdict::Refreeze(mark) => match intent {
                Some(intent) => {
                    self.state().frozen.insert(cidr, mark);
                    let reached = Attributes::new([(MARK, mark.to_string())]).map_err(internal)?;
                    self.engine.effect_reached(&intent.id, reached).await?;
                }
                None => self.set_hold(lease, LeaseHold::Frozen(mark)).await?,
            },
            CompareVerdict::Contest => {
                match is_over {
                    true => {
                        tracing::warn!(block = %cidr, "this node's turn with the address of a claim is over: no further pod gets it here");
                    }
                    false => {
                        tracing::error!(block = %cidr, "the API server names another holder of a block that this node holds");
                    }
                }
                self.set_hold(lease, LeaseHold::Contested).await?;
            }
            CompareVerdict::Drop => {
                // Durable before the block is out of the ledger: a restored store may bring the lease back.
                self.bury(lease.uid).await?;
                self.state().unconfirmed.remove(&cidr);
                match intent {
                    Some(_) => self.ends(lease, FrozenOutcome::Released),
                    None => self.forget(&lease.name).await?,
                }
                match is_contested {
                    true => {
                        tracing::info!(block = %cidr, "dropped a block of which another node has the lease");
                    }
                    false => tracing::info!(block = %cidr, "gave a block back"),
                }
            }
        }
        Ok(())
    }

    /// Whether a block gives no address, and what is in it is known: all its ranges drain. Those of a network that is not defined yet are not known. The
    /// address of a claim is let go of by the table of its turns.
    fn is_shut(&self, lease: &HeldLease, book: Option<&Book>) -> bool {
        let drains = match book {
            Some(book) => labelled(book).all(|(_, view, of)| of != lease.cidr() || view.draining),
            None => self.settings.network_of(&lease.pool.name).is_none(),
        };
        drains && lease.turn.is_none()
    }

    /// A lease's block by a quorum GET, and whether it is a claim's and the node's turn with it is over: the node was fenced, it was rebooted and
    /// the turn was one of a virtual machine, which is gone, or the store was put back, and the address is another claim's. Pods keep the address for
    /// as long as they live, and no other gets it here.
    async fn fetched(&self, lease: &HeldLease) -> Result<(FetchedBlock, bool), AgentError> {
        let Some(turn) = &lease.turn else {
            let fetched = fetch::block(&self.client, &lease.name).await;
            return Ok((self.readable(fetched, FetchedBlock::Unreachable)?, false));
        };
        let fetched = fetch::block_in_turn(&self.client, &lease.name, turn.turn).await;
        let nothing = BlockInTurn { block: FetchedBlock::Unreachable, names_it: false, claim: None };
        let BlockInTurn { block: fetched, names_it, claim } = self.readable(fetched, nothing)?;
        let is_same = matches!(&fetched, FetchedBlock::Found(block) if block.uid == lease.uid);
        let has_no_machine = turn.guest.is_some() && self.state().unconfirmed.contains(&lease.cidr());
        let is_others = turn.uid.zip(claim).is_some_and(|(own, found)| own != found);
        let is_over = is_others || (is_same && (!names_it || has_no_machine));
        Ok((fetched, is_over && lease.hold != LeaseHold::Doubted))
    }

    /// Notes that a block of an earlier boot is still this node's, and of which pool it is: a version before kept the pool of a lease that was made again
    /// for another one.
    async fn confirm(&self, lease: &HeldLease, pool: &PoolKey) -> Result<(), AgentError> {
        if lease.pool != *pool || self.state().unconfirmed.contains(&lease.cidr()) {
            let boot = Some(self.settings.boot);
            self.record(&HeldLease { boot, pool: pool.clone(), ..lease.clone() }).await?;
            self.state().unconfirmed.remove(&lease.cidr());
        }
        Ok(())
    }

    /// Notes that a block was compared; returns how often before without a change. The next time comes later each time.
    fn was_compared(&self, cidr: IpNet, verdict: CompareVerdict) -> u32 {
        let now = self.now();
        let mut state = self.state();
        let before = state.compared.get(&cidr).map_or(0, |(_, times)| *times);
        if !matches!(verdict, CompareVerdict::Keep | CompareVerdict::Reassert) {
            state.compared.remove(&cidr);
            return before;
        }
        let wait = COMPARE_AGAIN.saturating_mul(1 << before.min(MOST_DOUBLINGS));
        state.compared.insert(cidr, (now.saturating_add(wait), before.saturating_add(1)));
        before
    }

    /// Says again that the node holds a block, unless its object says so.
    fn reassert(&self, lease: &HeldLease, times: u32) {
        if times == 0 {
            tracing::warn!(block = %lease.cidr(), "the API server has no IPBlock of a held block; the node goes on saying that it holds it");
        }
        let mut state = self.state();
        let uid = lease.uid.to_string();
        let name = lease.name.to_string();
        let says = |object: &crate::NodeIPAM| match lease.turn {
            None => object.spec.held.iter().any(|held| held.uid == uid),
            Some(_) => object.spec.claims.iter().any(|turn| turn.block == name),
        };
        if !state.object.as_deref().is_some_and(says) {
            state.written = None;
        }
    }

    /// Records how far a block may be used.
    pub(crate) async fn set_hold(&self, lease: &HeldLease, hold: LeaseHold) -> Result<(), AgentError> {
        if lease.hold != hold {
            // The record may name this boot and another pool by now.
            let recorded = self.leases().remove(&lease.cidr()).unwrap_or_else(|| lease.clone());
            self.record(&HeldLease { hold, ..recorded }).await?;
        }
        Ok(())
    }

    /// Tells the intent of a frozen block how it ends.
    fn ends(&self, lease: &HeldLease, outcome: FrozenOutcome) {
        self.state().outcomes.insert(lease.cidr(), outcome);
    }

    /// The attributes of an effect that gives a block back for a mark.
    pub(crate) fn give_back(
        lease: &HeldLease,
        mark: tenure_leases::MarkId,
    ) -> Result<Attributes, AgentError> {
        let facts = [(agreed::BLOCK, lease.cidr().to_string()), (MARK, mark.to_string())];
        Ok(Attributes::new(facts).map_err(internal)?)
    }
}
