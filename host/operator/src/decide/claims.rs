//! Claims: each gets an address of its pool, and one node after the other gets the use of it.

mod address;
mod ipam;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use tenure_cluster::convert::{ClaimLease, ClaimWish};
use tenure_cluster::objects::reference::ActiveEntry;
use tenure_cluster::{AddressClaim, AddressClaimStatus, CLAIM_FINALIZER};
use tenure_leases::operator::claim::{ActiveTurn, TurnCase, TurnStep, turn};
use tenure_leases::operator::grant::GrantRefusal;
use tenure_leases::operator::held::ClaimantState;
use tenure_leases::{BlockPhase, ClaimTurn, HolderIdentity, NodeIpamSpec, TurnId, TurnState};

use self::address::ClaimAddresses;
use super::conditions::{WantedCondition, condition};
use super::grants::{invalid_selector, refused};
use super::held::HeldClaims;
use super::{ADDRESSES_HELD, WaitReason, WaitingNodes};
use crate::memory::{ClaimsLeft, OperatorMemory};
use crate::view::{
    BlockView, ClaimView, ClusterView, MAX_FINALIZERS, ObjectAge, PoolView, SaidView, age, is_ipv6,
};
use crate::writes::{OperatorWrite, WriteTime};

/// The reason for which a claim is not bound whose address goes to no further node.
const ADDRESS_CLOSED: &str = "AddressClosed";

/// The most writes of one pass about AddressClaims, about IPAMClaims, about turns, and about leases that end, of each. Each is a call or two, and
/// meanwhile no node hears of its block: a user with thousands of claims holds up nobody but other claims. The watch shows the writes, so that the
/// next pass begins at once, with what this one has left.
const MAX_WRITES: usize = 200;

/// The turns that nodes say, and the claims that are there.
pub(super) struct ClaimFacts<'a> {
    /// By the name of the block.
    turns: BTreeMap<String, Vec<(&'a SaidView, &'a ClaimTurn)>>,
    /// The blocks by the uid of their claim.
    of_claims: HashMap<&'a str, Vec<&'a BlockView>>,
    /// The blocks by the nodes that they name, for a turn or for an alternate one.
    of_nodes: HashMap<&'a str, Vec<&'a BlockView>>,
    /// The uids of the claims that nobody deletes.
    staying: BTreeSet<&'a str>,
    /// Whether a definition is being deleted, or that is not known: then nobody asked for the end of a claim.
    unsure: bool,
    /// The same of IPAMClaims.
    ipam_unsure: bool,
    /// The blocks of claims that have another one of the family.
    surplus: BTreeSet<&'a str>,
}

impl<'a> ClaimFacts<'a> {
    pub(super) fn gather(view: &'a ClusterView, memory: &OperatorMemory) -> Self {
        let mut turns = BTreeMap::<String, Vec<_>>::new();
        for said in view.said.values().map(Arc::as_ref) {
            let is_fenced = view.claimant(&said.spec) == ClaimantState::Fenced;
            for turn in
                said.spec.claims.iter().filter(|turn| !(is_fenced && memory.has_ended_turn(turn.turn)))
            {
                turns.entry(turn.block.to_string()).or_default().push((said, turn));
            }
        }
        let staying = view.claims.iter().filter(|claim| !is_leaving(&claim.object));
        let staying = staying.map(|claim| claim.wish.claim.uid.as_str());
        let ipam = view.ipam_claims.iter().flatten().map(|claim| &claim.object.metadata);
        let ipam = ipam.filter(|metadata| metadata.deletion_timestamp.is_none());
        let (mut of_claims, mut of_nodes) = (HashMap::<&str, Vec<_>>::new(), HashMap::<&str, Vec<_>>::new());
        for block in view.claim_blocks.iter().map(Arc::as_ref) {
            let Some(claimed) = &block.claimed else { continue };
            of_claims.entry(claimed.claim.uid.as_str()).or_default().push(block);
            let alternate = claimed.alternate.as_ref().map(|alternate| &*alternate.holder.name);
            let nodes: BTreeSet<&str> = alternate.into_iter().chain([&*block.block.holder.name]).collect();
            nodes.into_iter().for_each(|node| of_nodes.entry(node).or_default().push(block));
        }
        let surplus = surplus(view, &of_claims);
        Self {
            turns,
            of_claims,
            of_nodes,
            staying: staying.chain(ipam.filter_map(|metadata| metadata.uid.as_deref())).collect(),
            unsure: memory.definitions_unsure,
            ipam_unsure: memory.ipam_claims_unsure,
            surplus,
        }
    }

