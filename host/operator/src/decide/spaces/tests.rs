use serde_json::json;
use tenure_cluster::convert::BlockLease;
use tenure_leases::space::MAX_RANGES;
use tenure_leases::{HolderIdentity, MachineHash};

use super::*;
use crate::view::{BlockView, KeptObject, PoolView, ViewSources, view};

/// A pool; one with a higher number is younger.
fn pool(number: u128, cidrs: &[&str], prefix: u8) -> KeptObject<PoolView> {
    KeptObject::of(serde_json::from_value(pool_object(number, cidrs, prefix)).unwrap())
}

fn pool_object(number: u128, cidrs: &[&str], prefix: u8) -> serde_json::Value {
    json!({
        "apiVersion": "ipam.tenure.dev/v1alpha1",
        "kind": "AddressPool",
        "metadata": {
            "name": format!("p{number}"),
            "uid": Uid(number).to_string(),
            "resourceVersion": "1",
            "creationTimestamp": format!("2026-01-01T00:00:{number:02}Z"),
        },
        "spec": { "ipv4": { "cidrs": cidrs, "blockPrefix": prefix } },
    })
}

/// A block of a pool, leased in a range that is not there any more.
fn block(number: u128, cidr: &str) -> KeptObject<BlockView> {
    let pool = PoolKey { name: format!("p{number}").into(), uid: Uid(number) };
    let holder = HolderIdentity { name: "n1".into(), uid: Uid(11), machine: MachineHash(12), boot: Uid(13) };
    let (group, cidr, range) = ("default".to_owned(), cidr.parse().unwrap(), RangeId(7));
    let mut object = BlockLease { group, cidr, range, pool, holder }.object().unwrap();
    object.metadata.uid = Some(Uid(21).to_string());
    object.metadata.resource_version = Some("1".into());
    KeptObject::of(object)
}

/// The ranges that are made when there is no space, and the pools of which one is refused.
fn made(view: &ClusterView) -> (Vec<String>, Vec<Uid>) {
    let decisions = spaces(view, &HeldClaims::default(), true);
    let ranges = decisions.writes.iter().flat_map(|write| match write {
        OperatorWrite::Space { space, .. } => space.ranges(),
        other => panic!("{other:?}"),
    });
    let ranges = ranges.map(|range| format!("{} {} {}", range.pool.name, range.cidr, range.id));
    (ranges.collect(), decisions.refused.overlapping.into_iter().collect())
}

fn without_space(pools: Vec<KeptObject<PoolView>>, blocks: Vec<KeptObject<BlockView>>) -> ClusterView {
    view(ViewSources { pools, blocks, ..ViewSources::default() })
}

/// The ranges without their random ids.
fn names(ranges: &[String]) -> Vec<&str> {
    ranges.iter().map(|range| range.rsplit_once(' ').unwrap().0).collect()
}

#[test]
fn the_addresses_of_a_pool_that_cannot_be_read_go_to_no_other_pool() {
    let mut object = pool_object(1, &["10.0.0.0/24"], 26);
    object["spec"]["usage"] = json!("Loans");
    let later = || KeptObject::of(serde_json::from_value(object.clone()).unwrap());
    let younger = || pool(2, &["10.0.0.0/24"], 26);
    let blocks = || vec![block(1, "10.0.0.64/26")];
    let refused = |pools| made(&without_space(pools, blocks())).1;
    assert_eq!(refused(vec![later(), younger()]), [Uid(2)]);
    assert_eq!(refused(vec![younger()]), [], "it is gone");
}

#[test]
fn a_space_without_room_is_no_overlap() {
    let taken = |number: usize| {
        let cidr = format!("10.0.{}.{}/32", number / 256, number % 256);
        json!({ "cidr": cidr, "source": "calico", "owner": "p" })
    };
    let mut object = pool_object(1, &["10.0.0.0/16"], 26);
    object["spec"]["taken"] = (0..MAX_RANGES).map(taken).collect();
    let first = KeptObject::of(serde_json::from_value(object).unwrap());
    let view = without_space(vec![first, pool(2, &["10.2.0.0/24"], 26)], vec![]);
    let refused = spaces(&view, &HeldClaims::default(), true).refused;
    assert_eq!((refused.overlapping, refused.without_room), ([].into(), [Uid(1)].into()));
}

#[test]
fn a_range_that_is_made_again_keeps_its_blocks() {
    let view = without_space(vec![pool(1, &["10.0.0.0/24"], 26)], vec![block(1, "10.0.0.64/26")]);
    assert_eq!(made(&view), (vec!["p1 10.0.0.0/24 0000000000000007".to_owned()], vec![]));
}

#[test]
fn without_the_space_a_pool_gets_no_range_with_blocks_that_are_not_its_own_cells() {
    // An older pool with smaller blocks wants the younger one's range, which only the space has refused so far.
    let pools = || vec![pool(1, &["10.0.0.0/24", "10.2.0.0/24"], 27), pool(2, &["10.2.0.0/24"], 26)];
    let (ranges, refused) = made(&without_space(pools(), vec![block(2, "10.2.0.64/26")]));
    assert_eq!(names(&ranges), ["p1 10.0.0.0/24", "p2 10.2.0.0/24"]);
    assert_eq!(refused, [Uid(1)]);
    // What is left of a range that was taken out of the one is not yet the other's.
    let pools = || vec![pool(1, &["10.0.0.0/24"], 27), pool(2, &["10.2.0.0/24"], 26)];
    let (ranges, refused) = made(&without_space(pools(), vec![block(1, "10.2.0.32/27")]));
    assert_eq!(names(&ranges), ["p1 10.0.0.0/24"]);
    assert_eq!(refused, [Uid(2)]);
    // The blocks of a pool that was deleted hold up no other one of their size, which is to replace them.
    let of_gone = |cidr| made(&without_space(vec![pool(2, &["10.2.0.0/24"], 26)], vec![block(1, cidr)])).1;
    assert_eq!((of_gone("10.2.0.64/26"), of_gone("10.2.0.32/27")), (vec![], vec![Uid(2)]));
    // A block that cannot be read keeps its cell by its name, and no cell of another size.
    let mut view = without_space(pools(), vec![]);
    view.unreadable_blocks = vec![("default".to_owned(), "10.2.0.64/26".parse().unwrap())];
    assert_eq!(made(&view).1, []);
    view.unreadable_blocks = vec![("default".to_owned(), "10.2.0.64/27".parse().unwrap())];
    assert_eq!(made(&view).1, [Uid(2)]);
    view.unreadable_blocks = vec![("other".to_owned(), "10.2.0.64/27".parse().unwrap())];
    assert_eq!(made(&view).1, []);
}
