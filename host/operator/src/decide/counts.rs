//! The blocks by pool, family and phase, for the metrics.

use std::collections::BTreeMap;

use tenure_leases::{BlockPhase, Uid};

use super::releases::family_capacity;
use crate::reports::BlockCount;
use crate::view::{ClusterView, is_ipv6};

/// Counts the blocks, and the free ones of each pool.
pub(super) fn counts(view: &ClusterView) -> Vec<BlockCount> {
    let mut counts: BTreeMap<(Uid, bool, &'static str), u64> = BTreeMap::new();
    for block in view.all_blocks().map(|view| &view.block) {
        let phase = match block.phase {
            BlockPhase::Leased if block.mark.is_some() => "marked",
            BlockPhase::Leased => "leased",
            BlockPhase::Quarantined => "quarantined",
            BlockPhase::Orphaned => "orphaned",
        };
        *counts.entry((block.pool.uid, is_ipv6(block.cidr), phase)).or_default() += 1;
    }
    let families = view
        .pools
        .iter()
        .flat_map(|pool| pool.ranges.iter().map(|range| (pool.lease.key.uid, is_ipv6(range.cidr))));
    for key in families {
        counts.insert((key.0, key.1, "free"), family_capacity(view, key).free);
    }
    let name = |pool: Uid| view.pool(pool).map_or_else(String::new, |pool| pool.lease.key.name.to_string());
    let count = |((pool, is_ipv6, phase), count)| BlockCount { pool: name(pool), is_ipv6, phase, count };
    counts.into_iter().map(count).collect()
}
