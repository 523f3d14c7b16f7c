//! Blocks that nodes hold without an IPBlock: leases that are lost, and claims that are not believed.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ipnet::IpNet;
use tenure_leases::operator::held::{ClaimantState, HeldCase, HeldVerdict, judge_missing};
use tenure_leases::space::overlap;
use tenure_leases::{HeldBlock, LeaseRules, NodeIpamSpec, RangeUse, TurnState, Uid};

use super::FamilyKey;
use crate::memory::OperatorMemory;
use crate::view::{ClusterView, SaidView, SpaceView, is_ipv6};

/// A node that says it holds a block of which there is no IPBlock.
#[derive(Debug, Clone)]
pub(super) struct HeldClaim {
    pub(super) node: String,
    pub(super) uid: Uid,
    /// The pool of the block's range; `None` if the block is not a cell of a range, or its pool is gone.
    pub(super) pool: Option<Uid>,
    pub(super) claimant: ClaimantState,
    pub(super) verdict: HeldVerdict,
}

impl HeldClaim {
    /// Whether the node's word keeps the block from being granted.
    pub(super) fn is_believed(&self) -> bool {
        self.verdict.is_believed()
    }

    /// Whether the words of a node that is gone are needed. A block of which no lease can be made again never waits in quarantine, and nobody ends it.
    fn is_evidence(&self) -> bool {
        let comes_back = matches!(self.verdict, HeldVerdict::Reclaim | HeldVerdict::AboveQuota);
        self.is_believed() && (comes_back || self.claimant != ClaimantState::Fenced)
    }
}

/// The blocks and addresses that nodes hold without a lease.
#[derive(Debug, Default)]
pub(super) struct HeldClaims {
    /// The claims by overlap group and block.
    pub(super) blocks: BTreeMap<(String, IpNet), Vec<HeldClaim>>,
    /// Addresses that nodes have, by overlap group, which are not blocks of a range nor addresses for claims: nothing that overlaps them is granted.
    pub(super) foreign: AddressesByGroup,
    /// The addresses of claims that nodes have, with a lease or without.
    pub(super) turns: AddressesByGroup,
}

/// Blocks and addresses by overlap group.
pub(super) type AddressesByGroup = HashMap<String, HashSet<IpNet>>;

impl HeldClaims {
    /// Whether a node is believed to hold an address of a range, as a block without a lease or as the address of a claim.
    pub(super) fn has(&self, group: &str, range: IpNet) -> bool {
        let believed = self.blocks.iter().filter(|(_, claims)| claims.iter().any(HeldClaim::is_believed));
        let blocks = believed.map(|(place, _)| place).filter(|(of, _)| of == group).map(|(_, held)| held);
        blocks.chain(self.turns.get(group).into_iter().flatten()).any(|held| overlap(*held, range))
    }

    /// Whether a block has addresses that a node has, and is not itself what the node has.
    pub(super) fn is_foreign(&self, group: &str, cidr: IpNet) -> bool {
        self.foreign.get(group).into_iter().flatten().any(|held| overlap(*held, cidr))
    }
}

/// The nodes that are believed to hold a block without an IPBlock.
pub(crate) fn believed(view: &ClusterView, memory: &OperatorMemory) -> BTreeSet<String> {
    let claims = claims(view, memory).blocks.into_values().flatten();
    claims.filter(HeldClaim::is_evidence).map(|claim| claim.node).collect()
}

/// Judges each `held` without an IPBlock.
pub(super) fn claims(view: &ClusterView, memory: &OperatorMemory) -> HeldClaims {
    let leases: BTreeSet<Uid> = view.blocks.iter().map(|view| view.block.uid).collect();
    let names: HashSet<(&str, IpNet)> =
        view.blocks.iter().map(|view| (&*view.group, view.block.cidr)).collect();
    let mut claims = HeldClaims::default();
    for said in view.said.values() {
        let mut missing = said.spec.held.iter().filter(|held| !leases.contains(&held.uid)).peekable();
        if missing.peek().is_none() {
            continue;
        }
        let mut counted = CountedBlocks::of(view, &said.spec);
        for held in missing {
            let groups = HeldGroups::of(view, &said.spec, held);
            for (group, space) in groups.all.iter().filter(|(group, _)| !names.contains(&(*group, held.cidr)))
            {
                let is_unclear = groups.clear != Some(*group);
                let claim = judge(view, memory, (said, held), (*group, *space, is_unclear), &mut counted);
                if let Some(claim) = claim {
                    claims.blocks.entry(((*group).to_owned(), held.cidr)).or_default().push(claim);
                }
            }
        }
    }
    for ((group, cidr), of_block) in &claims.blocks {
        if of_block.iter().any(|claim| claim.verdict == HeldVerdict::Foreign) {
            claims.foreign.entry(group.clone()).or_default().insert(*cidr);
        }
    }
    for (group, cidr) in held_turns(view, memory) {
        let ranges = view.spaces.get(group).into_iter().flat_map(|space| space.space.ranges());
        let mut blocks = ranges.filter(|range| range.usage == RangeUse::Blocks);
        if blocks.any(|range| overlap(range.cidr, cidr)) {
            // The pool was made again with another use.
            claims.foreign.entry(group.to_owned()).or_default().insert(cidr);
        }
        claims.turns.entry(group.to_owned()).or_default().insert(cidr);
    }
    claims
}

