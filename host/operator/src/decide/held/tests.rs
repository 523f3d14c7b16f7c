use serde_json::{Value, json};
use tenure_leases::{MachineHash, RangeId};

use super::*;
use crate::decide::decide;
use crate::decide::sample::{NOW, host, leader};
use crate::view::{BlockView, KeptObject, PoolView, SaidView, ViewSources, view};
use crate::writes::OperatorWrite;

/// A pool with a number for its uid, in an overlap group.
fn pool(number: u128, group: &str, spec: &Value) -> KeptObject<PoolView> {
    let mut spec = spec.clone();
    spec["overlapGroup"] = json!(group);
    let metadata = json!({
        "name": format!("p{number}"), "uid": Uid(number).to_string(), "resourceVersion": "1", "generation": 1,
        "creationTimestamp": format!("2026-01-01T00:00:{number:02}Z"), "finalizers": ["ipam.tenure.dev/in-use"],
    });
    KeptObject::of(serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap())
}

/// The space of a group, with a range for each pool: the CIDR, the unit, the use and the state.
fn space(group: &str, ranges: &[(u128, &str, u8, &str, &str)]) -> KeptObject<SpaceView> {
    let range = |(index, (pool, cidr, unit, usage, state)): (usize, &(u128, &str, u8, &str, &str))| {
        json!({
            "id": RangeId(u64::try_from(index).unwrap() + 1).to_string(), "cidr": cidr, "unit": unit,
            "usage": usage, "state": state, "pool": { "name": format!("p{pool}"), "uid": Uid(*pool).to_string() },
        })
    };
    let ranges: Vec<Value> = ranges.iter().enumerate().map(range).collect();
    let metadata = json!({ "name": group, "uid": Uid(900).to_string(), "resourceVersion": "1" });
    KeptObject::of(
        serde_json::from_value(json!({ "metadata": metadata, "spec": { "ranges": ranges } })).unwrap(),
    )
}

/// The words of a node's machine.
fn says(number: u32, held: &[Value], wants: &[(u128, &str, u32)], claims: &[Value]) -> KeptObject<SaidView> {
    let machine = MachineHash::of(&format!("m{number}"), &format!("s{number}")).unwrap();
    let demand = |(pool, family, want): &(u128, &str, u32)| {
        let (name, uid) = (format!("p{pool}"), Uid(*pool).to_string());
        json!({ "pool": name, "poolUID": uid, "family": family, "want": want })
    };
    let demand: Vec<Value> = wants.iter().map(demand).collect();
    let metadata = json!({
        "name": format!("n{number}"), "uid": Uid(1000 + u128::from(number)).to_string(), "resourceVersion": "1",
        "generation": 1,
    });
    let spec = json!({
        "nodeUID": node(number).to_string(), "machine": machine.to_string(), "bootID": Uid(3).to_string(),
        "held": held, "demand": demand, "claims": claims,
    });
    let said = KeptObject::<SaidView>::of(
        serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap(),
    );
    assert!(said.read.is_ok(), "{:?}", said.read);
    said
}

fn node(number: u32) -> Uid {
    Uid(100 + u128::from(number))
}

/// A block that a node holds, of a group or of one that it does not name.
fn held(cidr: &str, uid: u128, group: Option<&str>) -> Value {
    let mut held = json!({ "cidr": cidr, "uid": Uid(uid).to_string() });
    if let Some(group) = group {
        held["group"] = json!(group);
    }
    held
}

/// A leader's writes about two nodes, as far as they are about leases and ranges.
fn decided(
    pools: Vec<KeptObject<PoolView>>,
    spaces: Vec<KeptObject<SpaceView>>,
    said: Vec<KeptObject<SaidView>>,
    blocks: Vec<KeptObject<BlockView>>,
) -> Vec<String> {
    let hosts = vec![host(1, node(1)), host(2, node(2))];
    let view = view(ViewSources { pools, spaces, said, hosts, blocks, ..ViewSources::default() });
    assert!(
        view.unreadable.is_empty() && view.left_out.is_empty(),
        "{:?} {:?}",
        view.unreadable,
        view.left_out
    );
    let mut memory = leader();
    // A lost lease is a sign of a restored store: nothing is granted before the pause is over.
    writes(&view, &mut memory);
    memory.barrier.elapse(120);
    writes(&view, &mut memory)
}

