//! Requests that found nothing and wait for their network's supply.
//!
//! A waiting request holds no turn, neither its attachment's nor its network's, and no place: it is counted, and tries again once the
//! supply of its network has changed. Its caller's deadline ends the wait. Nobody waits for a network that no executor attends to, and
//! what happens to one network wakes nobody who waits for another. The maps are behind a `std::sync::Mutex`, held to count.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use tenure_types::{Error, ErrorCode, NetworkName, Pool, PoolName, Result, Supply};
use tokio::sync::watch;

use crate::lock::hold;

/// The most requests that wait for a network's supply at once; any further one is refused at once.
const MOST: u32 = 4_096;

/// The requests that wait for supply.
#[derive(Default)]
pub(crate) struct Demands {
    /// The networks that an executor attends to, or has attended to.
    attended: Mutex<BTreeMap<NetworkName, Attended>>,
    /// Networks whose last plan did not reach its target, with the reason.
    lacks: Mutex<BTreeMap<NetworkName, Error>>,
    /// Pools for which the supplier has nothing, by network.
    unsupplied: Mutex<BTreeMap<NetworkName, BTreeSet<PoolName>>>,
}

/// The requests that wait for a network's supply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    /// The network.
    pub network: NetworkName,
    /// How many.
    pub waiting: u32,
}

/// A network that an executor attends to, or has attended to.
struct Attended {
    /// How many executors carry out its effects; while none does, nobody waits.
    executors: usize,
    waiting: u32,
    /// Why the last request found nothing; meaningless while none waits.
    why: Option<Error>,
    /// Counts the requests that began to wait.
    arrived: watch::Sender<u64>,
    /// Counts the changes of the supply, from 1: as long as nobody has attended to a network, its count is 0.
    supplied: watch::Sender<u64>,
}

/// An executor's attention to one network: requests wait for its supply until this is dropped.
pub struct Attending {
    demands: Arc<Demands>,
    network: NetworkName,
    arrived: watch::Receiver<u64>,
}

/// A request that waits, until this is dropped.
struct Waiting<'a> {
    demands: &'a Demands,
    network: &'a NetworkName,
}

impl Default for Attended {
    fn default() -> Self {
        Self {
            executors: 0,
            waiting: 0,
            why: None,
            arrived: watch::Sender::new(0),
            supplied: watch::Sender::new(1),
        }
    }
}

impl Demands {
    /// The count of a network's supply; to be taken before a request looks for an address.
    pub(crate) fn seen(&self, network: &NetworkName) -> u64 {
        hold(&self.attended).get(network).map_or(0, |attended| *attended.supplied.borrow())
    }

    /// The supply of a network has changed.
    pub(crate) fn supplied(&self, network: &NetworkName) {
        if let Some(attended) = hold(&self.attended).get(network) {
            attended.supplied.send_modify(|count| *count += 1);
        }
    }

    /// Whether an executor attends to a network, so that its supply is waited for.
    pub(crate) fn is_attended(&self, network: &NetworkName) -> bool {
        hold(&self.attended).get(network).is_some_and(|attended| attended.executors > 0)
    }

    /// Whether the last plan found that nothing can be added to a network's supply.
    pub(crate) fn is_full(&self, network: &NetworkName) -> bool {
        hold(&self.lacks).get(network).is_some_and(is_full)
    }

    /// Notes what the last plan found lacking. Requests that wait look again when a supply becomes full, and are refused for good.
    pub(crate) fn found(&self, network: &NetworkName, lack: Option<&Error>) {
        let before = {
            let mut lacks = hold(&self.lacks);
            match lack {
                Some(lack) => lacks.insert(network.clone(), lack.clone()),
                None => lacks.remove(network),
            }
        };
        if lack.is_some_and(is_full) && !before.as_ref().is_some_and(is_full) {
            self.supplied(network);
        }
    }

    /// Notes the pools of a network for which its supplier has nothing.
    pub(crate) fn supplies_none(&self, network: &NetworkName, pools: BTreeSet<PoolName>) {
        hold(&self.unsupplied).insert(network.clone(), pools);
    }

    /// Whether a network's supplier has nothing for a pool.
    pub(crate) fn is_unsupplied(&self, network: &NetworkName, pool: &Pool) -> bool {
        let unsupplied = hold(&self.unsupplied);
        let known = unsupplied.get(network).is_some_and(|pools| pools.contains(&pool.name));
        known && pool.supply == Supply::Host
    }

