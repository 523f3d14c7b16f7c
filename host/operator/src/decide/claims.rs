//! Claims: each gets an address of its pool, and one node after the other gets the use of it.

mod ipam;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use tenure_cluster::convert::{ClaimLease, ClaimWish};
use tenure_cluster::objects::reference::ActiveEntry;
use tenure_cluster::{AddressClaim, AddressClaimStatus, CLAIM_FINALIZER};
use tenure_leases::operator::claim::{ActiveTurn, TurnCase, TurnStep, turn};
use tenure_leases::{
    BlockPhase, ClaimTurn, HolderIdentity, RangeId, RangeState, RangeUse, TurnId, TurnState,
};

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
    /// The same of IPAMClaims.
    ipam_unsure: bool,
}

impl<'a> ClaimFacts<'a> {
    pub(super) fn gather(view: &'a ClusterView, memory: &OperatorMemory) -> Self {
        let mut turns = BTreeMap::<String, Vec<_>>::new();
        for said in view.said.values().map(Arc::as_ref) {
            for turn in &said.spec.claims {
                turns.entry(turn.block.to_string()).or_default().push((said, turn));
            }
        }
        let staying = view.claims.iter().filter(|claim| !is_leaving(&claim.object));
        let staying = staying.map(|claim| claim.wish.claim.uid.as_str());
        let ipam = view.ipam_claims.iter().flatten().map(|claim| &claim.object.metadata);
        let ipam = ipam.filter(|metadata| metadata.deletion_timestamp.is_none());
        Self {
            turns,
            staying: staying.chain(ipam.filter_map(|metadata| metadata.uid.as_deref())).collect(),
            unsure: memory.definitions_unsure,
            ipam_unsure: memory.ipam_claims_unsure,
        }
    }

    /// Whether the lease of a claim's block ends once no node has the address.
    fn is_over(&self, block: &BlockView) -> bool {
        let claimed = block.claimed.as_ref();
        let stays = claimed.is_some_and(|claimed| self.staying.contains(claimed.claim.uid.as_str()));
        let is_ipam = claimed.is_some_and(|claimed| claimed.claim.is_ipam());
        let is_unsure = is_ipam && self.ipam_unsure;
        let is_gone = !stays && !is_unsure;
        !self.unsure && (block.block.deleting || is_gone)
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
        let own = view.claim_blocks.iter().filter(|block| ClusterView::has_turn_with(block, &said.spec));
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
    let mut leasing = ClaimLeasing { view, memory, may_grant, leased: leased(view), said: said(view) };
    let mut writes = Vec::new();
    for claim in &view.claims {
        let is_leaving = is_leaving(&claim.object);
        let found = leasing.find(&claim.wish, is_leaving);
        let block = if let FoundLease::Leased(block) = &found { Some(*block) } else { None };
        writes.extend(finalizer(view, claim, block));
        let place = match found {
            FoundLease::Leased(block) => Ok(block),
            FoundLease::Begins(lease) => {
                writes.push(OperatorWrite::GrantClaim(lease));
                continue;
            }
            FoundLease::Waits(why) => Err(why),
            FoundLease::Ends => continue,
        };
        writes.extend(status(claim, place, is_leaving, now));
    }
    writes.extend(ipam::claims(&mut leasing, now));
    for block in &view.claim_blocks {
        writes.extend(step(view, facts, block, may_grant, now));
    }
    writes
}

/// The lease of the address that a claim wishes for.
enum FoundLease<'a> {
    /// The claim has one.
    Leased(&'a BlockView),
    /// The claim gets one.
    Begins(ClaimLease),
    /// The claim gets none.
    Waits(WaitReason),
    /// The claim is being deleted, and has none.
    Ends,
}

/// Leases addresses to claims, in their order.
struct ClaimLeasing<'a> {
    view: &'a ClusterView,
    memory: &'a OperatorMemory,
    may_grant: bool,
    leased: TakenAddresses,
    said: TakenAddresses,
}