/// The count of a node's blocks, so that a lie costs others so much and no more.
struct CountedBlocks {
    /// The blocks of each pool and family.
    blocks: BTreeMap<FamilyKey, u32>,
    /// The cells that blocks overlap which are not cells themselves.
    foreign: u64,
}

impl CountedBlocks {
    /// Counts the IPBlocks of a node.
    fn of(view: &ClusterView, said: &NodeIpamSpec) -> Self {
        let mut blocks = BTreeMap::new();
        for leased in view.blocks_of(said) {
            *blocks.entry((leased.block.pool.uid, is_ipv6(leased.block.cidr))).or_default() += 1;
        }
        Self { blocks, foreign: 0 }
    }
}

/// Judges a node's word about a block of a group in which it has no IPBlock. `None` if the node does not hold it any more.
fn judge(
    view: &ClusterView,
    memory: &OperatorMemory,
    (said, held): (&SaidView, &HeldBlock),
    (group, space, is_unclear): (&str, &SpaceView, bool),
    counted: &mut CountedBlocks,
) -> Option<HeldClaim> {
    let (node, claimant) = (said.spec.identity.name.to_string(), view.claimant(&said.spec));
    let pool = space.space.grid(held.cidr).and_then(|range| view.pool(range.pool.uid));
    let key = pool.map(|pool| (pool.lease.key.uid, is_ipv6(held.cidr)));
    let case = HeldCase {
        space: &space.space,
        cidr: held.cidr,
        said: &said.spec,
        claimant,
        pool: pool.map(|pool| &pool.lease),
        selected: pool.is_some_and(|pool| view.admits(pool, &said.spec)),
        ended: memory.has_ended(&node, held.cidr),
        is_unclear,
        counted: key.and_then(|key| counted.blocks.get(&key).copied()).unwrap_or_default(),
        foreign_cells: counted.foreign,
    };
    let unreadable = view.unreadable_blocks.iter().any(|(of, cidr)| of == group && *cidr == held.cidr);
    let verdict = if unreadable {
        // There is an IPBlock, in words of another version: it is not lost.
        HeldVerdict::Taken
    } else {
        judge_missing(LeaseRules::ALL, &case)
    };
    if verdict == HeldVerdict::Foreign {
        counted.foreign = counted.foreign.saturating_add(space.space.cells_of(held.cidr));
    } else if let Some(key) = key.filter(|_| verdict.is_believed()) {
        *counted.blocks.entry(key).or_default() += 1;
    }
    let pool = key.map(|(pool, _)| pool);
    (verdict != HeldVerdict::Free).then_some(HeldClaim { node, uid: held.uid, pool, claimant, verdict })
}

/// The overlap groups in which a block may be that a node holds.
pub(super) struct HeldGroups<'a> {
    /// All of them: the one that the node names, or else each that has such addresses.
    all: Vec<(&'a str, &'a SpaceView)>,
    /// The one in which it is: the one that the node names, or else the only one, or else the only one of whose pool the node speaks. `None` if that is not
    /// clear, since the agent is of a version that names none.
    pub(super) clear: Option<&'a str>,
}

impl<'a> HeldGroups<'a> {
    pub(super) fn of(view: &'a ClusterView, said: &NodeIpamSpec, held: &'a HeldBlock) -> Self {
        let is_named = |group: &str| held.group.as_deref().is_none_or(|named| named == group);
        let named = view.spaces.iter().filter(|(group, _)| is_named(group));
        let all: Vec<(&str, &SpaceView)> = named
            .filter(|(_, space)| space.space.cells_of(held.cidr) > 0)
            .map(|(group, space)| (&**group, space.as_ref()))
            .collect();
        let demands = |(_, space): &&(&str, &SpaceView)| {
            let pool = space.space.grid(held.cidr).map(|range| range.pool.uid);
            let family = is_ipv6(held.cidr);
            said.demand.iter().any(|demand| Some(demand.pool.uid) == pool && demand.is_ipv6 == family)
        };
        let clear = match (held.group.as_deref(), all.as_slice()) {
            (Some(named), _) => Some(named),
            (None, [(only, _)]) => Some(*only),
            (None, several) => {
                let mut demanded = several.iter().filter(demands);
                let first = demanded.next().map(|(group, _)| *group);
                first.filter(|_| demanded.next().is_none())
            }
        };
        Self { all, clear }
    }
}

/// The addresses of claims that nodes have, by their words. A turn of a node that is gone is over once this leader ended it.
///
/// A node that a pool does not admit counts like any other: a store that was put back may lack its Node, its labels or the edit that admitted it, while
/// its pods go on. A turn that is only wanted keeps no address: no pod has it, and it ends once the claim has another one.
fn held_turns<'a>(
    view: &'a ClusterView,
    memory: &'a OperatorMemory,
) -> impl Iterator<Item = (&'a str, IpNet)> {
    let turns = view.said.values().flat_map(|said| said.spec.claims.iter().map(move |turn| (said, turn)));
    let held = turns.filter(|(said, turn)| {
        let is_over = memory.has_ended_turn(turn.turn) && view.claimant(&said.spec) == ClaimantState::Fenced;
        turn.state == TurnState::Held && !is_over
    });
    held.map(|(_, turn)| (turn.block.group(), turn.block.cidr()))
}
