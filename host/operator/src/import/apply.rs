//! Writes a plan to its pool, and waits until the operator has it.

use std::time::Duration;

use anyhow::{Context as _, bail};
use ipnet::IpNet;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use tenure_cluster::client::call;
use tenure_cluster::objects::pool::TakenEntry;
use tenure_cluster::objects::space::RangeEntry;
use tenure_cluster::{AddressPool, AddressSpace, GROUP, IPBlock};
use tenure_leases::RangeUse;
use tenure_leases::space::{MAX_RANGES, overlap};
use tokio::time::{Instant, sleep};

use super::PeerIpam;
use super::plan::ImportPlan;

/// How long an operator may take until it has the ranges.
const LIMIT: Duration = Duration::from_secs(30);

/// The names of the leased blocks that have an address of the plan.
///
/// # Errors
/// If the blocks cannot be listed.
pub(super) async fn leased(
    client: &Client,
    pool: &AddressPool,
    plan: &ImportPlan,
) -> anyhow::Result<Vec<String>> {
    let api: Api<IPBlock> = Api::all(client.clone());
    let blocks = call(api.list(&ListParams::default())).await.context("cannot list IPBlocks")?;
    let taken: Vec<IpNet> = plan.entries.iter().filter_map(|entry| entry.cidr.parse().ok()).collect();
    let touches = |block: &&IPBlock| {
        let cidr = block.spec.cidr.parse::<IpNet>();
        let overlaps = cidr.is_ok_and(|cidr| taken.iter().any(|taken| overlap(*taken, cidr)));
        block.spec.group == pool.spec.overlap_group && overlaps
    };
    Ok(blocks.items.iter().filter(touches).map(IPBlock::name_any).collect())
}

/// The writer of what an import finds: each source, and each namespace of its records that is imported by itself, has its own part of the list.
pub(super) fn writer(source: PeerIpam, namespace: Option<&str>) -> String {
    let source = source.name();
    namespace
        .map_or_else(|| format!("tenure-import-{source}"), |name| format!("tenure-import-{source}-{name}"))
}

/// The entries that the pool has and would have no longer: what this writer wrote before, and does not find any more.
///
/// # Errors
/// If the API server refuses the entries, or the space of the pool's group has no room for them.
pub(super) async fn freed(
    client: &Client,
    pool: &AddressPool,
    writer: &str,
    plan: &ImportPlan,
) -> anyhow::Result<Vec<TakenEntry>> {
    let left = write(client, pool, &PatchParams::apply(writer).force().dry_run(), plan).await?.spec.taken;
    let group = &pool.spec.overlap_group;
    let others = space(client, pool).await?.iter().filter(|range| !is_taken_of(pool, range)).count();
    has_room(group, others, left.len())?;
    let stays = |entry: &TakenEntry| {
        left.iter().any(|other| (&other.cidr, &other.source) == (&entry.cidr, &entry.source))
    };
    Ok(pool.spec.taken.iter().filter(|entry| !stays(entry)).cloned().collect())
}

/// Refuses a pool with so many taken ranges, if its space has no room for them beside its other ranges.
fn has_room(group: &str, others: usize, taken: usize) -> anyhow::Result<()> {
    if others.saturating_add(taken) > MAX_RANGES {
        bail!(
            "the pool would have {taken} taken ranges, and AddressSpace {group} has {others} others: it can have {MAX_RANGES}; use a shorter blockPrefix"
        )
    }
    Ok(())
}

async fn write(
    client: &Client,
    pool: &AddressPool,
    parameters: &PatchParams,
    plan: &ImportPlan,
) -> anyhow::Result<AddressPool> {
    let api: Api<AddressPool> = Api::all(client.clone());
    let name = pool.name_any();
    let object = json!({
        "apiVersion": format!("{GROUP}/v1alpha1"),
        "kind": "AddressPool",
        "metadata": { "name": name, "uid": pool.uid() },
        "spec": { "taken": plan.entries },
    });
    call(api.patch(&name, parameters, &Patch::Apply(&object))).await.context("cannot write the AddressPool")
}

/// Writes the entries in the place of those that the writer wrote before.
///
/// # Errors
/// If the API server refuses them, or a block with one of the addresses was granted meanwhile.
pub(super) async fn apply(
    client: &Client,
    pool: &AddressPool,
    writer: &str,
    plan: &ImportPlan,
) -> anyhow::Result<()> {
    let name = pool.name_any();
    // Two writers may have one block, of which each names other owners.
    write(client, pool, &PatchParams::apply(writer).force(), plan).await?;
    let begin = Instant::now();
    while !has(client, pool, plan).await? {
        if begin.elapsed() > LIMIT {
            bail!(
                "wrote AddressPool {name}, but no operator has taken the ranges over within {} s: does one run?",
                LIMIT.as_secs()
            )
        }
        sleep(Duration::from_millis(200)).await;
    }
    // From here on no operator grants such a block, and no agent accepts one.
    match leased(client, pool, plan).await?.as_slice() {
        [] => Ok(()),
        blocks => bail!("these blocks were granted meanwhile, and drain: {}", blocks.join(", ")),
    }
}

/// Whether the pool's space has all entries.
async fn has(client: &Client, pool: &AddressPool, plan: &ImportPlan) -> anyhow::Result<bool> {
    let ranges = space(client, pool).await?;
    Ok(plan
        .entries
        .iter()
        .all(|entry| ranges.iter().any(|range| is_taken_of(pool, range) && range.cidr == entry.cidr)))
}

/// The ranges of the pool's overlap group.
async fn space(client: &Client, pool: &AddressPool) -> anyhow::Result<Vec<RangeEntry>> {
    let api: Api<AddressSpace> = Api::all(client.clone());
    let space = call(api.get_opt(&pool.spec.overlap_group)).await.context("cannot read the AddressSpace")?;
    Ok(space.map(|space| space.spec.ranges).unwrap_or_default())
}

/// Whether a range is one that something else uses of the pool.
fn is_taken_of(pool: &AddressPool, range: &RangeEntry) -> bool {
    range.usage == RangeUse::Taken.as_str() && Some(&range.pool.uid) == pool.uid().as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_into_the_space_is_refused() {
        assert!(has_room("default", MAX_RANGES - 2, 2).is_ok());
        let refused = has_room("default", MAX_RANGES - 1, 2).unwrap_err().to_string();
        assert!(refused.contains("2 taken ranges, and AddressSpace default has 1023 others"), "{refused}");
    }
}
