//! The agent's half of NodeIPAM, composed from the ledger and from what the operator hints.
//!
//! ```text
//!   held      every block of the ledger
//!   acks      the ledger's standing answers; any other answer for as long as the hint has its mark
//!   returned  hinted leases that were given up, also once they are marked
//!   idle      the blocks that the plan spares; a frozen one, for as long as its pool and family want no further block
//!   demand    the wish, and at least what the node holds and keeps; a contested block is another's, so it is not kept
//!   heard     the operator's call, repeated: a leader that doubts the store waits for it
//! ```
//!
//! A frozen block has no addresses to spare, so the plan no longer names it. Left out of `idle`, it would look like one that the node needs, and the
//! operator would take its mark back and write it again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ipnet::IpNet;

use crate::agent::ledger::{LeaseHold, LedgerBlock};
use crate::node::{MAX_DEMANDS, MAX_HELD, MAX_POOLS, PoolEcho};
use crate::pool::MAX_WANT;
use crate::{
    BlockHint, CallId, ClaimTurn, HeldBlock, HolderIdentity, MarkAck, NodeIpamSpec, PoolDemand, PoolKey,
    TurnState, Uid,
};

/// The blocks that a node wishes to have of a pool in one family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolWish {
    /// The pool.
    pub pool: PoolKey,
    /// Whether it is about IPv6.
    pub is_ipv6: bool,
    /// The number of blocks in all; 0 if what it holds is enough.
    pub want: u32,
}

/// Everything that the agent's half is composed of.
#[derive(Debug)]
pub struct AgentFacts<'a> {
    /// The node.
    pub me: &'a HolderIdentity,
    /// The blocks of the ledger, each with its pool. The address of a claim is not among them.
    pub blocks: &'a [(PoolKey, LedgerBlock)],
    /// The overlap group of each block.
    pub groups: &'a BTreeMap<IpNet, Arc<str>>,
    /// The operator's hints.
    pub hints: &'a [BlockHint],
    /// Answers that the ledger does not have: refusals, and ready for leases that the node does not hold.
    pub answers: &'a [MarkAck],
    /// Leases that were given up.
    pub dropped: &'a BTreeSet<Uid>,
    /// Blocks that the plan spares.
    pub spare: &'a BTreeSet<IpNet>,
    /// The wishes, by pool and family.
    pub wishes: Vec<PoolWish>,
    /// The settings of pools that are in force.
    pub pools: Vec<PoolEcho>,
    /// The node's turns with the addresses of claims.
    pub claims: Vec<ClaimTurn>,
    /// The operator's call. It was read before `blocks`, and no block is being accepted that is not among them.
    pub call: Option<CallId>,
}

/// Composes the agent's half.
#[must_use]
pub fn compose(facts: AgentFacts<'_>) -> NodeIpamSpec {
    let rows = || facts.blocks.iter().map(|(_, row)| row);
    let group = |cidr: IpNet| facts.groups.get(&cidr).cloned();
    let held = rows().map(|row| HeldBlock { cidr: row.cidr, uid: row.uid, group: group(row.cidr) });
    // No more are accepted ([`accept`](crate::agent::accept)). A node that has more from an earlier version still speaks.
    let held = held.take(MAX_HELD).collect();
    let mut acks: Vec<MarkAck> = rows().filter_map(LedgerBlock::standing_ack).collect();
    let standing: BTreeSet<Uid> = acks.iter().map(|ack| ack.uid).collect();
    let asked = |ack: &&MarkAck| {
        facts
            .hints
            .iter()
            .any(|hint| hint.uid == ack.uid && hint.mark.is_some_and(|mark| mark.id == ack.mark))
    };
    acks.extend(facts.answers.iter().filter(asked).filter(|ack| !standing.contains(&ack.uid)));
    let gave_up = |uid: &Uid| facts.dropped.contains(uid) && rows().all(|row| row.uid != *uid);
    let returned = facts.hints.iter().map(|hint| hint.uid).filter(gave_up).collect();
    let is_idle = |(pool, row): &&(PoolKey, LedgerBlock)| match row.hold {
        LeaseHold::Open => facts.spare.contains(&row.cidr),
        LeaseHold::Frozen(_) => {
            !facts.wishes.iter().any(|wish| is_of(wish, pool, row) && grows(wish, facts.blocks))
        }
        LeaseHold::Cordoned(_) | LeaseHold::Doubted | LeaseHold::Contested => false,
    };
    let idle = facts.blocks.iter().filter(is_idle).map(|(_, row)| row.uid).collect();
    let demand = facts.wishes.iter().map(|wish| demand(wish, facts.blocks)).collect();
    NodeIpamSpec {
        identity: facts.me.clone(),
        held,
        demand,
        idle,
        returned,
        acks,
        pools: facts.pools,
        claims: facts.claims,
        heard: facts.call,
    }
}