fn writes(view: &ClusterView, memory: &mut OperatorMemory) -> Vec<String> {
    let mut writes: Vec<String> = decide(view, memory, "taint", NOW)
        .writes
        .iter()
        .filter_map(|write| match write {
            OperatorWrite::Grant(lease) => Some(word(("grants", lease))),
            OperatorWrite::Reclaim(lease) => Some(word(("makes again", lease))),
            OperatorWrite::Space { group, space, .. } => Some(format!("{group}: {}", space.ranges().len())),
            OperatorWrite::RemoveRanges { ranges, .. } => Some(format!("removes {}", ranges.len())),
            OperatorWrite::Block(_, name, ..) => Some(format!("changes {name}")),
            _ => None,
        })
        .collect();
    writes.sort();
    writes
}

fn word((what, lease): (&str, &tenure_cluster::convert::BlockLease)) -> String {
    format!("{what} {}.{} for {}", lease.group, lease.cidr, lease.holder.name)
}

#[test]
fn a_quota_counts_for_each_family_and_gives_no_lost_block_away() {
    let both = |quota: u32| {
        json!({
            "ipv4": { "cidrs": ["10.0.0.0/26"], "blockPrefix": 26 },
            "ipv6": { "cidrs": ["fd00::/122"], "blockPrefix": 122 }, "quota": { "maxBlocksPerNode": quota },
        })
    };
    let open = [(1, "10.0.0.0/26", 26, "Blocks", "Open"), (1, "fd00::/122", 122, "Blocks", "Open")];
    let lost = [held("10.0.0.0/26", 21, Some("default")), held("fd00::/122", 22, Some("default"))];
    let said = || vec![says(1, &lost, &[], &[]), says(2, &[], &[(1, "IPv6", 1), (1, "IPv4", 1)], &[])];
    let again = decided(vec![pool(1, "default", &both(1))], vec![space("default", &open)], said(), vec![]);
    assert_eq!(again, ["makes again default.10.0.0.0/26 for n1", "makes again default.fd00::/122 for n1"]);
    // A quota that was lowered since: the second block is not leased again, and nobody else gets it.
    let cidr = json!({ "ipv4": { "cidrs": ["10.0.0.0/25"], "blockPrefix": 26 }, "quota": { "maxBlocksPerNode": 1 } });
    let open = [(1, "10.0.0.0/25", 26, "Blocks", "Open")];
    let lost = [held("10.0.0.0/26", 21, Some("default")), held("10.0.0.64/26", 22, Some("default"))];
    let said = vec![says(1, &lost, &[], &[]), says(2, &[], &[(1, "IPv4", 1)], &[])];
    let again = decided(vec![pool(1, "default", &cidr)], vec![space("default", &open)], said, vec![]);
    assert_eq!(again, ["makes again default.10.0.0.0/26 for n1"]);
}

#[test]
fn without_a_quota_as_many_lost_leases_are_made_again_as_a_node_may_want() {
    let spec = json!({ "ipv4": { "cidrs": ["10.0.0.0/21"], "blockPrefix": 29 } });
    let cells = (0..256_u32).map(|cell| format!("10.0.{}.{}/29", cell / 32, cell % 32 * 8));
    let lost: Vec<Value> = cells.zip(1000..).map(|(cidr, uid)| held(&cidr, uid, None)).collect();
    let open = [(1, "10.0.0.0/21", 29, "Blocks", "Open")];
    let said = vec![says(1, &lost, &[], &[]), says(2, &[], &[(1, "IPv4", 1)], &[])];
    let again = decided(vec![pool(1, "default", &spec)], vec![space("default", &open)], said, vec![]);
    assert_eq!(again.iter().filter(|write| write.starts_with("makes again")).count(), 256);
    assert_eq!(again.len(), 256, "a block that is held was granted");
}

