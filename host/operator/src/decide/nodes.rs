//! The operator's half of each NodeIPAM: hints, the settings of pools, and whether the node has what it wants.

use std::collections::{BTreeMap, BTreeSet};

use tenure_cluster::objects::node::{HintEntry, NodeIPAM, NodeIPAMStatus, PoolSettings};
use tenure_leases::{BlockHint, Uid};

use super::conditions::{WantedCondition, condition};
use super::{WaitReason, WaitingNodes};
use crate::view::{BlockView, ClusterView, SaidView};
use crate::writes::{OperatorWrite, WriteTime};

/// Writes the status of each node where it differs.
pub(super) fn hints(view: &ClusterView, waiting: &WaitingNodes, now: WriteTime) -> Vec<OperatorWrite> {
    let write = |(name, said): (&String, &SaidView)| {
        let waits = waiting.values().find_map(|nodes| nodes.get(name));
        let status = status(view, said, waits, now);
        (said.object.status.as_ref() != Some(&status)).then(|| {
            let object = NodeIPAM { status: Some(status), ..said.object.as_ref().clone() };
            OperatorWrite::Hints(Box::new(object))
        })
    };
    view.said.iter().filter_map(write).collect()
}

fn status(view: &ClusterView, said: &SaidView, waits: Option<&WaitReason>, now: WriteTime) -> NodeIPAMStatus {
    let blocks: Vec<&BlockView> = view.blocks_of(&said.spec).collect();
    let generation = said.object.metadata.generation.unwrap_or_default();
    let old = said.object.status.as_ref();
    let known = view
        .hosts
        .get(&*said.spec.identity.name)
        .and_then(|host| host.evidence)
        .filter(|node| node.uid == said.spec.identity.uid && node.machine == said.spec.identity.machine);
    let ready = match (known, waits) {
        (None, _) => WantedCondition {
            name: "Ready",
            is_true: false,
            reason: "NodeUnknown",
            message: "no Node has this uid and this machine".to_owned(),
        },
        (Some(_), Some(waits)) => WantedCondition {
            name: "Ready",
            is_true: false,
            reason: waits.reason,
            message: waits.message.clone(),
        },
        (Some(_), None) => WantedCondition {
            name: "Ready",
            is_true: true,
            reason: "Satisfied",
            message: "the node has the blocks that it wants".to_owned(),
        },
    };
    let accepted = match known {
        Some(_) => Some((&said.spec.identity).into()),
        None => old.and_then(|old| old.accepted.clone()),
    };
    let conditions = old.map(|old| old.conditions.as_slice()).unwrap_or_default();
    NodeIPAMStatus {
        observed_generation: generation,
        block_count: i64::try_from(blocks.len()).unwrap_or(i64::MAX),
        accepted,
        blocks: blocks.iter().filter_map(|view| hint(view)).collect(),
        pools: settings(view, said, &blocks),
        conditions: vec![condition(conditions, ready, generation, now)],
    }
}

fn hint(view: &BlockView) -> Option<HintEntry> {
    let hint = BlockHint { cidr: view.block.cidr, uid: view.block.uid, mark: view.block.mark };
    // The name was read from an object, whose name follows from the group and the CIDR.
    HintEntry::new(&view.group, &hint).ok()
}

/// The settings of the pools that the node has blocks of, or wants blocks of.
fn settings(view: &ClusterView, said: &SaidView, blocks: &[&BlockView]) -> Vec<PoolSettings> {
    let held = blocks.iter().map(|view| view.block.pool.uid);
    let uids: BTreeSet<Uid> = held.chain(said.spec.demand.iter().map(|demand| demand.pool.uid)).collect();
    let pools = uids.into_iter().filter_map(|uid| view.pool(uid));
    let settings = pools.map(|pool| PoolSettings {
        name: pool.lease.key.name.to_string(),
        uid: pool.lease.key.uid.to_string(),
        generation: pool.object.metadata.generation.unwrap_or_default(),
        exclusions: pool.object.spec.exclusions.clone(),
        pod_selector: pool.object.spec.pod_selector.clone(),
        namespace_selector: pool.object.spec.namespace_selector.clone(),
    });
    settings.map(|entry| (entry.name.clone(), entry)).collect::<BTreeMap<_, _>>().into_values().collect()
}