    /// Whether the lease of a claim's block ends once no node has the address.
    fn is_over(&self, block: &BlockView) -> bool {
        let claimed = block.claimed.as_ref();
        let stays = claimed.is_some_and(|claimed| self.staying.contains(claimed.claim.uid.as_str()));
        let is_ipam = claimed.is_some_and(|claimed| claimed.claim.is_ipam());
        let is_unsure = is_ipam && self.ipam_unsure;
        let is_gone = !stays && !is_unsure;
        let is_surplus = self.surplus.contains(block.name.as_str());
        !self.unsure && (block.block.deleting || is_gone || is_surplus)
    }

    /// The turns with a block that count: those of nodes that hold it, and of nodes that may have it.
    ///
    /// A node that is attested to be off, or whose Node is gone, may live on. If the block has lost its turn, that is given back to it, and waits in
    /// quarantine; only the leader that saw the end of that knows that it is over.
    fn turns_of(&self, view: &ClusterView, block: &BlockView) -> Vec<(&'a SaidView, &'a ClaimTurn)> {
        let pool = view.pool(block.block.pool.uid);
        let counts = |(said, turn): &&(&SaidView, &ClaimTurn)| match turn.state {
            TurnState::Held => {
                let has_turn =
                    block.claimed.as_ref().is_some_and(|of| of.turn.is_some() || of.alternate.is_some());
                view.claimant(&said.spec) != ClaimantState::Fenced || !has_turn
            }
            TurnState::Wanted => {
                let is_admitted = pool.is_some_and(|pool| view.admits(pool, &said.spec));
                is_admitted && !has_elsewhere(view, &said.spec, block)
            }
        };
        self.turns.get(&block.name).into_iter().flatten().filter(counts).copied().collect()
    }

    /// Notes the nodes that want a claim's address and do not get it: those that the pool does not admit, and those that have it already of another overlap
    /// group.
    pub(super) fn note_waiting(&self, view: &ClusterView, waiting: &mut WaitingNodes) {
        for block in &view.claim_blocks {
            let turns = self.turns.get(&block.name).into_iter().flatten();
            let wanted = turns.filter(|(said, turn)| {
                let is_wanted = turn.state == TurnState::Wanted;
                is_wanted && !ClusterView::has_turn_with(block, &said.spec)
            });
            let pool = view.pool(block.block.pool.uid);
            for (said, _) in wanted {
                let Some(reason) = refusal(view, pool, &said.spec, block) else { continue };
                let key = (block.block.pool.uid, is_ipv6(block.block.cidr));
                waiting.entry(key).or_default().insert(said.spec.identity.name.to_string(), reason);
            }
        }
    }

    /// The blocks that a node is asked to give up once no pod has their address. If the node looks dead and lives after all, it hears so before its turn ends, and
    /// again once the turn is another's: it hands the address to no further pod.
    pub(super) fn asked_back(&self, view: &ClusterView, said: &SaidView) -> Vec<String> {
        let own = self.of_nodes.get(&*said.spec.identity.name).into_iter().flatten().copied();
        let own = own.filter(|block| ClusterView::has_turn_with(block, &said.spec));
        let wanted_elsewhere = |block: &BlockView| {
            self.turns_of(view, block)
                .iter()
                .filter(|(other, _)| other.spec.identity.name != said.spec.identity.name)
                .any(|(_, turn)| turn.state == TurnState::Wanted || !self.has_ended(block, turn))
        };
        let looks_dead = |block: &BlockView| {
            block.block.phase == BlockPhase::Quarantined && said.spec.counts_for(&block.block)
        };
        let own = own.filter(|block| self.is_over(block) || looks_dead(block) || wanted_elsewhere(block));
        let held = said.spec.claims.iter().filter(|turn| turn.state == TurnState::Held);
        let lost = held.filter_map(|turn| {
            view.claim_block(&turn.block.to_string()).filter(|block| self.has_ended(block, turn))
        });
        let names: BTreeSet<&str> = own.chain(lost).map(|block| block.name.as_str()).collect();
        names.into_iter().map(str::to_owned).collect()
    }

