//! As many single addresses as the largest instances have: each source finds its table, and few rules are asked for it.

use std::net::{IpAddr, Ipv4Addr};

use super::{fake, fresh, node};
use crate::node::{CloudInterface, NodeNetwork, Pod};
use crate::plan::KernelPlan;
use crate::seen::ObservedState;
use crate::wanted::DesiredState;

/// A node with 14 secondary interfaces of some addresses each, spread over a /20 as EC2 does it.
fn crowd(each: u32) -> NodeNetwork {
    let mut node = node();
    let template = node.secondary[0].clone();
    let spread = |number: u32| {
        // Coprime, so that no address is met twice.
        let at = number.wrapping_mul(1_241) % 4_064;
        IpAddr::V4(Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 16, 16)) + at))
    };
    let interfaces = (1..15_u32).map(|device| CloudInterface {
        name: format!("eth{device}"),
        device,
        addresses: vec![format!("10.0.{device}.10/20").parse().unwrap()],
        carries: (0..each).map(|at| spread((device - 1) * 49 + at).into()).collect(),
        ..template.clone()
    });
    node.secondary = interfaces.collect();
    let pods = node.secondary.iter().map(|interface| Pod {
        addresses: interface.carries.iter().map(ipnet::IpNet::addr).collect(),
        link: format!("eni-{}", interface.name),
    });
    node.pods = pods.collect();
    node
}

/// The kernel of such a node.
fn settled(node: &NodeNetwork) -> ObservedState {
    let mut seen = fresh(node);
    fake::settle(&DesiredState::of(node).unwrap(), &mut seen);
    seen
}

#[test]
fn each_source_finds_its_table_and_few_rules_are_asked() {
    let mut worst = Vec::new();
    for each in [2, 17, 49] {
        let node = crowd(each);
        let seen = settled(&node);
        let mut most = 0;
        for interface in &node.secondary {
            for address in interface.carries.iter().map(ipnet::IpNet::addr) {
                let (table, asked) = fake::source(&seen, address);
                assert_eq!(table, Some(9001 + interface.device), "{address}");
                most = most.max(asked);
            }
        }
        for stranger in ["10.0.16.3", "10.0.31.255", "192.0.2.1", "0.0.0.0", "255.255.255.255"] {
            let (table, asked) = fake::source(&seen, stranger.parse().unwrap());
            assert_eq!(table, None, "{stranger}");
            most = most.max(asked);
        }
        worst.push(most);
    }
    assert!(worst[2] < 110, "of 28, 238 and 686 addresses, {worst:?} rules are asked");
    let (own, _) = fake::source(&settled(&crowd(49)), "10.0.3.10".parse().unwrap());
    assert_eq!(own, Some(9004), "an interface's own address is asked after the buckets");
}

#[test]
fn growing_and_shrinking_never_takes_a_pods_way() {
    let whole = crowd(12);
    let mut seen = fresh(&whole);
    for size in [0, 2, 5, 12, 7, 2, 0] {
        let mut node = whole.clone();
        for (interface, pod) in node.secondary.iter_mut().zip(&mut node.pods) {
            interface.carries.truncate(size);
            pod.addresses.truncate(size);
        }
        let wanted = DesiredState::of(&node).unwrap();
        fake::migrate(&node, &wanted, &mut seen);
        assert!(KernelPlan::of(&wanted, &seen).is_empty());
        for interface in &node.secondary {
            for address in interface.carries.iter().map(ipnet::IpNet::addr) {
                assert_eq!(
                    fake::source(&seen, address).0,
                    Some(9001 + interface.device),
                    "{address} of {size}"
                );
            }
        }
    }
}
