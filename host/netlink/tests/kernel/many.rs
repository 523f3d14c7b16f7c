//! As many pods as the largest instances have.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};

use tenure_netlink::{KernelPlan, Operation, Pod};

use crate::room::shell;
use crate::suite::Suite;
use crate::traffic::{call, serve};
use crate::world::{OUTSIDE, WITHIN, World};

/// Pods of an instance with 15 interfaces of 50 addresses.
const PODS: u32 = 737;

pub(crate) fn tests(suite: &mut Suite) {
    suite.test("many_single_addresses_find_their_interfaces", single);
    suite.test("737_pods_are_one_plan_and_then_nothing", many);
}

fn single() {
    let mut world = World::new();
    world.add_pod(1, &["10.0.1.33"]);
    // Every second address is the other interface's: no two share a rule.
    let carried = |odd: u32| {
        let address = move |at: u32| Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 4, 0)) + 2 * at + odd);
        (0..340).map(move |at| ipnet::IpNet::from(IpAddr::V4(address(at))))
    };
    for (interface, odd) in world.description.secondary.iter_mut().zip([0, 1]) {
        interface.carries.extend(carried(odd));
    }
    world.settle();
    let veth = &world.description.pods[0].link;
    let way = |from: &str| shell(&world.node, &format!("ip route get {WITHIN} from {from} iif {veth}"));
    shell(&world.node, &format!("sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.{veth}.rp_filter=0"));
    for (from, device) in [
        ("10.0.4.0", "eth1"),
        ("10.0.4.1", "eth2"),
        ("10.0.5.140", "eth1"),
        ("10.0.6.167", "eth2"),
        ("10.0.1.33", "eth1"),
        ("10.0.9.9", "eth0"),
    ] {
        let way = way(from);
        assert!(way.contains(&format!("dev {device} ")), "{from}: {way}");
    }
    // Back to a few, through buckets that are taken down.
    for interface in &mut world.description.secondary {
        interface.carries.truncate(2);
    }
    world.settle();
    assert_eq!(shell(&world.node, "ip rule show | grep -c goto || true"), "0");
}

fn many() {
    let mut world = World::new();
    world.add_room("crowd");
    world.add_pod(0, &["10.0.0.33"]);
    world.description.secondary[0].carries =
        vec!["10.0.1.32/28".parse().unwrap(), "10.0.4.0/22".parse().unwrap()];
    let mut batch = String::new();
    for number in 0..PODS - 2 {
        let link = format!("eni{number}");
        writeln!(batch, "link add {link} type veth peer name e{number} netns crowd\nlink set {link} up")
            .unwrap();
        let address = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 4, 0)) + number);
        world.description.pods.push(Pod { addresses: vec![IpAddr::V4(address)], link });
    }
    world.add_pod(1, &["10.0.1.33"]);
    let mut ip =
        Command::new("ip").args(["-n", &world.node, "-batch", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut ip.stdin.take().unwrap(), batch.as_bytes()).unwrap();
    assert!(ip.wait().unwrap().success());
    let plan = world.plan();
    let count =
        |subject: &str| plan.operations.iter().filter(|operation| operation.subject() == subject).count();
    assert_eq!(count("route"), usize::try_from(PODS).unwrap() + 4, "one for each pod, and the interfaces'");
    assert_eq!(count("rule"), 1 + 1 + 1 + (2 + 2) + 2, "however many pods there are");
    world.settle();
    assert_eq!(world.plan(), KernelPlan::default());
    serve(&world.cloud, &format!("{OUTSIDE}:80"));
    for at in [0, 1] {
        assert_eq!(call(&world.pod(at), &format!("{OUTSIDE}:80")).unwrap(), "10.0.0.10");
    }
    assert_eq!(shell(&world.node, "ip route show table 9000 | wc -l"), PODS.to_string());
    // All of them leave at once.
    world.description.pods.truncate(1);
    let plan = world.plan();
    assert!(plan.operations.iter().all(Operation::removes), "{:?}", plan.operations.first());
    world.settle();
    assert_eq!(shell(&world.node, "ip route show table 9000 | wc -l"), "1");
}
