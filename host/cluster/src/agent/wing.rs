//! Leased blocks as a wing of the executor: intents to request a block, and to give one back.
//!
//! ```text
//!   request-block     a block's size is known ──▶ want, absolute and durable ──▶ the node's object says it ──▶ so many blocks are held: done
//!                                                                                                           └ nothing is short any more: undone
//!   give-back-block   of a plan: the block is offered, and nothing begins
//!                     for a mark: checked, frozen and recorded in one critical section ──▶ the lease is over: done, without its ranges
//!                                                                                        └ the mark was taken back: undone
//! ```
//!
//! The agent's loop speaks with the API server; the wing only waits for what comes of it.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use tenure_effects::budget::Jitter;
use tenure_effects::{End, Ids, PlanStatus, Step, Target, Wing};
use tenure_engine::ports::Outside;
use tenure_engine::{Outlook, Supply};
use tenure_leases::MarkId;
use tenure_ledger::{Book, Intent};
use tenure_types::{Attributes, EffectKind, InvalidAttributes, NetworkName, PoolName, agreed, hold};

use crate::agent::checks::{BlockChecks, OfferedBlocks};
use crate::agent::core::AgentCore;
use crate::agent::outlook::outlook;
use crate::agent::records::{MARK, mark_of};
use crate::agent::settings::{PoolFamily, cluster_pool};
use crate::agent::state::FrozenOutcome;
use crate::agent::usage::{free, labelled};

/// How often an intent looks whether it has come to its end.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The attribute by which a request says how many blocks the pool should have in all.
const WANT: &str = "want";

/// Leases blocks for one network.
pub struct ClusterWing {
    pub(crate) core: Arc<AgentCore>,
    pub(crate) network: NetworkName,
    /// Behind a `std::sync::Mutex`, held to draw a number.
    pub(crate) jitter: std::sync::Mutex<Jitter>,
}

/// An intent that is being carried out.
#[derive(Debug)]
pub enum BlockWork {
    /// A pool should have so many blocks in all.
    Request {
        /// The engine's pool.
        pool: PoolName,
        /// The addresses that are missing.
        addresses: u32,
        /// The number of blocks; `None` until it is known how many addresses a block has.
        want: Option<u32>,
    },
    /// A block is frozen for a mark.
    GiveBack {
        /// The block.
        cidr: IpNet,
        /// The mark that it began with.
        mark: MarkId,
    },
}

/// The wing never acts by itself.
#[derive(Debug)]
pub enum NoAction {}

impl fmt::Display for NoAction {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

/// The change that an intent made.
#[derive(Debug)]
pub enum BlockOutcome {
    /// The blocks came; their ranges are there.
    Came,
    /// The lease of a block is over.
    Returned(IpNet),
}

impl ClusterWing {
    /// The pool's free addresses, and what should be free.
    async fn is_short(&self, pool: &PoolName) -> bool {
        let Some(book) = self.core.book(&self.network).await else { return false };
        let blocks = labelled(&book).filter(|(of, ..)| of.name == *pool).map(|(.., cidr)| cidr);
        let blocks: std::collections::BTreeSet<IpNet> = blocks.collect();
        let free = blocks.into_iter().map(|cidr| free(&book, cidr)).fold(0, u32::saturating_add);
        let demands = self.core.engine.demands();
        let waiting =
            demands.iter().find(|demand| demand.network == self.network).map_or(0, |demand| demand.waiting);
        free < self.core.settings.preallocation.saturating_add(waiting)
    }

    /// The number of blocks that a pool should have so that so many more addresses come; `None` until the pool was read. Until then, one address
    /// might be a block, and a node that starts while the API server is slow would ask for one block for each address.
    fn want(&self, pool: &PoolName, addresses: u32) -> Option<u32> {
        let (name, family) = cluster_pool(pool)?;
        let prefix = *self.core.state().pools.get(name)?.units.get(&family)?;
        let longest = if family == PoolFamily::Ipv4 { 32 } else { 128 };
        let size = 1_u32.checked_shl(u32::from(longest - prefix.min(longest))).unwrap_or(u32::MAX);
        // Of a block's addresses, its network address, its gateway and its broadcast address are handed to nobody.
        let usable = size.saturating_sub(3).max(1);
        Some(self.core.counted(pool).saturating_add(addresses.div_ceil(usable).max(1)))
    }

    /// The next step of a request for blocks, of which so many are wanted.
    async fn next_of_request(&self, pool: &PoolName, want: u32) -> Step<NoAction, BlockOutcome> {
        // The want is durable now, so it may be said.
        let is_news = self.core.state().wants.insert(pool.clone(), want) != Some(want);
        if is_news {
            self.core.wake.notify_one();
        }
        match self.core.counted(pool) >= want {
            true => Step::Done(BlockOutcome::Came),
            false => self.waits_if_short(pool).await,
        }
    }

    /// Waits for blocks, unless nothing is short any more.
    async fn waits_if_short(&self, pool: &PoolName) -> Step<NoAction, BlockOutcome> {
        match self.is_short(pool).await {
            true => Step::Wait(LOOK_EVERY),
            false => Step::Undone("enough addresses are free by now".to_owned()),
        }
    }
}

impl Wing for ClusterWing {
    type Situation = OfferedBlocks;
    type Work = BlockWork;
    type Action = NoAction;
    type Change = BlockOutcome;

    fn start(&self, _: &Book) {}

    fn may_change(&self) -> bool {
        true
    }

    async fn look(&self) {
        self.core.wake.notify_one();
    }

    fn next_look(&self, last: Duration) -> Duration {
        last + Duration::from_secs(60)
    }

    fn readiness(&self) -> Result<(), String> {
        Ok(())
    }

