//! All leaders decide alike, no matter in which order they hear of the objects: on pools that overlap, groups, claims of one address, and edits.

use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use k8s_openapi::jiff::Timestamp;
use serde_json::json;
use tenure_cluster::{AddressPool, AddressSpace, NOT_READY_TAINT};
use tenure_fixtures::random::Random;
use tenure_operator::decide::decide;
use tenure_operator::memory::OperatorMemory;
use tenure_operator::view::{FromObject, KeptObject, ViewSources, view};
use tenure_operator::writes::{BlockChange, OperatorWrite, WriteTime};

use crate::Test;
use crate::claims::claim;
use crate::cluster::{Cluster, TestOperator};
use crate::grants::{agents, settle};
use crate::ipam_claims::{define, make, undefine};

pub(crate) const TESTS: &[Test] =
    &[("agreement::leaders_that_heard_of_the_objects_in_another_order_decide_the_same", agreed)];

/// The orders that are tried at each stage.
const ORDERS: u64 = 16;

/// The objects in the API server.
fn sources(cluster: &Cluster) -> anyhow::Result<ViewSources> {
    fn kept<V: FromObject>(objects: Vec<V::Object>) -> Vec<KeptObject<V>> {
        objects.into_iter().map(KeptObject::of).collect()
    }
    Ok(ViewSources {
        pools: kept(cluster.list()?),
        spaces: kept(cluster.list()?),
        blocks: kept(cluster.list()?),
        claims: kept(cluster.list()?),
        ipam_claims: Some(kept(cluster.list()?)),
        said: kept(cluster.list()?),
        hosts: kept(cluster.list()?),
    })
}

fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for last in (1..items.len()).rev() {
        items.swap(last, usize::try_from(random.below(last as u64 + 1)).unwrap());
    }
}

/// The writes that a leader decides on, without the random numbers in them.
fn decisions(sources: ViewSources) -> Vec<String> {
    let (view, mut memory) = (view(sources), OperatorMemory::default());
    memory.listed(1);
    memory.heard(&view);
    let now = WriteTime { elapsed: Duration::from_secs(1000), day: Timestamp::UNIX_EPOCH };
    decide(&view, &mut memory, NOT_READY_TAINT, now).writes.iter().map(words).collect()
}

fn words(write: &OperatorWrite) -> String {
    match write {
        OperatorWrite::Space { group, space, .. } => {
            let range = |range: &tenure_leases::SpaceRange| {
                format!(
                    "{} {} {:?} {} {:?}",
                    range.cidr, range.unit, range.usage, range.pool.name, range.state
                )
            };
            format!("space {group}: {:?}", space.ranges().iter().map(range).collect::<Vec<_>>())
        }
        OperatorWrite::Block(_, name, _, BlockChange::Mark(mark)) => format!("mark {name}: {:?}", mark.why),
        other => format!("{other:?}"),
    }
}

/// Expects that the order of the objects does not matter.
fn same(cluster: &Cluster, stage: &str) -> anyhow::Result<Vec<String>> {
    let first = decisions(sources(cluster)?);
    for seed in 0..ORDERS {
        let (mut other, mut random) = (sources(cluster)?, Random::new(seed));
        shuffle(&mut other.pools, &mut random);
        shuffle(&mut other.spaces, &mut random);
        shuffle(&mut other.blocks, &mut random);
        shuffle(&mut other.claims, &mut random);
        shuffle(other.ipam_claims.as_deref_mut().unwrap_or_default(), &mut random);
        shuffle(&mut other.said, &mut random);
        shuffle(&mut other.hosts, &mut random);
        let other = decisions(other);
        ensure!(other == first, "{stage}, order {seed}: {other:#?} instead of {first:#?}");
    }
    Ok(first)
}

/// The ranges that are open, each with its pool.
fn ranges(cluster: &Cluster, group: &str) -> anyhow::Result<Vec<String>> {
    let space = cluster.get::<AddressSpace>(group)?;
    let open = space.into_iter().flat_map(|space| space.spec.ranges).filter(|range| range.state == "Open");
    let mut ranges: Vec<String> = open.map(|range| format!("{} {}", range.pool.name, range.cidr)).collect();
    ranges.sort();
    Ok(ranges)
}