/// Leaves out what is beyond the limits of the object's lists, for which the API server would refuse all of the words. What has been answered makes room for
/// the rest. A turn that is held is never left out: another node would get the address. A demand for nothing is left out first.
pub fn fit(said: &mut NodeIpamSpec) {
    if said.demand.len() > MAX_DEMANDS {
        said.demand.sort_by_key(|demand| demand.want == 0);
        said.demand.truncate(MAX_DEMANDS);
    }
    said.pools.truncate(MAX_POOLS);
    said.idle.truncate(MAX_HELD);
    said.returned.truncate(MAX_HELD);
    said.acks.truncate(MAX_HELD);
    let held = said.claims.iter().filter(|turn| turn.state == TurnState::Held).count();
    let mut left = MAX_HELD.saturating_sub(held);
    said.claims.retain(|turn| {
        let is_held = turn.state == TurnState::Held;
        let fits = is_held || left > 0;
        if !is_held {
            left = left.saturating_sub(1);
        }
        fits
    });
}

/// Whether there is nothing to write. The numbers of addresses go out with what else is new, and never by themselves.
#[must_use]
pub fn is_known(written: &NodeIpamSpec, now: &NodeIpamSpec) -> bool {
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

fn is_of(wish: &PoolWish, pool: &PoolKey, row: &LedgerBlock) -> bool {
    wish.pool == *pool && wish.is_ipv6 == row.cidr.addr().is_ipv6()
}

/// The blocks of a pool and family that the node keeps.
fn kept(wish: &PoolWish, blocks: &[(PoolKey, LedgerBlock)]) -> u32 {
    let stays = |(pool, row): &&(PoolKey, LedgerBlock)| is_of(wish, pool, row) && row.hold.stays();
    u32::try_from(blocks.iter().filter(stays).count()).unwrap_or(u32::MAX)
}

/// Whether the node wants more blocks than it keeps.
fn grows(wish: &PoolWish, blocks: &[(PoolKey, LedgerBlock)]) -> bool {
    wish.want > kept(wish, blocks)
}

fn demand(wish: &PoolWish, blocks: &[(PoolKey, LedgerBlock)]) -> PoolDemand {
    let own = blocks.iter().filter(|(pool, row)| is_of(wish, pool, row)).map(|(_, row)| row.usage);
    let (in_use, cooling) = own.fold((0_u32, 0_u32), |(in_use, cooling), usage| {
        let used = usage.in_use.saturating_add(usage.promised);
        (in_use.saturating_add(used), cooling.saturating_add(usage.cooling))
    });
    let want = wish.want.max(kept(wish, blocks)).min(MAX_WANT);
    PoolDemand { pool: wish.pool.clone(), is_ipv6: wish.is_ipv6, in_use, cooling, want }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::ledger::BlockUsage;
    use crate::tests::sample;
    use crate::{BlockMark, BlockName, MarkAnswer, MarkId, MarkReason, TurnId};

    const MARK: MarkId = MarkId(9);

    fn row(third: u8, hold: LeaseHold) -> (PoolKey, LedgerBlock) {
        let cidr = format!("10.0.{third}.0/26").parse().unwrap();
        let usage = BlockUsage { in_use: 2, promised: 1, cooling: 4, ..BlockUsage::default() };
        (sample::pool(), LedgerBlock { cidr, uid: Uid(third.into()), hold, usage })
    }

    fn say(blocks: &[(PoolKey, LedgerBlock)], want: u32, change: fn(&mut AgentFacts<'_>)) -> NodeIpamSpec {
        let (me, dropped, spare) = (sample::holder(), BTreeSet::from([Uid(1), Uid(77)]), BTreeSet::new());
        let groups = BTreeMap::from([("10.0.1.0/26".parse().unwrap(), "default".into())]);
        let wishes = vec![PoolWish { pool: sample::pool(), is_ipv6: false, want }];
        let mut facts = AgentFacts {
            me: &me,
            blocks,
            groups: &groups,
            hints: &[],
            answers: &[],
            dropped: &dropped,
            spare: &spare,
            wishes,
            pools: vec![],
            claims: vec![],
            call: None,
        };
        change(&mut facts);
        compose(facts)
    }

    #[test]
    fn a_frozen_block_stays_idle_until_the_node_wants_another() {
        let blocks =
            [row(1, LeaseHold::Open), row(2, LeaseHold::Frozen(MARK)), row(3, LeaseHold::Cordoned(MARK))];
        // The plan spares nothing: its addresses are no longer in the network.
        assert_eq!(say(&blocks, 0, |_| ()).idle, [Uid(2)]);
        assert_eq!(say(&blocks, 1, |_| ()).idle, [Uid(2)]);
        assert_eq!(say(&blocks, 2, |_| ()).idle, []);
        // The wish of another family is another's.
        let other = |facts: &mut AgentFacts<'_>| facts.wishes.iter_mut().for_each(|wish| wish.is_ipv6 = true);
        assert_eq!(say(&blocks, 2, other).idle, [Uid(2)]);
    }

    #[test]
    fn what_is_said_fits_and_names_each_turn_that_is_held() {
        let turn = |number: u64, state| {
            let block = BlockName::new("default", "10.0.0.9/32".parse().unwrap()).unwrap();
            ClaimTurn {
                block,
                turn: TurnId(number),
                state,
                pod: "default/db-0".into(),
                guest: None,
                claim: None,
            }
        };
        let wanted = (0..3).map(|number| turn(number, TurnState::Wanted));
        let held = (10..265).map(|number| turn(number, TurnState::Held));
        let mut said = say(&[], 0, |_| ());
        said.claims = wanted.chain(held).collect();
        said.returned = (0..300).map(Uid).collect();
        said.idle = said.returned.clone();
        said.acks = said
            .idle
            .iter()
            .map(|uid| MarkAck { uid: *uid, mark: MARK, answer: MarkAnswer::Ready })
            .collect();
        fit(&mut said);
        let turns: Vec<u64> = said.claims.iter().map(|turn| turn.turn.0).collect();
        assert_eq!((turns.len(), &turns[..2], turns[255]), (256, &[0, 10][..], 264));
        assert_eq!((said.returned.len(), said.idle.len(), said.acks.len()), (256, 256, 256));
        let demand = |want| {
            move |number| {
                let pool = PoolKey { uid: Uid(number), ..sample::pool() };
                PoolDemand { pool, is_ipv6: false, in_use: 0, cooling: 0, want }
            }
        };
        said.demand = (0..200).map(demand(0)).chain((200..300).map(demand(1))).collect();
        said.pools =
            (0..300).map(|number| PoolEcho { uid: Uid(number), generation: 1, excluded_in_use: 0 }).collect();
        fit(&mut said);
        let wanted = said.demand.iter().filter(|demand| demand.want > 0).count();
        assert_eq!((said.demand.len(), wanted, said.pools.len()), (256, 100, 128));
        said.claims = (0..258).map(|number| turn(number, TurnState::Held)).collect();
        fit(&mut said);
        assert_eq!(said.claims.len(), 258);
    }

    #[test]
    fn demand_counts_what_stays_and_numbers_alone_are_no_news() {
        let blocks = [row(1, LeaseHold::Open), row(2, LeaseHold::Frozen(MARK)), row(3, LeaseHold::Contested)];
        let said = say(&blocks, 0, |_| ());
        let [demand] = said.demand.as_slice() else { panic!("{said:?}") };
        assert_eq!((demand.want, demand.in_use, demand.cooling), (1, 9, 12));
        assert_eq!(say(&blocks, 1000, |_| ()).demand[0].want, MAX_WANT);
        // What the operator grants beside a contested block adds nothing to the wish, or the next pass would grant once more.
        let granted = [row(1, LeaseHold::Open), row(3, LeaseHold::Contested), row(4, LeaseHold::Open)];
        assert_eq!(say(&granted, 2, |_| ()).demand[0].want, 2);
        let mut later = said.clone();
        later.demand[0].in_use += 1;
        assert!(is_known(&said, &later));
        later.demand[0].want += 1;
        assert!(!is_known(&said, &later));
    }

    #[test]
    fn answers_last_as_long_as_their_marks_and_the_ledger_speaks_first() {
        let blocks = [row(1, LeaseHold::Open), row(2, LeaseHold::Frozen(MARK))];
        let said = say(&blocks, 0, |facts| {
            let cidr = "10.0.9.0/26".parse().unwrap();
            let mark = |id| Some(BlockMark { id: MarkId(id), why: MarkReason::Drain });
            let hint = |uid, mark| BlockHint { cidr, uid: Uid(uid), mark };
            facts.hints = Vec::leak(vec![hint(77, mark(5)), hint(2, mark(9)), hint(1, None)]);
            let answer =
                |uid, mark| MarkAck { uid: Uid(uid), mark: MarkId(mark), answer: MarkAnswer::Cordoned };
            facts.answers = Vec::leak(vec![answer(77, 5), answer(77, 4), answer(2, 9), answer(1, 3)]);
        });
        let acks: Vec<_> = said.acks.iter().map(|ack| (ack.uid.0, ack.mark.0, ack.answer)).collect();
        assert_eq!(acks, [(2, 9, MarkAnswer::Ready), (77, 5, MarkAnswer::Cordoned)]);
        // A lease that the ledger has again was not given up.
        assert_eq!(said.returned, [Uid(77)]);
        let held: Vec<_> = said.held.iter().map(|held| (held.uid.0, held.group.as_deref())).collect();
        assert_eq!(held, [(1, Some("default")), (2, None)]);
    }
}
