//! The operator's half of each NodeIPAM: hints, the settings of pools, and whether the node has what it wants.

#[cfg(test)]
mod tests;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use tenure_cluster::objects::node::{ExclusionEntry, HintEntry, NodeIPAMStatus, PoolSettings, WaitingEntry};
use tenure_leases::node::{MAX_HELD, MAX_POOLS};
use tenure_leases::space::overlap;
use tenure_leases::{BlockHint, RangeUse, TurnState, Uid};

pub(super) use self::waiting::serves_family;
use self::waiting::{is_passed_over, message, names, waiting_of};
use super::claims::ClaimFacts;
use super::conditions::{WantedCondition, condition};
use super::{WaitingNodes, in_turn};
use crate::memory::OperatorMemory;
use crate::view::{BlockView, ClusterView, PoolView, SaidView};
use crate::writes::{OperatorWrite, WriteTime};

/// The most statuses of nodes that one pass writes. They are in memory until they are written, and meanwhile the pass decides about nothing else. The
/// watch shows them, so that the next pass begins at once.
const MAX_HINTS: usize = 500;

/// The decisions of a pass that nodes are told.
pub(super) struct Told<'a> {
    pub(super) waiting: &'a WaitingNodes,
    /// The nodes that get a block in this pass or in one of the next ones, and are told after that: one write for each.
    pub(super) later: [&'a BTreeSet<Arc<str>>; 2],
    pub(super) facts: &'a ClaimFacts<'a>,
}

/// Writes the status of each node where it differs, of so many nodes in turn.
pub(super) fn hints(
    view: &ClusterView,
    told: &Told<'_>,
    memory: &mut OperatorMemory,
    now: WriteTime,
) -> Vec<OperatorWrite> {
    let call = memory.barrier.call();
    let write = |(name, said): (&Arc<str>, &Arc<SaidView>)| {
        if told.later.iter().any(|nodes| nodes.contains(name)) {
            return None;
        }
        let mut status = status(view, said, waiting_of(view, name, told.waiting), now);
        status.claims_asked_back = told.facts.asked_back(view, said);
        if let Some(call) = call {
            status.call = Some(call.to_string());
        }
        let is_told = said.told.as_ref().is_some_and(|told| told.is(&status));
        (!is_told).then(|| OperatorWrite::Hints(Arc::clone(said), Box::new(status)))
    };
    let nodes = in_turn(&view.said, &memory.hinted);
    let writes: Vec<OperatorWrite> = nodes.filter_map(write).take(MAX_HINTS).collect();
    if let (MAX_HINTS, Some(OperatorWrite::Hints(last, _))) = (writes.len(), writes.last()) {
        memory.hinted = Arc::clone(&last.spec.identity.name);
    }
    writes
}

fn status(view: &ClusterView, said: &SaidView, waiting: Vec<WaitingEntry>, now: WriteTime) -> NodeIPAMStatus {
    let blocks: Vec<&BlockView> = view.blocks_of(&said.spec).collect();
    let (generation, old) = (said.generation, said.told.as_ref());
    let known = view
        .hosts
        .get(&*said.spec.identity.name)
        .and_then(|host| host.evidence)
        .filter(|node| node.uid == said.spec.identity.uid && node.machine == said.spec.identity.machine);
    let (passed_over, missing): (Vec<_>, Vec<_>) =
        waiting.iter().partition(|entry| is_passed_over(view, said, entry));
    let ready = match (known, missing.as_slice()) {
        (None, _) => WantedCondition {
            name: "Ready",
            is_true: false,
            reason: "NodeUnknown",
            message: "no Node has this uid and this machine".to_owned(),
        },
        (Some(_), [first, more @ ..]) => WantedCondition {
            name: "Ready",
            is_true: false,
            reason: match more.iter().all(|entry| entry.reason == first.reason) {
                true => &first.reason,
                false => "SeveralReasons",
            },
            message: message(&missing),
        },
        (Some(_), []) if blocks.is_empty() && wants_nothing(view, said) => WantedCondition {
            name: "Ready",
            is_true: false,
            reason: "NoDemand",
            message: "the node has no block and wants none; perhaps its networks have no pool yet".to_owned(),
        },
        (Some(_), []) => WantedCondition {
            name: "Ready",
            is_true: true,
            reason: "Satisfied",
            message: match passed_over.is_empty() {
                true => "the node has the blocks that it wants".to_owned(),
                false => format!("the node has the blocks that it wants, but of {}", names(&passed_over)),
            },
        },
    };
    let accepted = match known {
        Some(_) => Some((&said.spec.identity).into()),
        None => old.and_then(|old| old.accepted.as_ref()).map(Into::into),
    };
    let conditions = old.map(|old| old.conditions.as_slice()).unwrap_or_default();
    let conditions = vec![condition(conditions, ready, generation, now)];
    NodeIPAMStatus {
        observed_generation: generation,
        block_count: i64::try_from(blocks.len()).unwrap_or(i64::MAX),
        accepted,
        blocks: blocks.iter().filter_map(|of| hint(view, said, of)).collect(),
        pools: settings(view, said, &blocks),
        waiting,
        conditions,
        claims_asked_back: vec![],
        claims_leaving: claims_leaving(view, said),
        // One that is over is left there: to take it away is another write for each node.
        call: old.and_then(|old| old.call).map(|call| call.to_string()),
    }
}