fn agreed(cluster: &Cluster) -> anyhow::Result<()> {
    undefine(cluster)?;
    define(cluster)?;
    let old = cluster.pool("old", "10.0.0.0/24", 26, &json!({}))?;
    cluster.pool("third", "10.2.0.0/25", 26, &json!({}))?;
    cluster.pool("apart", "10.0.0.0/24", 26, &json!({ "overlapGroup": "other" }))?;
    let for_claims = json!({ "usage": "Claims", "networks": ["blue"] });
    let names = cluster.pool("names", "10.60.0.0/29", 32, &for_claims)?;
    // The others have one time of creation, or two.
    cluster.until("a younger pool", || {
        let young = cluster.pool("young", "10.0.0.128/25", 27, &json!({}))?;
        if young.metadata.creation_timestamp > names.metadata.creation_timestamp {
            return Ok(Some(()));
        }
        cluster.delete::<AddressPool>("young").map(|()| None)
    })?;
    cluster.pool("more", "10.60.0.0/28", 32, &for_claims)?;
    for (name, address) in [("one", "10.60.0.1"), ("two", "10.60.0.1")] {
        claim(cluster, name, &json!({ "address": address }))?;
    }
    claim(cluster, "three", &json!({}))?;
    make(cluster, "vm.one", "blue", &json!([]))?;
    make(cluster, "vm.two", "blue", &json!([]))?;
    let mut agents = agents(cluster, 3)?;
    // More than there is.
    for agent in &mut agents {
        agent.want(cluster, &old, 2)?;
    }
    same(cluster, "before any decision")?;
    let mut operator = cluster.operator(&Arc::default())?;
    settle(cluster, &mut operator, &mut agents, 4)?;
    same(cluster, "with four blocks")?;
    let expected = ["names 10.60.0.0/29", "old 10.0.0.0/24", "third 10.2.0.0/25"];
    ensure!(ranges(cluster, "default")? == expected, "{:?}", ranges(cluster, "default")?);
    ensure!(ranges(cluster, "other")? == ["apart 10.0.0.0/24"]);

    // A person gives an older pool a range of which a younger one has a part already, and takes half of its own from it.
    let cidrs = json!({ "spec": { "ipv4": { "cidrs": ["10.0.0.0/25", "10.2.0.0/24", "10.3.0.0/24"] } } });
    cluster.change::<AddressPool>("old", &cidrs)?;
    same(cluster, "after an edit")?;
    let [one, two] = [cluster.operator(&Arc::default())?, cluster.operator(&Arc::default())?];
    let mut leaders = [operator, one, two];
    let decided: Vec<Vec<String>> =
        leaders.iter_mut().map(|leader| spaces_of(cluster, leader)).collect::<anyhow::Result<_>>()?;
    ensure!(decided.iter().all(|words| *words == decided[0] && !words.is_empty()), "{decided:#?}");
    // All of them write; then one is left, since leaders do not act on each other's marks.
    for leader in &mut leaders {
        cluster.runtime.block_on(leader.operator.pass());
    }
    let [mut operator, ..] = leaders;
    cluster.drive(&mut operator, "the ranges that follow from the edit", || {
        agents.iter_mut().try_for_each(|agent| agent.step(cluster))?;
        let reason = |pool| cluster.condition(pool, "Allocatable");
        let overlaps = Some(("False".to_owned(), "RangeOverlap".to_owned()));
        let is_older_refused = reason("old")? == overlaps && reason("third")? != overlaps;
        let expected = ["names 10.60.0.0/29", "old 10.0.0.0/25", "old 10.3.0.0/24", "third 10.2.0.0/25"];
        let is_younger_served = ranges(cluster, "default")?.iter().any(|range| range.starts_with("young"));
        let others: Vec<String> =
            ranges(cluster, "default")?.into_iter().filter(|range| !range.starts_with("young")).collect();
        Ok((is_older_refused && is_younger_served && others == expected).then_some(()))
    })?;
    same(cluster, "at the end")?;
    undefine(cluster)
}

/// What a leader decides about spaces, once it has heard of the edit.
fn spaces_of(cluster: &Cluster, leader: &mut TestOperator) -> anyhow::Result<Vec<String>> {
    cluster.until("a decision about the spaces", || {
        let (_, writes) = cluster.runtime.block_on(leader.operator.decide()).unwrap_or_default();
        let words: Vec<String> =
            writes.iter().filter(|write| matches!(write, OperatorWrite::Space { .. })).map(words).collect();
        Ok((!words.is_empty()).then_some(words))
    })
}
