//! Values that many lines have in common are kept once, and only where all of it is the same.

use std::sync::Arc;

use ipnet::IpNet;
use tenure_ledger::Delegation;
use tenure_types::{
    Allocation, AssignedAddress, Attributes, ContainerId, DelegateName, InterfaceName, Moment, Owner,
    PolicyName, PolicyStamp, PoolName, RangeName, Source,
};

use super::*;

#[test]
fn addresses_share_the_source_that_they_have_in_common() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let image = any::image().new_tree(&mut runner).unwrap().current();
    let allocation = any::allocation().new_tree(&mut runner).unwrap().current();
    let plain = Source {
        pool: Some(PoolName::new("eni").unwrap()),
        range: Some(RangeName::new("r").unwrap()),
        gateway: None,
        pool_attributes: Attributes::default(),
        range_attributes: Attributes::default(),
    };
    let some = Attributes::new([("interface", "eni-1")]).unwrap();
    let sources = [
        Source { pool_attributes: some.clone(), ..plain.clone() },
        Source { range_attributes: some, ..plain.clone() },
        Source { gateway: Some([10, 0, 0, 1].into()), ..plain.clone() },
        Source { pool: None, ..plain.clone() },
        Source { range: None, ..plain.clone() },
    ];
    let address = |(source, last): (Source, u8)| {
        let ip = IpNet::from(std::net::IpAddr::from([10, 0, 0, last]));
        AssignedAddress { address: ip, source: Arc::new(source), attributes: Attributes::default() }
    };
    // Each comes right after the plain one, from which it differs in one thing.
    let addresses =
        sources.into_iter().flat_map(|source| [plain.clone(), source]).zip(1..).map(address).collect();
    let image = Image { allocations: vec![Arc::new(Allocation { addresses, ..allocation })], ..image };
    let read = Books::default().image_of(ledger::items(image.clone())).unwrap();
    assert_eq!(read, image);
    let read = &read.allocations[0].addresses;
    assert!(Arc::ptr_eq(&read[0].source, &read[8].source));
}

#[test]
fn allocations_share_the_policy_that_they_have_in_common() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let image = any::image().new_tree(&mut runner).unwrap().current();
    let allocation = any::allocation().new_tree(&mut runner).unwrap().current();
    let of = |(name, digest): (&str, &str)| {
        let policy = Arc::new(PolicyStamp { name: PolicyName::new(name).unwrap(), digest: digest.into() });
        Arc::new(Allocation { policy, ..allocation.clone() })
    };
    let policies = [("a", "1"), ("a", "2"), ("b", "2"), ("b", "2"), ("a", "1")];
    let image = Image { allocations: policies.map(of).to_vec(), ..image };
    let read = Books::default().image_of(ledger::items(image.clone())).unwrap();
    assert_eq!(read, image);
    for (first, second) in [(2, 3), (0, 4)] {
        assert!(Arc::ptr_eq(&read.allocations[first].policy, &read.allocations[second].policy));
    }
}

#[test]
fn delegations_share_what_the_delegate_was_asked_with() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let network = any::network_name().new_tree(&mut runner).unwrap().current();
    let delegation = |last: u8| Delegation {
        network: network.clone(),
        owner: Owner::Unknown { address: [10, 0, 0, last].into() },
        delegate: DelegateName::new("azure").unwrap(),
        container: ContainerId::new("c").unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
        netns: "".into(),
        ipam: "{}".into(),
        since: Moment::default(),
        given: None,
    };
    let written = Delegations::restore(7, [delegation(1), delegation(2)]);
    let read = read_back(&written);
    assert_eq!(read, written);
    let ipam: Vec<_> = read.all().map(|delegation| &delegation.ipam).collect();
    assert!(Arc::ptr_eq(ipam[0], ipam[1]));
}
