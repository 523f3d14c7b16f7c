//! Blocks of which nothing could be used, and that were given back at once: the node asks for no other one for a while.
//!
//! The operator does not know what a node's configuration allows, and its next block may be no better. Each costs a dozen writes, so that a node whose
//! configuration allows nothing of a pool asks for one block an hour. What may make the next block better ends the pause: an edit of the pool, or a
//! configuration that allows the block that was given back.

use std::collections::BTreeMap;
use std::time::Duration;

use ipnet::IpNet;
use tenure_leases::PoolKey;

use crate::agent::pause::{DoublingPause, PauseBounds};
use crate::agent::settings::PoolFamily;

/// The pauses after a block that was given back.
const PAUSES: PauseBounds =
    PauseBounds { first: Duration::from_secs(60), longest: Duration::from_secs(3600) };

/// The last block of each pool and family that was given back at once, by the pool's name. One that is accepted ends that.
#[derive(Debug, Default)]
pub(crate) struct RefusedBlocks(BTreeMap<(String, PoolFamily), RefusedBlock>);

/// One of them.
#[derive(Debug)]
struct RefusedBlock {
    cidr: IpNet,
    pool: PoolKey,
    why: String,
    /// The generation of the pool's settings that were in force.
    generation: Option<i64>,
    /// No other block is asked for until it is over.
    pause: DoublingPause,
}

impl RefusedBlocks {
    /// Notes that a block was given back at once, under this generation of its pool's settings.
    pub(crate) fn note(
        &mut self,
        (cidr, pool): (IpNet, &PoolKey),
        why: String,
        generation: Option<i64>,
        now: Duration,
    ) {
        let key = (pool.name.to_string(), PoolFamily::of(cidr));
        let before = self.0.get(&key).filter(|before| before.generation == generation);
        let pause = DoublingPause::after(before.map(|before| before.pause), PAUSES, now);
        self.0.insert(key, RefusedBlock { cidr, pool: pool.clone(), why, generation, pause });
    }

    /// Notes that a block was accepted.
    pub(crate) fn accepted(&mut self, pool: &PoolKey, family: PoolFamily) {
        self.0.remove(&(pool.name.to_string(), family));
    }

    /// The block that was given back, during the pause that follows it under the same generation of the pool's settings.
    pub(crate) fn paused(
        &self,
        pool: &PoolKey,
        family: PoolFamily,
        generation: Option<i64>,
        now: Duration,
    ) -> Option<IpNet> {
        let refused = self.0.get(&(pool.name.to_string(), family))?;
        let is_same = refused.pool == *pool && refused.generation == generation;
        (is_same && now < refused.pause.until).then_some(refused.cidr)
    }

    /// The pools of which the last block was given back, each with the reason.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|((pool, _), refused)| (pool.as_str(), refused.why.as_str()))
    }
}
