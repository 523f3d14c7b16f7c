use crate::operator::grant::{
    GrantCandidate, GrantCase, GrantCell, GrantRefusal, entitle, grant, is_mine, sort_candidates,
};
use crate::operator::held::HeldVerdict;
use crate::tests::sample;
use crate::{IpBlock, LeasePool, MachineHash, RangeId, SpaceError, Uid};

#[test]
fn each_check_refuses_on_its_own() {
    let pool =
        LeasePool { max_blocks_per_node: Some(3), max_blocks: Some(9), ..LeasePool::new(sample::pool()) };
    let disabled = LeasePool { disabled: true, ..pool.clone() };
    let deleting = LeasePool { deleting: true, ..pool.clone() };
    let space = sample::space();
    let good = || GrantCase {
        barrier_passed: true,
        pool: &pool,
        node_admitted: true,
        want: 9,
        node_blocks: 2,
        kept_blocks: 2,
        node_total: 255,
        pool_blocks: 8,
    };
    let cell = |held| GrantCell { space: &space, range: RangeId(1), cidr: sample::block().cidr, held };
    let free = cell(HeldVerdict::Free);
    // A node that gets no block is refused before one is looked for.
    let refusal = |case: &GrantCase<'_>| {
        assert_eq!(entitle(case), grant(case, &free));
        entitle(case).unwrap_err()
    };
    use GrantRefusal::*;
    assert_eq!(grant(&good(), &free), Ok(()));
    assert_eq!(grant(&good(), &cell(HeldVerdict::Ignored)), Ok(()));
    assert_eq!(refusal(&GrantCase { barrier_passed: false, ..good() }), Barrier);
    assert_eq!(refusal(&GrantCase { pool: &disabled, ..good() }), PoolClosed);
    assert_eq!(refusal(&GrantCase { pool: &deleting, ..good() }), PoolClosed);
    assert_eq!(refusal(&GrantCase { node_admitted: false, ..good() }), NotAdmitted);
    assert_eq!(refusal(&GrantCase { want: 2, ..good() }), Satisfied);
    assert_eq!(refusal(&GrantCase { kept_blocks: 3, ..good() }), NodeQuota(3));
    // One that drains does not stand in the way of its replacement.
    assert_eq!(grant(&GrantCase { node_blocks: 3, ..good() }, &free), Ok(()));
    assert_eq!(refusal(&GrantCase { node_total: 256, ..good() }), NodeFull);
    assert_eq!(refusal(&GrantCase { pool_blocks: 9, ..good() }), PoolQuota(9));
    for held in [HeldVerdict::Taken, HeldVerdict::AboveQuota, HeldVerdict::Foreign, HeldVerdict::Reclaim] {
        assert_eq!(grant(&good(), &cell(held)), Err(Held));
    }
    let unknown = SpaceError::Unknown(RangeId(2));
    assert_eq!(grant(&good(), &GrantCell { range: RangeId(2), ..free }), Err(Space(unknown)));
}

#[test]
fn an_existing_block_is_mine_if_it_is_the_create_whose_reply_was_lost() {
    let mine = |change: fn(&mut IpBlock)| {
        let mut block = sample::block();
        change(&mut block);
        is_mine(&sample::holder(), RangeId(1), &block)
    };
    assert!(mine(|_| ()));
    assert!(!mine(|block| block.holder = sample::stranger()));
    assert!(!mine(|block| block.holder.machine = MachineHash(0)));
    assert!(!mine(|block| block.holder.uid = Uid(0)));
    assert!(!mine(|block| block.range = RangeId(2)));
    assert!(!mine(|block| block.deleting = true));
    assert!(!mine(|block| block.mark = Some(sample::MARK)));
}

#[test]
fn unused_blocks_go_first_then_the_longest_released_in_an_order_of_the_nodes_own() {
    let candidate = |third: u32, released| GrantCandidate {
        cidr: format!("10.0.{third}.0/26").parse().unwrap(),
        released,
    };
    let all: Vec<_> = (0..20).map(|third| candidate(third, None)).collect();
    let order = |node: &str| {
        let mut all = all.clone();
        sort_candidates(node, &mut all);
        all
    };
    assert_eq!(order("n1"), order("n1"));
    assert_ne!(order("n1"), order("n2"));
    let mut used = [candidate(1, Some(7)), candidate(2, Some(3)), candidate(3, None)];
    sort_candidates("n1", &mut used);
    assert_eq!(used.map(|candidate| candidate.released), [None, Some(3), Some(7)]);
}