#[test]
fn a_lost_block_is_one_of_its_own_overlap_group() {
    let spec = json!({ "ipv4": { "cidrs": ["10.0.0.0/26"], "blockPrefix": 26 } });
    let pools = || vec![pool(1, "a", &spec), pool(2, "b", &spec)];
    let spaces = || {
        let of = |group, pool| space(group, &[(pool, "10.0.0.0/26", 26, "Blocks", "Open")]);
        vec![of("a", 1), of("b", 2)]
    };
    let wants = [(1, "IPv4", 1), (2, "IPv4", 1)];
    let said = |group, wants: &[(u128, &str, u32)]| {
        let lost = says(1, &[held("10.0.0.0/26", 21, group)], wants, &[]);
        vec![lost, says(2, &[], &[(2, "IPv4", 1)], &[])]
    };
    // The block of the other group is a neighbour's.
    let leased = |group| vec![lease(group, 2, 31)];
    let again = |group, blocks| decided(pools(), spaces(), said(group, &wants), blocks);
    assert_eq!(again(Some("b"), leased("a")), ["makes again b.10.0.0.0/26 for n1"], "it is not contested");
    assert_eq!(again(Some("b"), vec![]), ["makes again b.10.0.0.0/26 for n1"]);
    // An agent of an earlier version names none: the block may be the one or the other.
    assert_eq!(again(None, leased("a")), [""; 0]);
    assert_eq!(again(None, vec![]), [""; 0]);
    // It speaks of one pool alone.
    let one = decided(pools(), spaces(), said(None, &wants[1..]), leased("a"));
    assert_eq!(one, ["makes again b.10.0.0.0/26 for n1"]);
    let contested = decided(pools(), spaces(), said(Some("a"), &wants), leased("a"));
    assert!(contested.contains(&"changes a.10-0-0-0.26".to_owned()), "{contested:?}");
}

/// A lease of 10.0.0.0/26 in a group, of the node with this number.
fn lease(group: &str, number: u32, uid: u128) -> KeptObject<BlockView> {
    let machine = MachineHash::of(&format!("m{number}"), &format!("s{number}")).unwrap();
    let spec = json!({
        "group": group, "cidr": "10.0.0.0/26", "rangeID": RangeId(1).to_string(),
        "pool": { "name": "p1", "uid": Uid(1).to_string() }, "nodeName": format!("n{number}"),
        "nodeUID": node(number).to_string(), "machine": machine.to_string(), "bootID": Uid(3).to_string(),
    });
    let metadata = json!({
        "name": format!("{group}.10-0-0-0.26"), "uid": Uid(uid).to_string(), "resourceVersion": "1",
        "finalizers": ["ipam.tenure.dev/lease"],
    });
    let block = KeptObject::<BlockView>::of(
        serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap(),
    );
    assert!(block.read.is_ok(), "{:?}", block.read);
    block
}