    fn trouble(&self) -> Option<String> {
        let state = self.core.state();
        let own = |pool: &str| self.core.settings.network_of(pool) == Some(&self.network);
        let waits = || {
            let mut own = state.waiting().filter(|entry| own(&entry.pool));
            own.next().map(|entry| format!("{}: {}", entry.reason, entry.message))
        };
        state.trouble.clone().or_else(waits)
    }

    fn situation(&self, book: &Book) -> Result<(OfferedBlocks, Outlook), InvalidAttributes> {
        Ok((OfferedBlocks::default(), outlook(&self.core, book)?))
    }

    fn outside<'a>(&'a self, offered: &'a OfferedBlocks, ids: &'a dyn Ids) -> impl Outside + 'a {
        BlockChecks { core: &self.core, offered, ids }
    }

    fn planned(&self, offered: &OfferedBlocks, _: &PlanStatus) {
        self.core.state().offered.insert(self.network.clone(), offered.so_far());
        self.core.wake.notify_one();
    }

    fn target(&self, intent: &Intent, _: Option<&Book>) -> Target {
        let name = match intent.kind {
            EffectKind::GiveBackBlock => intent.attributes.get(agreed::BLOCK).map(str::to_owned),
            _ => Some(intent.pool.to_string()),
        };
        Target { name, shares: false }
    }

    async fn begin(&self, intent: &Intent, _: bool) -> Result<BlockWork, String> {
        match intent.kind {
            EffectKind::RequestBlock => {
                let pool = intent.pool.clone();
                let reached = intent.reached.get(WANT).and_then(|want| want.parse().ok());
                let addresses = intent.attributes.get("addresses").and_then(|count| count.parse().ok());
                let addresses = addresses.unwrap_or(1);
                let want = reached.or_else(|| self.want(&pool, addresses));
                let now = self.core.now();
                self.core.state().waits_since.entry(pool.clone()).or_insert(now);
                Ok(BlockWork::Request { pool, addresses, want })
            }
            EffectKind::GiveBackBlock => {
                let cidr = intent.attributes.get(agreed::BLOCK).and_then(|block| block.parse().ok());
                let (cidr, mark) = cidr.zip(mark_of(intent)).ok_or("it names no block and no mark")?;
                self.core.state().frozen.insert(cidr, mark);
                Ok(BlockWork::GiveBack { cidr, mark })
            }
            other => Err(format!("{} is not an effect on blocks", other.name())),
        }
    }

    fn reached(&self, work: &BlockWork) -> Result<Attributes, InvalidAttributes> {
        match work {
            BlockWork::Request { want, .. } => {
                Attributes::new(want.iter().map(|want| (WANT, want.to_string())))
            }
            BlockWork::GiveBack { cidr, mark } => {
                // An operator may give its mark another id; the agent then records that.
                let mark = self.core.state().frozen.get(cidr).copied().unwrap_or(*mark);
                Attributes::new([(MARK, mark.to_string())])
            }
        }
    }

    async fn next(&self, work: &mut BlockWork) -> Step<NoAction, BlockOutcome> {
        match work {
            BlockWork::Request { pool, addresses, want } => {
                if cluster_pool(pool).is_some_and(|(name, _)| self.core.is_for_claims(name)) {
                    return Step::Undone(
                        "the pool's addresses are for claims, and come with them".to_owned(),
                    );
                }
                if self.core.lacks_family(pool) {
                    return Step::Undone("the AddressPool has no addresses of this family".to_owned());
                }
                if let Some(want) = *want {
                    return self.next_of_request(pool, want).await;
                }
                *want = self.want(pool, *addresses);
                match want {
                    // It becomes durable before the next step.
                    Some(_) => Step::Wait(Duration::ZERO),
                    None => self.waits_if_short(pool).await,
                }
            }
            BlockWork::GiveBack { cidr, .. } => match self.core.state().outcomes.get(cidr) {
                Some(FrozenOutcome::Released) => Step::Done(BlockOutcome::Returned(*cidr)),
                Some(FrozenOutcome::Reopened) => Step::Undone("the operator took its mark back".to_owned()),
                None => Step::Wait(LOOK_EVERY),
            },
        }
    }

    fn waited(&self, _: &mut BlockWork) {}

    async fn prepare(&self, _: &mut BlockWork, action: &NoAction) -> Result<(), String> {
        match *action {}
    }

    async fn act(&self, _: &mut BlockWork, action: NoAction) {
        match action {}
    }

    fn changes(&self, _: &Intent, change: &BlockOutcome, book: &Book) -> Vec<Supply> {
        let BlockOutcome::Returned(cidr) = change else { return Vec::new() };
        let own = labelled(book).filter(|(.., of)| of == cidr);
        own.map(|(pool, view, _)| Supply::Withdraw {
            pool: pool.name.clone(),
            range: view.range.name().clone(),
        })
        .collect()
    }

    fn ending(&self, _: &Intent, _: &End<'_, Self>) {}

    fn ended(&self, intent: &Intent, is_done: bool) {
        let now = self.core.now();
        let mut state = self.core.state();
        match intent.attributes.get(agreed::BLOCK).and_then(|block| block.parse::<IpNet>().ok()) {
            Some(cidr) => {
                state.frozen.remove(&cidr);
                state.outcomes.remove(&cidr);
            }
            None => {
                state.wants.remove(&intent.pool);
                if let Some(since) = state.waits_since.remove(&intent.pool).filter(|_| is_done) {
                    state.slowest = state.slowest.max(now.saturating_sub(since));
                }
            }
        }
        drop(state);
        self.core.wake.notify_one();
    }

    fn jittered(&self, wait: Duration) -> Duration {
        hold(&self.jitter).around(wait)
    }
}
