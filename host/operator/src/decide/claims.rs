//! Claims: each gets an address of its pool, and one node after the other gets the use of it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

use ipnet::IpNet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use tenure_cluster::convert::{ClaimLease, ClaimWish};
use tenure_cluster::objects::reference::ActiveEntry;
use tenure_cluster::{AddressClaim, AddressClaimStatus, CLAIM_FINALIZER};
use tenure_leases::operator::claim::{ActiveTurn, TurnCase, TurnStep, turn};
use tenure_leases::{BlockPhase, ClaimTurn, RangeId, RangeState, RangeUse, TurnState};

use super::conditions::{WantedCondition, condition};
use super::{EXHAUSTED, WaitReason};
use crate::memory::OperatorMemory;
use crate::view::{BlockView, ClaimView, ClusterView, PoolView, SaidView, is_ipv6};
use crate::writes::{OperatorWrite, WriteTime};

/// The most free addresses that are compared for one claim.
const CANDIDATES: usize = 256;

/// The turns that nodes say, and the claims that are there.
pub(super) struct ClaimFacts<'a> {
    /// By the name of the block.
    turns: BTreeMap<String, Vec<(&'a SaidView, &'a ClaimTurn)>>,
    /// The uids of the claims that nobody deletes.
    staying: BTreeSet<&'a str>,
    /// Whether a definition is being deleted, or that is not known: then nobody asked for the end of a claim.
    unsure: bool,
}

impl<'a> ClaimFacts<'a> {
    pub(super) fn gather(view: &'a ClusterView, unsure: bool) -> Self {
        let mut turns = BTreeMap::<String, Vec<_>>::new();
        for said in view.said.values() {
            for turn in &said.spec.claims {
                turns.entry(turn.block.to_string()).or_default().push((said, turn));
            }
        }
        let staying = view.claims.iter().filter(|claim| !is_leaving(&claim.object));
        Self { turns, staying: staying.map(|claim| claim.wish.claim.uid.as_str()).collect(), unsure }
    }

    /// Whether the lease of a claim's block ends once no node has the address.
    fn is_over(&self, block: &BlockView) -> bool {
        let claimed = block.claimed.as_ref();
        let stays = claimed.is_some_and(|claimed| self.staying.contains(claimed.claim.uid.as_str()));
        !self.unsure && (block.block.deleting || !stays)
    }

    /// The turns with a block that count: those of living nodes that hold it, and of nodes that may have it.
    fn turns_of(&self, view: &ClusterView, block: &BlockView) -> Vec<(&'a SaidView, &'a ClaimTurn)> {
        let pool = view.pool(block.block.pool.uid);
        let counts = |(said, turn): &&(&SaidView, &ClaimTurn)| match turn.state {
            TurnState::Held => view.is_alive(&said.spec),
            TurnState::Wanted => pool.is_some_and(|pool| view.admits(pool, &said.spec)),
        };
        self.turns.get(&block.name).into_iter().flatten().filter(counts).copied().collect()
    }

    /// The blocks that a node is asked to give up once no pod has their address.
    pub(super) fn asked_back(&self, view: &ClusterView, said: &SaidView) -> Vec<String> {
        let own = view.claim_blocks.iter().filter(|block| said.spec.counts_for(&block.block));
        let wanted_elsewhere = |block: &BlockView| {
            self.turns_of(view, block)
                .iter()
                .any(|(other, _)| other.spec.identity.name != said.spec.identity.name)
        };
        own.filter(|block| self.is_over(block) || wanted_elsewhere(block))
            .map(|block| block.name.clone())
            .collect()
    }
}

/// Decides about all claims and their blocks.
pub(super) fn claims(
    view: &ClusterView,
    facts: &ClaimFacts<'_>,
    memory: &OperatorMemory,
    now: WriteTime,
) -> Vec<OperatorWrite> {
    let may_grant = memory.barrier.may_grant() && !view.words_missing;
    let mut writes = Vec::new();
    let (mut leased, said) = (leased(view), said(view));
    for claim in &view.claims {
        let uid = &claim.wish.claim.uid;
        let is_its = |block: &&BlockView| block.claimed.as_ref().is_some_and(|of| of.claim.uid == *uid);
        let block = view.claim_blocks.iter().find(is_its);
        writes.extend(finalizer(view, claim, block));
        let is_leaving = is_leaving(&claim.object);
        let place = match block {
            Some(block) => Ok(block),
            None if is_leaving => continue,
            None if !may_grant => Err(WaitReason {
                reason: "OperatorWaits",
                message: "the operator waits until every node had time to say what it holds".to_owned(),
            }),
            None => match address(view, memory, &claim.wish, (&leased, &said)) {
                Ok(lease) => {
                    leased.entry(lease.group.clone()).or_default().insert(lease.cidr);
                    writes.push(OperatorWrite::GrantClaim(lease));
                    continue;
                }
                Err(why) => Err(why),
            },
        };
        writes.extend(status(claim, place, is_leaving, now));
    }
    for block in &view.claim_blocks {
        writes.extend(step(view, facts, block, may_grant, now));
    }
    writes
}

