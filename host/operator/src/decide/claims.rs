//! Claims: each gets an address of its pool, and one node after the other gets the use of it.

mod address;
mod facts;
mod ipam;
mod kept;
mod lost;
#[cfg(test)]
mod tests;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use tenure_cluster::convert::{ClaimLease, ClaimWish};
use tenure_cluster::objects::reference::ActiveEntry;
use tenure_cluster::{AddressClaim, AddressClaimStatus, CLAIM_FINALIZER, OwnerPodShape};
use tenure_leases::operator::claim::{ActiveTurn, TurnCase, TurnStep, turn};
use tenure_leases::{BlockPhase, ClaimTurn, HolderIdentity, TurnId};

use self::address::ClaimAddresses;
pub(super) use self::facts::ClaimFacts;
use self::kept::kept;
use super::WaitReason;
use super::conditions::{WantedCondition, condition};
use super::grants::reasons::unreadable_pool;
use super::held::HeldClaims;
use crate::memory::{ClaimsLeft, OperatorMemory};
use crate::view::{BlockView, ClaimView, ClusterView, MAX_FINALIZERS, ObjectAge, age};
use crate::writes::{OperatorWrite, WriteTime};

/// The reason for which a claim is not bound whose address goes to no further node.
const ADDRESS_CLOSED: &str = "AddressClosed";

/// The most writes of one pass about AddressClaims, about IPAMClaims, about turns, and about leases that end, of each. Each is a call or two, and
/// meanwhile no node hears of its block: a user with thousands of claims holds up nobody but other claims. The watch shows the writes, so that the
/// next pass begins at once, with what this one has left.
const MAX_WRITES: usize = 200;

/// Decides about all claims and their blocks, about so many of them in turn.
pub(super) fn claims(
    view: &ClusterView,
    (facts, held): (&ClaimFacts<'_>, &HeldClaims),
    memory: &mut OperatorMemory,
    now: WriteTime,
) -> Vec<OperatorWrite> {
    let may_grant = memory.barrier.may_grant() && !view.words_missing;
    let addresses = ClaimAddresses::new(view, facts, memory, held);
    let names_pods = memory.owner_pod != Some(OwnerPodShape::Missing);
    let mut leasing = ClaimLeasing { view, facts, may_grant, names_pods, addresses };
    let left = &memory.claims_left;
    let (mut writes, block) = steps(&leasing, left.block.as_deref(), now);
    let (of_address, address) = address_claims(&mut leasing, left.address.as_ref(), now);
    let (of_ipam, ipam) = ipam::claims(&mut leasing, left.ipam.as_ref(), now);
    writes.extend(of_address.into_iter().chain(of_ipam));
    memory.claims_left = ClaimsLeft { address, ipam, block };
    writes
}

/// The elements from a position on, and then those before it.
fn beginning_at<T>(all: &[T], position: usize) -> impl Iterator<Item = &T> {
    let (before, rest) = all.split_at_checked(position).unwrap_or((all, &[]));
    rest.iter().chain(before)
}

/// Decides about the AddressClaims, the one that was left out first. Returns the writes, and the first claim that is left out now.
fn address_claims(
    leasing: &mut ClaimLeasing<'_>,
    first: Option<&ObjectAge>,
    now: WriteTime,
) -> (Vec<OperatorWrite>, Option<ObjectAge>) {
    let (view, mut writes) = (leasing.view, Vec::new());
    let age = |claim: &ClaimView| age(&claim.object.metadata);
    let position = first.map_or(0, |first| view.claims.partition_point(|claim| age(claim) < *first));
    for claim in beginning_at(&view.claims, position) {
        if writes.len() >= MAX_WRITES {
            return (writes, Some(age(claim)));
        }
        let is_leaving = is_leaving(&claim.object);
        let found = leasing.find(&claim.wish, is_leaving);
        let block = if let FoundLease::Leased(block) = &found { Some(*block) } else { None };
        let finalized = finalizer(view, claim, block);
        // It changes the version, at which the API server would refuse the status: the next pass writes that.
        let keeps_version = finalized.is_none();
        writes.extend(finalized);
        let place = match found {
            FoundLease::Leased(block) => Ok(block),
            FoundLease::Begins(lease) => {
                writes.push(OperatorWrite::GrantClaim(lease));
                continue;
            }
            FoundLease::Waits(why) => Err(why),
            FoundLease::Ends => continue,
        };
        if keeps_version {
            writes.extend(status(view, claim, place, is_leaving, now));
        }
    }
    (writes, None)
}

/// Decides about the blocks of claims, the one that was left out first. Returns the writes, and the name of the first block that is left out now.
///
/// A pod may wait for a turn, and nobody for the end of a lease, so that neither takes the other's place.
fn steps(
    leasing: &ClaimLeasing<'_>,
    first: Option<&str>,
    now: WriteTime,
) -> (Vec<OperatorWrite>, Option<String>) {
    let blocks = &leasing.view.claim_blocks;
    let position = first.map_or(0, |first| blocks.partition_point(|block| block.name.as_str() < first));
    let (mut turns, mut ends, mut left) = (Vec::new(), Vec::new(), None);
    for block in beginning_at(blocks, position) {
        let Some(write) = step(leasing.view, leasing.facts, block, leasing.may_grant, now) else { continue };
        let writes = if matches!(write, OperatorWrite::ReleaseClaim(_)) { &mut ends } else { &mut turns };
        match writes.len() < MAX_WRITES {
            true => writes.push(write),
            false => left = left.or_else(|| Some(block.name.clone())),
        }
    }
    turns.extend(ends);
    (turns, left)
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
    facts: &'a ClaimFacts<'a>,
    may_grant: bool,
    /// Whether the status of an IPAMClaim names the pod.
    names_pods: bool,
    addresses: ClaimAddresses<'a>,
}

impl<'a> ClaimLeasing<'a> {
    /// Finds the lease of a wish, or picks an address for it, which no other claim gets from then on.
    fn find(&mut self, wish: &ClaimWish, is_leaving: bool) -> FoundLease<'a> {
        let blocks = self.facts.of_claims.get(wish.claim.uid.as_str()).into_iter().flatten();
        if let Some(block) = kept(blocks.copied(), wish) {
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
        // It may be the pool of the claim's network.
        if let Some(name) = self.view.unreadable_pools.values().next().filter(|_| wish.claim.is_ipam()) {
            return FoundLease::Waits(unreadable_pool(name));
        }
        match self.addresses.pick(wish) {
            Ok(lease) => FoundLease::Begins(lease),
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

/// Adds the finalizer, and removes it once a claim that is being deleted has no block. A list that may be longer than what was read of it is not written.
fn finalizer(view: &ClusterView, claim: &ClaimView, block: Option<&BlockView>) -> Option<OperatorWrite> {
    let mut finalizers = claim.object.finalizers().to_vec();
    if finalizers.len() >= MAX_FINALIZERS {
        return None;
    }
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
    view: &ClusterView,
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
                conditions: match view.closed(block) {
                    None => bound(true, "Leased", format!("{address} is leased to the claim")),
                    Some(why) => bound(false, ADDRESS_CLOSED, why),
                },
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

fn is_leaving(claim: &AddressClaim) -> bool {
    claim.metadata.deletion_timestamp.is_some()
}
