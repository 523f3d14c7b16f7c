//! Facts about claims in one pass: the turns that nodes say, and the leases that end.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tenure_cluster::convert::ClaimWish;
use tenure_leases::node::MAX_HELD;
use tenure_leases::operator::grant::GrantRefusal;
use tenure_leases::operator::held::ClaimantState;
use tenure_leases::{BlockPhase, ClaimKind, ClaimTurn, NodeIpamSpec, TurnState};

use super::super::attested::attested_off;
use super::super::grants::reasons::{invalid_selector, refused, unreadable_pool};
use super::super::{ADDRESSES_HELD, WaitReason, WaitingNodes};
use super::is_leaving;
use super::kept::{kept, surplus};
use super::lost::LostLeases;
use crate::memory::OperatorMemory;
use crate::view::{BlockView, ClusterView, PoolView, SaidView, is_ipv6};

/// The turns that nodes say, and the claims that are there.
pub(in crate::decide) struct ClaimFacts<'a> {
    /// By the name of the block.
    pub(super) turns: BTreeMap<String, Vec<(&'a SaidView, &'a ClaimTurn)>>,
    /// The blocks by the uid of their claim.
    pub(super) of_claims: HashMap<&'a str, Vec<&'a BlockView>>,
    /// The blocks by the nodes that they name, for a turn or for an alternate one.
    pub(super) of_nodes: HashMap<&'a str, Vec<&'a BlockView>>,
    /// The uids of the claims that nobody deletes.
    pub(super) staying: BTreeSet<&'a str>,
    /// Whether a definition is being deleted, or that is not known: then nobody asked for the end of a claim.
    pub(super) unsure: bool,
    /// The same of IPAMClaims.
    pub(super) ipam_unsure: bool,
    /// The blocks of claims that have another one of the family.
    pub(super) surplus: BTreeSet<&'a str>,
    /// The claims that have no lease.
    pub(super) lost: LostLeases<'a>,
    /// Whether all claims and blocks are known, and may be asked back.
    pub(super) knows_all: bool,
}

impl<'a> ClaimFacts<'a> {
    pub(in crate::decide) fn gather(view: &'a ClusterView, memory: &OperatorMemory) -> Self {
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
        let is_sure = memory.barrier.may_grant() && !memory.definitions_unsure;
        let mut facts = Self {
            turns,
            of_claims,
            of_nodes,
            staying: staying.chain(ipam.filter_map(|metadata| metadata.uid.as_deref())).collect(),
            unsure: memory.definitions_unsure,
            ipam_unsure: memory.ipam_claims_unsure,
            surplus,
            lost: LostLeases::default(),
            knows_all: is_sure && view.unreadable.is_empty(),
        };
        let turns = facts.turns.values().flatten().map(|(_, turn)| *turn);
        facts.lost = LostLeases::gather(view, turns, facts.unleased(view));
        facts
    }

    /// The wishes of claims that stay for which there is no lease, those of the oldest claims first.
    pub(super) fn unleased(&self, view: &'a ClusterView) -> impl Iterator<Item = &'a ClaimWish> {
        let ipam = view.ipam_claims.iter().flatten().flat_map(|claim| &claim.wishes);
        let wishes = view.claims.iter().map(|claim| &claim.wish).chain(ipam);
        wishes.filter(|wish| {
            let uid = wish.claim.uid.as_str();
            let blocks = self.of_claims.get(uid).into_iter().flatten();
            self.staying.contains(uid) && kept(blocks.copied(), wish).is_none()
        })
    }

    /// Whether the lease of a claim's block ends once no node has the address.
    pub(super) fn is_over(&self, block: &BlockView) -> bool {
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
    pub(super) fn turns_of(
        &self,
        view: &ClusterView,
        block: &BlockView,
    ) -> Vec<(&'a SaidView, &'a ClaimTurn)> {
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
    pub(in crate::decide) fn note_waiting(&self, view: &ClusterView, waiting: &mut WaitingNodes) {
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
    pub(in crate::decide) fn asked_back(&self, view: &ClusterView, said: &SaidView) -> Vec<String> {
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
        let over = held.filter_map(|turn| {
            let name = turn.block.to_string();
            let is_over = match view.claim_block(&name) {
                Some(block) => self.has_ended(block, turn),
                None => self.is_nobodys(turn),
            };
            is_over.then_some(name)
        });
        let names: BTreeSet<String> = own.map(|block| block.name.clone()).chain(over).collect();
        names.into_iter().take(MAX_HELD).collect()
    }

    /// Whether no claim gets the address of a turn of which there is no lease.
    fn is_nobodys(&self, turn: &ClaimTurn) -> bool {
        let may_be_ipam = turn.claim.as_ref().is_none_or(|claim| claim.kind == ClaimKind::Ipam);
        let is_unsure = !self.knows_all || (may_be_ipam && self.ipam_unsure);
        !is_unsure && !self.lost.is_awaited(turn)
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
    let Some(pool) = pool else {
        let name = view.unreadable_pools.get(&block.block.pool.uid);
        return name.map(|name| unreadable_pool(name));
    };
    if pool.selector.is_none() {
        return Some(invalid_selector(pool));
    }
    if let Some(reason) = attested_off(view, said) {
        return Some(reason);
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