    /// Whether a turn that a node says it has is over, and is not given back to it: the block names another turn, or this leader ended it when the node was
    /// fenced.
    fn has_ended(&self, block: &BlockView, said: &ClaimTurn) -> bool {
        let Some(claimed) = &block.claimed else { return false };
        let alternate = claimed.alternate.as_ref().map(|alternate| alternate.turn);
        let named = [claimed.turn, alternate];
        let mut known = self.turns.get(&block.name).into_iter().flatten();
        let counts = known.any(|(_, turn)| turn.turn == said.turn);
        !named.contains(&Some(said.turn)) && (named.iter().any(Option::is_some) || !counts)
    }
}

/// The reason for which a node that wants the address of a claim does not get its turn.
fn refusal(
    view: &ClusterView,
    pool: Option<&PoolView>,
    said: &NodeIpamSpec,
    block: &BlockView,
) -> Option<WaitReason> {
    let pool = pool?;
    if pool.selector.is_none() {
        return Some(invalid_selector(pool));
    }
    if !view.admits(pool, said) {
        return Some(refused(&GrantRefusal::NotAdmitted));
    }
    has_elsewhere(view, said, block).then(|| {
        let message = format!("the node has {} already, of another overlap group", block.block.cidr.addr());
        WaitReason { reason: ADDRESSES_HELD, message }
    })
}

/// Whether a node has a claim's address already, of another overlap group: in a block, or as the address of another claim, of two that it wants the
/// one with the lower name.
fn has_elsewhere(view: &ClusterView, said: &NodeIpamSpec, block: &BlockView) -> bool {
    let address = block.block.cidr;
    let mut blocks = view.blocks_of(said).filter(|other| other.group != block.group);
    let mut turns = said.claims.iter().filter(|turn| turn.block.group() != block.group);
    blocks.any(|other| other.block.cidr.contains(&address))
        || turns.any(|turn| {
            let comes_first = turn.state == TurnState::Held || turn.block.group() < block.group.as_str();
            turn.block.cidr() == address && comes_first
        })
}

/// Decides about all claims and their blocks, about so many of them in turn.
pub(super) fn claims(
    view: &ClusterView,
    (facts, held): (&ClaimFacts<'_>, &HeldClaims),
    memory: &mut OperatorMemory,
    now: WriteTime,
) -> Vec<OperatorWrite> {
    let may_grant = memory.barrier.may_grant() && !view.words_missing;
    let addresses = ClaimAddresses::new(view, memory, held);
    let mut leasing = ClaimLeasing { view, facts, may_grant, addresses };
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
        writes.extend(status(view, claim, place, is_leaving, now));
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
        match self.addresses.pick(wish) {
            Ok(lease) => FoundLease::Begins(lease),
            Err(why) => FoundLease::Waits(why),
        }
    }
}

/// Whether a block is of a wish's claim and family.
fn is_of(block: &BlockView, wish: &ClaimWish) -> bool {
    let is_claims = block.claimed.as_ref().is_some_and(|of| of.claim.uid == wish.claim.uid);
    is_claims && wish.is_ipv6.is_none_or(|ipv6| is_ipv6(block.block.cidr) == ipv6)
}

/// The block of a wish: of those that two leaders may have leased, the one that the claim's status names, else one with a turn, else the first.
fn kept<'a>(blocks: impl Iterator<Item = &'a BlockView>, wish: &ClaimWish) -> Option<&'a BlockView> {
    blocks.filter(|block| is_of(block, wish)).min_by_key(|block| {
        let is_told = wish.before == Some(block.block.cidr.addr());
        let has_turn = block.claimed.as_ref().is_some_and(|claimed| claimed.turn.is_some());
        (!is_told, !has_turn)
    })
}

/// The names of the blocks of claims that have another one of the family.
fn surplus<'a>(view: &'a ClusterView, of_claims: &HashMap<&'a str, Vec<&'a BlockView>>) -> BTreeSet<&'a str> {
    let ipam = view.ipam_claims.iter().flatten().flat_map(|claim| &claim.wishes);
    let wishes = view.claims.iter().map(|claim| &claim.wish).chain(ipam);
    let surplus = wishes.flat_map(|wish| {
        let blocks = of_claims.get(wish.claim.uid.as_str()).map(Vec::as_slice).unwrap_or_default();
        let kept = kept(blocks.iter().copied(), wish).map(|block| &block.name);
        let others = blocks.iter().filter(move |block| is_of(block, wish) && Some(&block.name) != kept);
        others.map(|block| block.name.as_str()).collect::<Vec<_>>()
    });
    surplus.collect()
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