impl<'a> ClaimLeasing<'a> {
    /// Finds the lease of a wish, or picks an address for it, which no other claim gets from then on.
    fn find(&mut self, wish: &ClaimWish, is_leaving: bool) -> FoundLease<'a> {
        let is_its = |block: &&BlockView| {
            let claimed = block.claimed.as_ref().is_some_and(|of| of.claim.uid == wish.claim.uid);
            claimed && wish.is_ipv6.is_none_or(|ipv6| is_ipv6(block.block.cidr) == ipv6)
        };
        if let Some(block) = self.view.claim_blocks.iter().map(Arc::as_ref).find(is_its) {
            return FoundLease::Leased(block);
        }
        if is_leaving {
            return FoundLease::Ends;
        }
        if !self.may_grant {
            return FoundLease::Waits(WaitReason {
                reason: "OperatorWaits",
                message: "the operator waits until every node had time to say what it holds".to_owned(),
            });
        }
        match address(self.view, self.memory, wish, (&self.leased, &self.said)) {
            Ok(lease) => {
                self.leased.entry(lease.group.clone()).or_default().insert(lease.cidr);
                FoundLease::Begins(lease)
            }
            Err(why) => FoundLease::Waits(why),
        }
    }
}

/// The next step about a claim's block.
fn step(
    view: &ClusterView,
    facts: &ClaimFacts<'_>,
    block: &BlockView,
    may_grant: bool,
    now: WriteTime,
) -> Option<OperatorWrite> {
    let claimed = block.claimed.as_ref()?;
    let known_turn = |turn, holder: &HolderIdentity, entry: Option<&ActiveEntry>| ActiveTurn {
        turn,
        is_said: is_said(view, block, holder, turn),
        guest: entry.and_then(|entry| entry.guest.as_deref()?.parse().ok()),
        has_left: entry.is_some_and(|entry| entry.has_left),
    };
    let active = claimed.turn.map(|turn| {
        let active = known_turn(turn, &block.block.holder, claimed.active.as_ref());
        let is_doubted = block.block.phase == BlockPhase::Quarantined;
        ActiveTurn { is_said: active.is_said.filter(|_| !is_doubted), ..active }
    });
    let alternate = claimed.alternate.as_ref();
    let alternate = alternate.map(|other| known_turn(other.turn, &other.holder, Some(&other.entry)));
    let known = facts.turns_of(view, block);
    let turns: Vec<&ClaimTurn> = known.iter().map(|(_, turn)| *turn).collect();
    let is_over = facts.is_over(block);
    let case = TurnCase { is_over, active, alternate, turns: &turns, may_grant };
    let view = || Box::new(block.clone());
    let entry = |begun: TurnId| {
        let (said, turn) = known.iter().find(|(_, turn)| turn.turn == begun)?;
        let node = &said.spec.identity;
        Some(Box::new(ActiveEntry {
            node_name: node.name.to_string(),
            node_uid: node.uid.to_string(),
            machine: node.machine.to_string(),
            boot_id: node.boot.to_string(),
            turn: begun.to_string(),
            pod: turn.pod.clone(),
            since: Time(now.day),
            guest: turn.guest.map(|guest| guest.uid.to_string()),
            has_left: false,
        }))
    };
    match turn(&case) {
        TurnStep::Wait => None,
        TurnStep::End(_) => Some(OperatorWrite::EndTurn(view())),
        TurnStep::EndAlternate(_) => Some(OperatorWrite::EndAlternate(view())),
        TurnStep::Switch => Some(OperatorWrite::SwitchTurns(view())),
        TurnStep::Release => Some(OperatorWrite::ReleaseClaim(view())),
        TurnStep::Begin(begun) => Some(OperatorWrite::BeginTurn(view(), entry(begun)?)),
        TurnStep::BeginAlternate(begun) => Some(OperatorWrite::BeginAlternate(view(), entry(begun)?)),
    }
}

/// Whether a node says a turn with a block; `None` if its words are missing, or are another machine's.
fn is_said(view: &ClusterView, block: &BlockView, holder: &HolderIdentity, turn: TurnId) -> Option<bool> {
    let said = &view.said.get(&*holder.name)?.spec;
    let is_it = |entry: &ClaimTurn| entry.turn == turn && entry.block.to_string() == block.name;
    let is_machine = holder.is_machine(&said.identity.name, said.identity.machine);
    is_machine.then(|| said.claims.iter().any(is_it))
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
    Some(OperatorWrite::ClaimFinalizer(Box::new(claim.object.clone()), finalizers))
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
        let object = AddressClaim { status: Some(status), ..object.clone() };
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
    let space = view.spaces.get(&*pool.group);
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
    let space = &view.spaces.get(&*pool.group)?.space;
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