/// The next step about a claim's block.
fn step(
    view: &ClusterView,
    facts: &ClaimFacts<'_>,
    block: &BlockView,
    may_grant: bool,
    now: WriteTime,
) -> Option<OperatorWrite> {
    let said = view.said.get(&*block.block.holder.name).filter(|said| said.spec.counts_for(&block.block));
    let said = said.filter(|_| block.block.phase != BlockPhase::Quarantined);
    let active = block.claimed.as_ref()?.turn.map(|turn| ActiveTurn {
        turn,
        is_said: said.map(|said| {
            said.spec.claims.iter().any(|entry| entry.turn == turn && entry.block.to_string() == block.name)
        }),
    });
    let known = facts.turns_of(view, block);
    let turns: Vec<&ClaimTurn> = known.iter().map(|(_, turn)| *turn).collect();
    let case = TurnCase { is_over: facts.is_over(block), active, turns: &turns, may_grant };
    match turn(&case) {
        TurnStep::Wait => None,
        TurnStep::End(_) => Some(OperatorWrite::EndTurn(Box::new(block.clone()))),
        TurnStep::Release => Some(OperatorWrite::ReleaseClaim(Box::new(block.clone()))),
        TurnStep::Begin(begun) => {
            let (said, turn) = known.into_iter().find(|(_, turn)| turn.turn == begun)?;
            let node = &said.spec.identity;
            let active = ActiveEntry {
                node_name: node.name.to_string(),
                node_uid: node.uid.to_string(),
                machine: node.machine.to_string(),
                boot_id: node.boot.to_string(),
                turn: begun.to_string(),
                pod: turn.pod.clone(),
                since: Time(now.day),
            };
            Some(OperatorWrite::BeginTurn(Box::new(block.clone()), Box::new(active)))
        }
    }
}

/// Adds the finalizer, and removes it once a claim that is being deleted has no block.
fn finalizer(view: &ClusterView, claim: &ClaimView, block: Option<&BlockView>) -> Option<OperatorWrite> {
    let mut finalizers = claim.object.finalizers().to_vec();
    let has = finalizers.iter().any(|name| name == CLAIM_FINALIZER);
    match (is_leaving(&claim.object), has) {
        (false, false) => finalizers.push(CLAIM_FINALIZER.to_owned()),
        (true, true) if block.is_none() && view.unreadable.is_empty() => {
            finalizers.retain(|name| name != CLAIM_FINALIZER);
        }
        _ => return None,
    }
    Some(OperatorWrite::ClaimFinalizer(Box::new(claim.object.as_ref().clone()), finalizers))
}

/// Writes a claim's status where it differs.
fn status(
    claim: &ClaimView,
    place: Result<&BlockView, WaitReason>,
    is_leaving: bool,
    now: WriteTime,
) -> Option<OperatorWrite> {
    let object = &claim.object;
    let generation = object.metadata.generation.unwrap_or_default();
    let old = object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let bound = |is_true, reason, message| {
        let wanted = WantedCondition { name: "Bound", is_true, reason, message };
        vec![condition(old, wanted, generation, now)]
    };
    let status = match place {
        Ok(block) => {
            let address = block.block.cidr.addr();
            let node = Some(block.block.holder.name.to_string()).filter(|name| !name.is_empty());
            AddressClaimStatus {
                observed_generation: generation,
                phase: if is_leaving { "Leaving" } else { "Bound" }.to_owned(),
                address: Some(address.to_string()),
                block: Some(block.name.clone()),
                node,
                conditions: bound(true, "Leased", format!("{address} is leased to the claim")),
            }
        }
        Err(why) => AddressClaimStatus {
            observed_generation: generation,
            phase: "Pending".to_owned(),
            // The claim of a lost lease gets the same address again, if it can.
            address: claim.wish.before.map(|address| address.to_string()),
            conditions: bound(false, why.reason, why.message),
            ..AddressClaimStatus::default()
        },
    };
    (object.status.as_ref() != Some(&status)).then(|| {
        let object = AddressClaim { status: Some(status), ..object.as_ref().clone() };
        OperatorWrite::ClaimStatus(Box::new(object))
    })
}

/// The addresses of an overlap group that are somebody's.
type TakenAddresses = HashMap<String, HashSet<IpNet>>;

/// The addresses that are leased to claims.
fn leased(view: &ClusterView) -> TakenAddresses {
    let blocks = view.claim_blocks.iter().map(|block| (block.group.clone(), block.block.cidr));
    gather(blocks.chain(view.unreadable_blocks.iter().cloned()))
}

/// The addresses that nodes say they have, or want, with a lease or without.
fn said(view: &ClusterView) -> TakenAddresses {
    let turns = view.said.values().flat_map(|said| &said.spec.claims);
    gather(turns.map(|turn| (turn.block.group().to_owned(), turn.block.cidr())))
}

