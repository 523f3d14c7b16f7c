//! The agent's half of the node's object: composed from the ledger, and written when it differs, not too often.

use std::collections::BTreeSet;

use tenure_leases::node::{MAX_HELD, PoolEcho};
use tenure_leases::{
    HeldBlock, HolderIdentity, LeaseRules, MarkAck, NodeIpamSpec, PoolDemand, Uid, agent::lost::may_write,
};
use tenure_types::{AssignedAddress, PoolName};

use crate::agent::accepting::AgentError;
use crate::agent::core::AgentCore;
use crate::agent::fetch;
use crate::agent::ranges::is_excluded;
use crate::agent::settings::PoolFamily;
use crate::agent::usage::usage;

/// Writes the node's object if it differs from what was written, unless it is too early.
pub(crate) async fn say(
    core: &AgentCore,
    me: &HolderIdentity,
    jitter: &mut tenure_effects::budget::Jitter,
) -> Result<(), AgentError> {
    let must_rebuild = core.state().must_rebuild;
    if !may_write(LeaseRules::ALL, must_rebuild) {
        return Ok(());
    }
    let spec = spec(core, me).await;
    let now = core.now();
    {
        let state = core.state();
        let written = state.written.as_ref();
        // A pod waits for each change of turns.
        let is_early = now < state.next_write && written.is_some_and(|written| written.claims == spec.claims);
        if written.is_some_and(|written| is_same(written, &spec)) || is_early {
            return Ok(());
        }
    }
    // What fails is not repeated at once either.
    core.state().next_write = now.saturating_add(jitter.later(core.settings.write_every));
    let object = fetch::say(&core.client, &spec).await?;
    let mut state = core.state();
    state.writes += 1;
    state.written = Some(spec);
    if state.object.is_none() {
        state.see(Some(object));
    }
    Ok(())
}

/// Whether there is nothing to write. The numbers of addresses go out with what else is new, and never by themselves.
fn is_same(written: &NodeIpamSpec, now: &NodeIpamSpec) -> bool {
    let mut like = now.clone();
    for demand in &mut like.demand {
        let same =
            written.demand.iter().find(|old| (&old.pool, old.is_ipv6) == (&demand.pool, demand.is_ipv6));
        if let Some(old) = same {
            (demand.in_use, demand.cooling) = (old.in_use, old.cooling);
        }
    }
    like == *written
}

/// Composes the agent's half.
pub(crate) async fn spec(core: &AgentCore, me: &HolderIdentity) -> NodeIpamSpec {
    let leases = core.leases();
    let dropped = core.dropped();
    let of_nodes = leases.values().filter(|lease| lease.turn.is_none());
    let mut held: Vec<HeldBlock> =
        of_nodes.map(|lease| HeldBlock { cidr: lease.cidr(), uid: lease.uid }).collect();
    held.truncate(MAX_HELD);
    let standing = leases.values().filter_map(|lease| core.row(lease, None).standing_ack());
    let mut acks: Vec<MarkAck> = standing.collect();
    let (told, answers, pools, in_force, unapplied) = {
        let state = core.state();
        let (told, answers) = (state.told.clone(), state.answers.clone());
        (told, answers, state.pools.clone(), state.in_force.clone(), state.unapplied.clone())
    };
    let is_open = |ack: &MarkAck| {
        told.blocks
            .iter()
            .any(|hint| hint.uid == ack.uid && hint.mark.is_some_and(|mark| mark.id == ack.mark))
    };
    let stands = |uid: Uid, acks: &[MarkAck]| acks.iter().any(|ack| ack.uid == uid);
    let more: Vec<MarkAck> =
        answers.into_values().filter(|ack| is_open(ack) && !stands(ack.uid, &acks)).collect();
    acks.extend(more);
    let is_held = |uid: Uid| leases.values().any(|lease| lease.uid == uid);
    let returned = told.blocks.iter().filter(|hint| dropped.contains_key(&hint.uid) && !is_held(hint.uid));
    // Also once it is marked: the mark stays for as long as the lease is given up.
    let returned = returned.map(|hint| hint.uid).collect();
    let offered: BTreeSet<_> = core.state().offered.values().flatten().copied().collect();
    let idle =
        leases.values().filter(|lease| offered.contains(&lease.cidr())).map(|lease| lease.uid).collect();
    let mut demand = Vec::new();
    for pool in pools.values() {
        for family in pool.units.keys() {
            let Ok(engine_pool) = PoolName::new(format!("{}{}", pool.key.name, family.suffix())) else {
                continue;
            };
            let Some(book) = core.book_of(&pool.key.name).await else { continue };
            if book.pools().iter().all(|known| known.name != engine_pool) {
                continue;
            }
            let own = leases
                .values()
                .filter(|lease| lease.pool == pool.key && PoolFamily::of(lease.cidr()) == *family);
            let used = own.map(|lease| usage(&book, lease.cidr()));
            let (in_use, cooling) = used.fold((0_u32, 0_u32), |(in_use, cooling), usage| {
                (
                    in_use.saturating_add(usage.in_use).saturating_add(usage.promised),
                    cooling.saturating_add(usage.cooling),
                )
            });
            let wanted = match core.is_for_claims(&pool.key.name) {
                true => 0,
                false => core.state().wants.get(&engine_pool).copied().unwrap_or_default(),
            };
            // The API server takes no more.
            let want = wanted.max(core.counted_of(&pool.key.name, *family)).min(256);
            let is_ipv6 = *family == PoolFamily::Ipv6;
            demand.push(PoolDemand { pool: pool.key.clone(), is_ipv6, in_use, cooling, want });
        }
    }
    let mut echoes = Vec::new();
    for (uid, settings) in &in_force {
        // What is not applied is not in force.
        if leases.values().any(|lease| lease.pool.uid == *uid && unapplied.contains_key(&lease.cidr())) {
            continue;
        }
        let mut excluded_in_use = 0_u32;
        for lease in leases.values().filter(|lease| lease.pool.uid == *uid) {
            if let Some(book) = core.book_of(&lease.pool.name).await {
                let addresses =
                    book.allocations().flat_map(|held| held.addresses.iter().map(AssignedAddress::ip));
                let here = addresses.filter(|address| lease.cidr().contains(address));
                let count = here.filter(|address| is_excluded(lease.cidr(), *address, settings)).count();
                excluded_in_use = excluded_in_use.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
            }
        }
        let generation = u64::try_from(settings.generation).unwrap_or_default();
        echoes.push(PoolEcho { uid: *uid, generation, excluded_in_use });
    }
    NodeIpamSpec {
        identity: me.clone(),
        held,
        demand,
        idle,
        returned,
        acks,
        pools: echoes,
        claims: core.claim_turns(),
    }
}