    /// The requests that wait for a network's supply.
    pub(crate) fn of(&self, network: &NetworkName) -> u32 {
        hold(&self.attended).get(network).map_or(0, |attended| attended.waiting)
    }

    /// Why requests wait for a network's supply, if any does: the refusal of the last of them, and what the last plan lacked.
    pub(crate) fn why(&self, network: &NetworkName) -> Option<Error> {
        let refusal = {
            let attended = hold(&self.attended);
            let waited_for = attended.get(network).filter(|attended| attended.waiting > 0);
            waited_for?.why.clone()?
        };
        let cause = match hold(&self.lacks).get(network) {
            Some(lack) => format!("{}; {}", refusal.cause, lack.cause),
            None => refusal.cause,
        };
        Some(Error::new(refusal.code, cause))
    }

    /// Returns what the last plan for a network lacked.
    pub(crate) fn lack(&self, network: &NetworkName) -> Option<Error> {
        hold(&self.lacks).get(network).cloned()
    }

    /// The refusal of a request on a network that an executor attends to, or has attended to: with what the last plan lacked, and the way
    /// out, which is not another range.
    pub(crate) fn told(&self, network: &NetworkName, refusal: Error) -> Error {
        if refusal.code != ErrorCode::PoolExhausted || !hold(&self.attended).contains_key(network) {
            return refusal;
        }
        let refusal = match self.lack(network) {
            Some(lack) => Error { cause: format!("{}; {}", refusal.cause, lack.cause), ..refusal },
            None => refusal,
        };
        refusal.to_be_solved_by(ErrorCode::SUPPLY_STEP)
    }

    /// The requests that wait, by network.
    pub(crate) fn all(&self) -> Vec<Demand> {
        let attended = hold(&self.attended);
        let waited_for = attended.iter().filter(|(_, attended)| attended.waiting > 0);
        waited_for
            .map(|(network, attended)| Demand { network: network.clone(), waiting: attended.waiting })
            .collect()
    }

    /// Waits until a network's supply is other than was seen.
    ///
    /// # Errors
    /// The error itself if no executor attends to the network, or if too many wait already.
    pub(crate) async fn wait(&self, network: &NetworkName, seen: u64, error: Error) -> Result<()> {
        let Some((_waiting, mut supplied)) = self.enter(network, &error) else { return Err(error) };
        supplied.wait_for(|count| *count != seen).await.map_err(|_| error)?;
        Ok(())
    }

    fn enter<'a>(
        &'a self,
        network: &'a NetworkName,
        why: &Error,
    ) -> Option<(Waiting<'a>, watch::Receiver<u64>)> {
        let mut attended = hold(&self.attended);
        let attended = attended.get_mut(network)?;
        if attended.executors == 0 || attended.waiting >= MOST {
            return None;
        }
        attended.waiting += 1;
        attended.why = Some(why.clone());
        attended.arrived.send_modify(|count| *count += 1);
        Some((Waiting { demands: self, network }, attended.supplied.subscribe()))
    }
}

fn is_full(lack: &Error) -> bool {
    lack.code == ErrorCode::PoolExhausted
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(attended) = hold(&self.demands.attended).get_mut(self.network) {
            attended.waiting = attended.waiting.saturating_sub(1);
        }
    }
}

impl Attending {
    /// Begins to attend to a network.
    pub(crate) fn new(demands: &Arc<Demands>, network: &NetworkName) -> Self {
        let mut all = hold(&demands.attended);
        let attended = all.entry(network.clone()).or_default();
        attended.executors += 1;
        let mut arrived = attended.arrived.subscribe();
        if attended.waiting > 0 {
            // They wait for another executor; this one may serve them as well.
            arrived.mark_changed();
        }
        Self { demands: Arc::clone(demands), network: network.clone(), arrived }
    }

    /// Waits until a request begins to wait for the network's supply. One call stands for each that began since the last.
    pub async fn demanded(&mut self) {
        if self.arrived.changed().await.is_err() {
            // The sender lives as long as `demands`, which this holds.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Attending {
    fn drop(&mut self) {
        if let Some(attended) = hold(&self.demands.attended).get_mut(&self.network) {
            attended.executors = attended.executors.saturating_sub(1);
        }
        // Requests that wait look again, and are refused unless another executor attends.
        self.demands.supplied(&self.network);
    }
}