#[test]
fn a_range_stays_while_a_node_holds_a_block_of_it_and_its_lease_is_made_again() {
    let old = json!({ "ipv4": { "cidrs": ["10.1.0.0/24"], "blockPrefix": 26 } });
    let young = json!({ "ipv4": { "cidrs": ["10.0.0.0/24"], "blockPrefix": 27 } });
    let pools = || vec![pool(1, "default", &old), pool(2, "default", &young)];
    let ranges = [(1, "10.0.0.0/24", 26, "Blocks", "Closed"), (1, "10.1.0.0/24", 26, "Blocks", "Open")];
    let said = |held: &[Value]| vec![says(1, held, &[], &[]), says(2, &[], &[(2, "IPv4", 1)], &[])];
    let after = |held: &[Value]| decided(pools(), vec![space("default", &ranges)], said(held), vec![]);
    assert_eq!(after(&[held("10.0.0.0/26", 21, None)]), ["makes again default.10.0.0.0/26 for n1"]);
    assert_eq!(after(&[]), ["removes 1"]);
    // A pool that was made again has another uid: its own range comes once the other one is gone, and the lease with it.
    let of_gone = [(7, "10.0.0.0/24", 26, "Blocks", "Closed"), (1, "10.1.0.0/24", 26, "Blocks", "Open")];
    let lost = said(&[held("10.0.0.0/26", 21, None)]);
    assert_eq!(decided(pools(), vec![space("default", &of_gone)], lost, vec![]), ["removes 1"]);
    // The address of a claim keeps its range, too.
    let turn = json!({ "block": "default.10-0-0-9.32", "turn": "0000000000000007", "state": "Held", "pod": "default/p" });
    let claims = [(1, "10.0.0.0/24", 32, "Claims", "Closed"), (1, "10.1.0.0/24", 26, "Blocks", "Open")];
    let said = vec![says(1, &[], &[], &[turn]), says(2, &[], &[(2, "IPv4", 1)], &[])];
    assert_eq!(decided(pools(), vec![space("default", &claims)], said, vec![]), [""; 0]);
}

#[test]
fn no_range_goes_before_every_node_could_say_what_it_holds() {
    let spec = json!({ "ipv4": { "cidrs": [], "blockPrefix": 26 } });
    let view = view(ViewSources {
        pools: vec![pool(1, "default", &spec)],
        spaces: vec![space("default", &[(1, "10.0.0.0/24", 26, "Blocks", "Closed")])],
        ..ViewSources::default()
    });
    let mut memory = leader();
    memory.doubt_store();
    assert_eq!(writes(&view, &mut memory), [""; 0]);
    assert_eq!(writes(&view, &mut leader()), ["removes 1"]);
}

#[test]
fn a_block_of_another_size_keeps_the_cells_that_it_overlaps() {
    // The definitions were deleted, and the pool was made again with smaller blocks.
    let spec = json!({ "ipv4": { "cidrs": ["10.0.0.0/26"], "blockPrefix": 28 } });
    let open = [(1, "10.0.0.0/26", 28, "Blocks", "Open")];
    let after = |held: &[Value], claims: &[Value]| {
        let said = vec![says(1, held, &[], claims), says(2, &[], &[(1, "IPv4", 4)], &[])];
        decided(vec![pool(1, "default", &spec)], vec![space("default", &open)], said, vec![])
    };
    let rest = ["grants default.10.0.0.32/28 for n2", "grants default.10.0.0.48/28 for n2"];
    assert_eq!(after(&[held("10.0.0.0/27", 21, Some("default"))], &[]), rest);
    assert_eq!(after(&[held("10.0.0.0/8", 21, Some("other"))], &[]).len(), 4, "another group's");
    // The same pool gave single addresses to claims.
    let turn = |block: &str| json!({ "block": block, "turn": "0000000000000007", "state": "Held", "pod": "default/p" });
    assert_eq!(after(&[], &[turn("default.10-0-0-5.32"), turn("default.10-0-0-17.32")]), rest);
}

#[test]
fn words_of_a_node_that_is_gone_are_kept_while_its_lease_can_be_made_again() {
    let spec = json!({ "ipv4": { "cidrs": ["10.0.0.0/26"], "blockPrefix": 26 } });
    let kept = |cidr: &str| {
        let view = view(ViewSources {
            pools: vec![pool(1, "default", &spec)],
            spaces: vec![space("default", &[(1, "10.0.0.0/26", 26, "Blocks", "Open")])],
            said: vec![says(1, &[held(cidr, 21, None)], &[], &[])],
            ..ViewSources::default()
        });
        believed(&view, &leader()).len()
    };
    assert_eq!((kept("10.0.0.0/26"), kept("10.0.0.0/27")), (1, 0));
}
