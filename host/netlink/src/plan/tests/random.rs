//! Random states of the kernel: every one settles, and what is foreign is as it was.

use std::net::IpAddr;

use tenure_fixtures::random::many_seeds;

use super::{fake, fresh, node, of_ipamd};
use crate::nft::Shape;
use crate::node::Pod;
use crate::numbers::{FROM_PODS, MAIN, POD_TABLE, PROTOCOL, TO_PODS};
use crate::parts::{InterfaceAddress, IpFamily, KernelRoute, RoutingRule};
use crate::plan::KernelPlan;
use crate::wanted::DesiredState;

/// How many states are tried.
const ROUNDS: u64 = 2000;

/// A small generator (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(end).unwrap()).unwrap()
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    fn some<T: Clone>(&mut self, things: &[T]) -> Vec<T> {
        things.iter().filter(|_| self.coin()).cloned().collect()
    }
}

fn foreign_rules() -> Vec<RoutingRule> {
    let v4 = |priority, table| RoutingRule::new(IpFamily::V4, priority, table);
    let net = |text: &str| text.parse().unwrap();
    vec![
        v4(0, 255),
        v4(32766, MAIN),
        // Cilium's, which are of our protocol, too.
        v4(20, MAIN).to(net("10.0.0.33/32")),
        v4(109, MAIN).mark(0x80),
        v4(111, 11).from(net("10.0.1.33/32")),
        // Of our priority, but for other tables, with more conditions, or of another protocol.
        v4(TO_PODS, 77),
        v4(FROM_PODS, 77).from(net("10.0.9.0/24")),
        RoutingRule { special: true, ..v4(TO_PODS, POD_TABLE) },
        RoutingRule { protocol: 3, ..v4(TO_PODS, POD_TABLE) },
        RoutingRule { protocol: 3, ..v4(FROM_PODS, 9002).from(net("10.0.1.32/28")) },
        RoutingRule { protocol: 0, ..v4(TO_PODS, MAIN).to(net("10.0.7.7/32")) },
        RoutingRule { protocol: 0, ..v4(FROM_PODS, 2).from(net("10.0.7.7/32")) },
        v4(1024, 77).mark(0x80),
        v4(1535, 77).to(net("198.51.100.0/24")),
    ]
}

fn foreign_routes() -> Vec<KernelRoute> {
    let net = |text: &str| text.parse().unwrap();
    let via = |text: &str| text.parse::<IpAddr>().ok();
    vec![
        KernelRoute::new(MAIN, net("0.0.0.0/0"), via("10.0.0.1"), "eth0"),
        KernelRoute::new(MAIN, net("10.0.0.0/20"), None, "eth0"),
        KernelRoute::new(MAIN, net("10.0.7.7/32"), None, "veth7"),
        KernelRoute::new(8999, net("10.0.0.33/32"), None, "eni0"),
        KernelRoute::new(10000, net("10.0.0.33/32"), None, "eni0"),
        KernelRoute { protocol: 16, ..KernelRoute::new(MAIN, net("192.0.2.0/24"), None, "eth1") },
    ]
}

/// One state, settled; returns what the seed made for a failure's message.
fn try_one(seed: u64) {
    let mut random = Random(seed);
    let mut node = node();
    node.settings.adopt = random.coin();
    if random.coin() {
        node.settings.snat = None;
        node.settings.node_ports = random.coin();
    }
    let wanted = DesiredState::of(&node).unwrap();
    let mut seen = fresh(&node);
    if random.coin() {
        of_ipamd(&node, &mut seen);
    }
    let adopted_too = seen.rules.clone();
    seen.rules.clear();
    let foreign = (random.some(&foreign_rules()), random.some(&foreign_routes()));
    let on_primary =
        InterfaceAddress { device: "eth0".to_owned(), address: IpAddr::from([10, 0, 0, 10]), length: 20 };
    // Ours, or left from another time: also twice, and in any order.
    let mut others = node.clone();
    others.pods.push(Pod { addresses: vec![IpAddr::from([10, 0, 1, 44])], link: "eth9".to_owned() });
    others.secondary[1].carries = vec!["10.0.2.0/24".parse().unwrap()];
    others.secondary[0].device = 5;
    let others = DesiredState::of(&others).unwrap();
    for state in [&wanted, &others] {
        seen.rules.extend(random.some(&state.rules.iter().cloned().collect::<Vec<_>>()));
        for route in random.some(&state.routes.iter().cloned().collect::<Vec<_>>()) {
            seen.routes.retain(|other| other.key() != route.key());
            seen.routes.push(route);
        }
        for address in random.some(&state.addresses.iter().cloned().collect::<Vec<_>>()) {
            if !seen.addresses.contains(&address) {
                seen.addresses.push(address);
            }
        }
    }
    seen.rules.extend(adopted_too);
    seen.rules.extend(foreign.0.iter().cloned());
    for at in (1..seen.rules.len()).rev() {
        seen.rules.swap(at, random.below(at + 1));
    }
    seen.rules.sort_by_key(|rule| rule.priority);
    seen.routes.extend(foreign.1.iter().cloned());
    seen.addresses.push(on_primary.clone());
    seen.addresses.push(InterfaceAddress {
        device: "eth2".to_owned(),
        address: IpAddr::from([192, 0, 2, 9]),
        length: 24,
    });
    seen.table =
        [None, others.table.map(|table| table.shape()), Some(Shape::default())][random.below(3)].clone();
    if random.coin() {
        let gone = random.below(seen.links.len());
        seen.links.remove(gone);
    } else if random.coin() {
        let changed = random.below(3);
        seen.links[changed].mac = Some("02:00:00:00:00:99".parse().unwrap());
    }
    let times =
        |rules: &[RoutingRule], rule: &RoutingRule| rules.iter().filter(|other| *other == rule).count();
    let before: Vec<usize> = foreign.0.iter().map(|rule| times(&seen.rules, rule)).collect();
    fake::settle(&wanted, &mut seen);
    let after: Vec<usize> = foreign.0.iter().map(|rule| times(&seen.rules, rule)).collect();
    assert_eq!(before, after, "a foreign rule was touched");
    assert!(foreign.1.iter().all(|route| seen.routes.contains(route)), "a foreign route was touched");
    assert!(seen.addresses.contains(&on_primary), "the primary's address was touched");
    let plan = KernelPlan::of(&wanted, &seen);
    assert!(plan.is_empty());
    let ours = |rule: &&RoutingRule| rule.protocol == PROTOCOL && !foreign_rules().contains(rule);
    let mut left: Vec<&RoutingRule> = seen.rules.iter().filter(ours).collect();
    left.sort_unstable();
    assert_eq!(left, wanted.rules.iter().collect::<Vec<_>>(), "ours are exactly what is wanted");
}

#[test]
fn every_state_settles_and_nothing_foreign_is_touched() {
    for seed in many_seeds("netlink", ROUNDS).unwrap() {
        let outcome = std::panic::catch_unwind(|| try_one(seed));
        assert!(outcome.is_ok(), "failed; TENURE_SEED={seed} repeats it");
    }
}