/// Whether a node demands no block. One whose pools are all for claims has what it wants all the same.
fn wants_nothing(view: &ClusterView, said: &SaidView) -> bool {
    !needs_no_block(view, said) && said.spec.demand.iter().all(|demand| demand.want == 0)
}

/// Whether the pools that a node names are for claims alone: their addresses come one by one, without a block.
pub(super) fn needs_no_block(view: &ClusterView, said: &SaidView) -> bool {
    let mut pools = said.spec.demand.iter().map(|demand| view.pool(demand.pool.uid));
    let is_for_claims = |pool: Option<&PoolView>| pool.is_some_and(|pool| pool.usage == RangeUse::Claims);
    !said.spec.demand.is_empty() && pools.all(is_for_claims)
}

fn hint(view: &ClusterView, said: &SaidView, of: &BlockView) -> Option<HintEntry> {
    let BlockView { block, group, name, .. } = of;
    let hint = BlockHint { cidr: block.cidr, uid: block.uid, mark: block.mark };
    // The name was read from an object, whose name follows from the group and the CIDR.
    HintEntry::new(group, &hint, leaves(view.pool(block.pool.uid), said, name, block.cidr)).ok()
}

/// The blocks of claims whose address a node has, and the pool no longer.
fn claims_leaving(view: &ClusterView, said: &SaidView) -> Vec<String> {
    let held = said.spec.claims.iter().filter(|turn| turn.state == TurnState::Held);
    let leaving = held.filter_map(|turn| {
        let name = turn.block.to_string();
        let pool = view.claim_block(&name).and_then(|block| view.pool(block.block.pool.uid));
        leaves(pool, said, &name, turn.block.cidr()).then_some(name)
    });
    leaving.take(MAX_HELD).collect()
}

/// Whether a pool no longer has a block's CIDR. Of one that is gone, or that cannot be read, that is as the node was told last: the settings that it has
/// in force are of then.
///
/// By the spec and not by the space: the node gets this very spec's exclusions, before the range is closed.
fn leaves(pool: Option<&PoolView>, said: &SaidView, name: &str, cidr: IpNet) -> bool {
    match pool {
        Some(pool) => pool.ranges.iter().all(|range| !range.cidr.contains(&cidr)),
        None => said.told.as_ref().is_some_and(|told| told.leaving.contains(name)),
    }
}

/// The settings of the pools that the node has blocks of, or wants blocks of. The address of a claim is a block, too.
fn settings(view: &ClusterView, said: &SaidView, blocks: &[&BlockView]) -> Vec<PoolSettings> {
    let turns = said.spec.claims.iter().filter_map(|turn| view.claim_block(&turn.block.to_string()));
    let blocks: Vec<&BlockView> = blocks.iter().copied().chain(turns).collect();
    let held: BTreeSet<Uid> = blocks.iter().map(|view| view.block.pool.uid).collect();
    let demanded = said.spec.demand.iter().map(|demand| demand.pool.uid);
    let demanded: BTreeSet<Uid> = demanded.filter(|uid| !held.contains(uid)).collect();
    // With more than the API server takes, the node would be told nothing. Those of its blocks come first.
    let pools = held.into_iter().chain(demanded).filter_map(|uid| view.pool(uid)).take(MAX_POOLS);
    let settings = pools.map(|pool| settings_of(pool, &blocks));
    settings.map(|entry| (entry.name.clone(), entry)).collect::<BTreeMap<_, _>>().into_values().collect()
}

fn settings_of(pool: &PoolView, blocks: &[&BlockView]) -> PoolSettings {
    let spec = &pool.object.spec;
    let is_held = |cidr: IpNet| blocks.iter().any(|view| overlap(view.block.cidr, cidr));
    // A block with taken addresses is granted to nobody; one that was leased before must not hand them out.
    let taken = spec.taken.iter().filter(|taken| taken.cidr.parse().is_ok_and(is_held));
    let taken = taken.map(|taken| ExclusionEntry { cidr: Some(taken.cidr.clone()), start: None, end: None });
    let gateways = spec.gateway.iter().flat_map(|gateway| [&gateway.ipv4, &gateway.ipv6]).flatten();
    let around = gateways.filter_map(|gateway| {
        let gateway: IpAddr = gateway.parse().ok()?;
        Some(pool.ranges.iter().find(|range| range.cidr.contains(&gateway))?.cidr.to_string())
    });
    PoolSettings {
        name: pool.lease.key.name.to_string(),
        uid: pool.lease.key.uid.to_string(),
        generation: pool.object.metadata.generation.unwrap_or_default(),
        for_claims: pool.usage == RangeUse::Claims,
        exclusions: spec.exclusions.iter().cloned().chain(taken).collect(),
        per_block_exclusions: spec.per_block_exclusions.clone(),
        gateway: spec.gateway.clone(),
        gateway_subnets: around.collect(),
        routes: spec.routes.clone(),
        cooldown_seconds: spec.cooldown_seconds,
        pod_selector: spec.pod_selector.clone(),
        namespace_selector: spec.namespace_selector.clone(),
    }
}
