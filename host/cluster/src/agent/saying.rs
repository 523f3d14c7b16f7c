//! The agent's half of the node's object: gathered here, composed by `tenure_leases::agent::words`, and written when it differs, not too often.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ipnet::IpNet;
use tenure_leases::agent::lost::may_write;
use tenure_leases::agent::words::{AgentFacts, PoolWish, compose, fit, is_known};
use tenure_leases::node::PoolEcho;
use tenure_leases::{HolderIdentity, LeaseRules, MarkAck, NodeIpamSpec};
use tenure_types::{AssignedAddress, PoolName};

use crate::agent::accepting::AgentError;
use crate::agent::core::AgentCore;
use crate::agent::fetch::{self, AppliedWords};
use crate::agent::ranges::is_excluded;
use crate::agent::records::HeldLease;
use crate::agent::settings::PoolFamily;
use crate::agent::undeclared::{CUT_FOR, CutWords};

/// How long the first words after a start wait for the first plans.
const FIRST_PLANS: Duration = Duration::from_secs(3);

/// Writes the node's object if it differs from what was written, unless it is too early.
pub(crate) async fn say(
    core: &AgentCore,
    me: &HolderIdentity,
    jitter: &mut tenure_effects::budget::Jitter,
) -> Result<(), AgentError> {
    let is_lost = core.state().is_lost;
    if !may_write(LeaseRules::ALL, is_lost) {
        return Ok(());
    }
    if !has_planned(core).await {
        return Ok(());
    }
    let spec = spec(core, me).await;
    let now = core.now();
    {
        let state = core.state();
        let written = state.written.as_ref();
        // A pod waits for each change of turns, and every node for each answer to a call.
        let is_usual = |written: &NodeIpamSpec| written.claims == spec.claims && written.heard == spec.heard;
        let is_early = now < state.next_write && written.is_some_and(is_usual);
        let is_whole = state.cut.as_ref().is_none_or(|cut| now < cut.until);
        if (written.is_some_and(|written| is_known(written, &spec)) && is_whole) || is_early {
            return Ok(());
        }
    }
    // What fails is not repeated at once either.
    core.state().next_write = now.saturating_add(jitter.later(core.settings.write_every));
    let AppliedWords { object, left_out } = fetch::say(&core.client, &spec).await?;
    let mut state = core.state();
    state.writes += 1;
    state.written = Some(spec);
    state.cut = None;
    if !left_out.is_empty() {
        state.warn_undeclared(&left_out);
        let stored = NodeIpamSpec::try_from(&object).ok();
        state.cut = Some(CutWords { stored, until: now.saturating_add(CUT_FOR) });
    }
    if state.object.is_none() {
        state.see(Some(object));
    }
    Ok(())
}

/// Gathers what the agent's half is composed of, and composes it.
pub(crate) async fn spec(core: &AgentCore, me: &HolderIdentity) -> NodeIpamSpec {
    // Read before the leases: what is said repeats no call that is younger than itself.
    let call = core.state().told.call;
    let leases = core.leases();
    let (mut blocks, mut groups) = (Vec::new(), BTreeMap::new());
    for lease in leases.values().filter(|lease| lease.turn.is_none()) {
        let book = core.book_of(&lease.pool.name).await;
        blocks.push((lease.pool.clone(), core.row(lease, book.as_deref())));
        groups.insert(lease.cidr(), lease.name.group().into());
    }
    let (told, answers, spare, refused) = {
        let state = core.state();
        let answers: Vec<MarkAck> = state.answers.values().copied().collect();
        let spare: BTreeSet<_> = state.offered.values().flatten().copied().collect();
        (state.told.clone(), answers, spare, state.refused_marks.clone())
    };
    let mut said = compose(AgentFacts {
        me,
        blocks: &blocks,
        groups: &groups,
        hints: &told.blocks,
        answers: &answers,
        dropped: &core.dropped().into_keys().collect(),
        spare: &spare,
        wishes: wishes(core).await,
        pools: echoes(core, &leases).await,
        claims: core.claim_turns(),
        call,
    });
    // The ledger's own answer to a mark stands, whether or not the mark can be read.
    let answered: BTreeSet<_> = said.acks.iter().map(|ack| ack.uid).collect();
    said.acks.extend(refused.into_iter().filter(|ack| !answered.contains(&ack.uid)));
    fit(&mut said);
    said
}

/// Whether the first words after a start can be whole: each network that exists has been planned for, so that it is known what the node wants and
/// spares; or that takes too long.
async fn has_planned(core: &AgentCore) -> bool {
    let now = core.now();
    let due = {
        let mut state = core.state();
        if state.writes > 0 {
            return true;
        }
        *state.first_words.get_or_insert(now.saturating_add(FIRST_PLANS))
    };
    for network in core.settings.networks.keys() {
        let is_awaited = now < due && !core.state().offered.contains_key(network);
        if is_awaited && core.book(network).await.is_some() {
            return false;
        }
    }
    true
}

/// The wishes for the pools and families that the node's networks have.
async fn wishes(core: &AgentCore) -> Vec<PoolWish> {
    let (pools, leases) = (core.state().pools.clone(), core.leases());
    let mut wishes = Vec::new();
    for pool in pools.values() {
        let held = leases.values().filter(|lease| lease.pool == pool.key && lease.turn.is_none());
        // Blocks of a family whose CIDRs were taken out are in use until they are asked back.
        let families: BTreeSet<PoolFamily> =
            held.map(|lease| PoolFamily::of(lease.cidr())).chain(pool.units.keys().copied()).collect();
        for family in &families {
            let Ok(engine_pool) = PoolName::new(format!("{}{}", pool.key.name, family.suffix())) else {
                continue;
            };
            let book = core.book_of(&pool.key.name).await;
            if book.is_none_or(|book| book.pools().iter().all(|known| known.name != engine_pool)) {
                continue;
            }
            let asks_for_none =
                core.is_for_claims(&pool.key.name) || core.asks_for_none(&pool.key, *family).await;
            let want = match asks_for_none {
                true => 0,
                false => core.state().wants.get(&engine_pool).copied().unwrap_or_default(),
            };
            wishes.push(PoolWish { pool: pool.key.clone(), is_ipv6: *family == PoolFamily::Ipv6, want });
        }
    }
    wishes
}

/// The settings of pools that are in force on every block, each with the excluded addresses that are still in use.
async fn echoes(core: &AgentCore, leases: &BTreeMap<IpNet, HeldLease>) -> Vec<PoolEcho> {
    let (in_force, unapplied) = {
        let state = core.state();
        (state.in_force.clone(), state.unapplied.clone())
    };
    let mut echoes = Vec::new();
    for (uid, settings) in &in_force {
        let of_pool = || leases.values().filter(|lease| lease.pool.uid == *uid);
        // What is not applied is not in force.
        if of_pool().any(|lease| unapplied.contains_key(&lease.cidr())) {
            continue;
        }
        let mut excluded_in_use = 0_u32;
        for lease in of_pool() {
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
    echoes
}