fn gather(addresses: impl Iterator<Item = (String, IpNet)>) -> TakenAddresses {
    let mut taken = TakenAddresses::new();
    for (group, cidr) in addresses {
        taken.entry(group).or_default().insert(cidr);
    }
    taken
}

/// Picks the address of a claim, or says why there is none.
fn address(
    view: &ClusterView,
    memory: &OperatorMemory,
    wish: &ClaimWish,
    (leased, said): (&TakenAddresses, &TakenAddresses),
) -> Result<ClaimLease, WaitReason> {
    let because = |reason, message| WaitReason { reason, message };
    let name = &wish.pool;
    let pool = view.pools.iter().find(|pool| *pool.lease.key.name == **name);
    let pool = pool.ok_or_else(|| because("PoolUnknown", format!("there is no AddressPool {name}")))?;
    if pool.usage() != RangeUse::Claims {
        let message = format!("AddressPool {name} has blocks for nodes; a pool for claims has usage: Claims");
        return Err(because("PoolNotForClaims", message));
    }
    if pool.lease.disabled || pool.lease.deleting {
        return Err(because("PoolClosed", format!("AddressPool {name} is disabled or being deleted")));
    }
    let has = |taken: &TakenAddresses, cidr: IpNet| {
        taken.get(&pool.group).is_some_and(|taken| taken.contains(&cidr))
    };
    let is_free = |cidr: IpNet| !has(leased, cidr) && !has(said, cidr);
    let lease = |range, cidr| ClaimLease {
        group: pool.group.clone(),
        cidr,
        range,
        pool: pool.lease.key.clone(),
        claim: wish.claim.clone(),
    };
    if let Some(address) = wish.address {
        let cidr = IpNet::from(address);
        let found = place(view, pool, cidr).filter(|_| !is_withheld(pool, address));
        let range = found.ok_or_else(|| {
            because("AddressOutside", format!("AddressPool {name} gives {address} to no claim"))
        })?;
        return match is_free(cidr) {
            true => Ok(lease(range, cidr)),
            false => Err(because("AddressTaken", format!("{address} is another claim's"))),
        };
    }
    let of_family = |cidr: IpNet| wish.is_ipv6.is_none_or(|ipv6| is_ipv6(cidr) == ipv6);
    // A node that says it has the address has it for this claim.
    let before = wish.before.map(IpNet::from).filter(|cidr| of_family(*cidr) && !has(leased, *cidr));
    if let Some((range, cidr)) = before.and_then(|cidr| Some((place(view, pool, cidr)?, cidr))) {
        return Ok(lease(range, cidr));
    }
    let mut free: Vec<(RangeId, IpNet)> = Vec::new();
    let space = view.spaces.get(&pool.group);
    for range in space.into_iter().flat_map(|space| space.space.ranges()) {
        let is_open = range.state == RangeState::Open && range.usage == RangeUse::Claims;
        let Ok(cells) = range.cidr.subnets(range.unit) else { continue };
        if !is_open || range.pool != pool.lease.key || !of_family(range.cidr) {
            continue;
        }
        let usable = cells.filter(|cell| {
            is_free(*cell) && place(view, pool, *cell).is_some() && !is_withheld(pool, cell.addr())
        });
        free.extend(usable.take(CANDIDATES).map(|cell| (range.id, cell)));
    }
    // IPv4 first, and an address that was in use lately last.
    let chosen = free
        .into_iter()
        .min_by_key(|(_, cidr)| (is_ipv6(*cidr), memory.release_of(&pool.group, *cidr), *cidr));
    let (range, cidr) =
        chosen.ok_or_else(|| because(EXHAUSTED, format!("no address of AddressPool {name} is free")))?;
    Ok(lease(range, cidr))
}

/// The open range of a pool that gives an address to claims.
fn place(view: &ClusterView, pool: &PoolView, cidr: IpNet) -> Option<RangeId> {
    let space = &view.spaces.get(&pool.group)?.space;
    let own = space.ranges().iter().filter(|range| range.pool == pool.lease.key);
    own.map(|range| range.id).find(|id| space.admit_claim(*id, cidr).is_ok())
}

/// Whether a pool gives an address to nobody: an exclusion, a gateway, or the first or the last one of its CIDR.
fn is_withheld(pool: &PoolView, address: IpAddr) -> bool {
    let spec = &pool.object.spec;
    let gateways = spec.gateway.iter().flat_map(|gateway| [&gateway.ipv4, &gateway.ipv6]).flatten();
    let is_gateway =
        gateways.filter_map(|gateway| gateway.parse().ok()).any(|gateway: IpAddr| gateway == address);
    let is_end = pool.ranges.iter().map(|range| range.cidr).any(|cidr| {
        let has_ends = cidr.prefix_len() + 1 < cidr.max_prefix_len();
        let is_last = address == cidr.broadcast() && address.is_ipv4();
        has_ends && (address == cidr.network() || is_last)
    });
    is_gateway || is_end || spec.exclusions.iter().any(|entry| entry.contains(address))
}

fn is_leaving(claim: &AddressClaim) -> bool {
    claim.metadata.deletion_timestamp.is_some()
}
