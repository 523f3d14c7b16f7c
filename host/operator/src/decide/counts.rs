//! The blocks by pool, family and phase, for the metrics.

use std::collections::BTreeSet;

use tenure_leases::{BlockPhase, Uid};

use super::releases::family_capacity;
use crate::reports::BlockCount;
use crate::view::{ClusterView, is_ipv6};

/// Counts the blocks, and the free ones of each pool.
pub(super) fn counts(view: &ClusterView) -> Vec<BlockCount> {
    let name = |pool: Uid| view.pool(pool).map_or_else(String::new, |pool| pool.lease.key.name.to_string());
    let leases = view.all_blocks().map(|view| {
        let phase = match view.block.phase {
            BlockPhase::Leased if view.block.mark.is_some() => "marked",
            BlockPhase::Leased => "leased",
            BlockPhase::Quarantined => "quarantined",
            BlockPhase::Orphaned => "orphaned",
        };
        BlockCount { pool: name(view.block.pool.uid), is_ipv6: is_ipv6(view.block.cidr), phase, count: 1 }
    });
    let families: BTreeSet<(Uid, bool)> = view
        .pools
        .iter()
        .flat_map(|pool| pool.ranges.iter().map(|range| (pool.lease.key.uid, is_ipv6(range.cidr))))
        .collect();
    let free = families.into_iter().map(|key| BlockCount {
        pool: name(key.0),
        is_ipv6: key.1,
        phase: "free",
        count: family_capacity(view, key).free,
    });
    leases.chain(free).collect()
}
