//! Drift: objects that somebody removes come back, and a stranger's stay as they are.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tenure_netlink::{
    DesiredState, Event, IpFamily, Kernel, KernelChange, KernelPlan, KernelRoute, Operation, RoutingRule,
    keep, numbers,
};
use tokio::sync::watch;

use crate::room::{library, shell};
use crate::suite::Suite;
use crate::world::World;

/// The longest wait for a repair. How fast it is on a machine that does nothing else is the book's matter.
const LONGEST: Duration = Duration::from_secs(30);

pub(crate) fn tests(suite: &mut Suite) {
    suite.test("what_is_removed_comes_back", comes_back);
    suite.test("a_route_that_is_changed_is_noticed_and_set_back", changed_routes);
    suite.test("a_sweep_of_all_rules_is_repaired_as_a_whole", sweep);
    suite.test("a_link_that_appears_later_gets_its_route", appears);
    suite.test("what_is_a_strangers_stays", strangers);
    suite.test("what_cannot_be_made_keeps_everything_from_being_removed", held);
    suite.test("all_that_is_ours_can_be_taken_back", back);
    suite.test("two_keepers_of_one_node_do_not_fight", two);
    suite.test("somebody_who_works_against_us_does_not_win", against);
    suite.test("changes_that_nothing_is_to_be_done_about_cost_few_looks", flapping);
    suite.test("a_wanted_change_is_carried_out_and_is_no_repair", change);
}

/// A keeper that runs in a world's node.
pub(crate) struct Keeper {
    /// The desired state that it is given.
    pub(crate) wanted: watch::Sender<Arc<DesiredState>>,
    events: Receiver<Event>,
}

impl Keeper {
    /// Starts it, and waits until nothing is left to do.
    pub(crate) fn start(world: &World) -> Self {
        let (wanted, receiver) = watch::channel(Arc::new(world.wanted()));
        let (report, events) = channel();
        let node = world.node.clone();
        thread::spawn(move || {
            library(&node, async || {
                // Ends when the test drops the sender of the desired state.
                let _ = keep(receiver, move |event| drop(report.send(event))).await;
            });
        });
        let keeper = Self { wanted, events };
        keeper.settled();
        keeper
    }

    /// Waits until nothing is left to do; returns what was applied and what was repaired until then.
    pub(crate) fn settled(&self) -> (Vec<Operation>, Vec<Operation>) {
        let (mut applied, mut repaired) = (Vec::new(), Vec::new());
        loop {
            match self.events.recv_timeout(LONGEST).expect("the keeper settles") {
                Event::Applied(operations) => applied.extend(operations),
                Event::Repaired(operations) => repaired.extend(operations),
                Event::Settled(_, left_out) if left_out.is_empty() => return (applied, repaired),
                Event::Failed(operation, error) => println!("failed: {operation}: {error}"),
                Event::Blind(error) => println!("blind: {error}"),
                Event::Settled(..) | Event::Noticed(_) | Event::Waiting(_) | Event::Unsettled(_) => {}
            }
        }
    }

    /// Waits until the watch has noticed a change of a route, before anything is repaired: a look at everything without a cause
    /// would find it much later.
    fn noticed(&self, how: &str) {
        loop {
            match self.events.recv_timeout(LONGEST).expect("the keeper notices") {
                Event::Noticed(KernelChange::Route(_)) => return,
                Event::Repaired(operations) => {
                    assert!(operations.is_empty(), "{how}: repaired unnoticed: {operations:?}");
                }
                _ => {}
            }
        }
    }

    /// Waits until something was repaired.
    pub(crate) fn repaired(&self) -> Vec<Operation> {
        loop {
            let (applied, repaired) = self.settled();
            assert_eq!(applied, [], "nothing else was wanted");
            if !repaired.is_empty() {
                return repaired;
            }
        }
    }
}

fn comes_back() {
    let world = World::whole();
    let keeper = Keeper::start(&world);
    let veth = &world.description.pods[1].link;
    for (how, subject) in [
        ("ip rule del pref 512".to_owned(), "rule"),
        ("ip -6 rule del pref 512".to_owned(), "rule"),
        ("ip rule del pref 1536 from 10.0.1.32/28".to_owned(), "rule"),
        ("ip route del 10.0.1.33 table 9000".to_owned(), "route"),
        ("ip -6 route del 2001:db8:0:1::33 table 9000".to_owned(), "route"),
        ("ip route flush table 9002".to_owned(), "route"),
        ("ip addr del 10.0.1.10/20 dev eth1".to_owned(), "address"),
        ("ip addr add 192.0.2.1/24 dev eth1".to_owned(), "address"),
        ("ip link set eth2 down".to_owned(), "link"),
        ("ip link set eth2 mtu 1500".to_owned(), "link"),
        ("nft delete chain ip tenure mark-out".to_owned(), "nftables"),
        ("nft flush chain ip tenure translate".to_owned(), "nftables"),
        ("nft delete element ip tenure within { 10.0.0.0-10.0.255.255 }".to_owned(), "nftables"),
        ("nft insert rule ip tenure translate accept".to_owned(), "nftables"),
        ("nft delete table ip tenure".to_owned(), "nftables"),
        ("nft flush ruleset".to_owned(), "nftables"),
        (
            format!(
                "ip route replace 10.0.1.33 dev eth0 table 9000; ip route del 10.0.1.33 dev eth0 table 9000; ip link set {veth} up"
            ),
            "route",
        ),
    ] {
        let begin = clock_gettime(ClockId::Monotonic);
        shell(&world.node, &how);
        let repaired = keeper.repaired();
        let end = clock_gettime(ClockId::Monotonic);
        let time = (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1_000_000;
        assert!(repaired.iter().any(|operation| operation.subject() == subject), "{how}: {repaired:?}");
        let left = world.plan();
        assert_eq!(left, KernelPlan::default(), "{how}");
        println!(
            "{how}: after {time} ms: {}",
            repaired.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        );
    }
}

fn changed_routes() {
    let world = World::whole();
    let keeper = Keeper::start(&world);
    let veth = &world.description.pods[1].link;
    for how in [
        "ip route replace 10.0.1.33 dev eth0 table 9000".to_owned(),
        format!("ip route change 10.0.1.33 dev {veth} mtu 1400 table 9000"),
        "ip route replace unreachable 10.0.1.33 table 9000".to_owned(),
        format!("ip route append 10.0.1.33 dev {veth} scope link src 10.0.0.10 table 9000"),
        "ip -6 route replace 2001:db8:0:1::33 dev eth0 table 9000".to_owned(),
        "ip route replace default via 10.0.0.1 dev eth1 onlink proto kernel src 10.0.1.10 table 9002"
            .to_owned(),
        "ip route add 192.0.2.0/24 dev eth1 table 9002".to_owned(),
        "ip route add 10.0.0.0/20 dev eth1 proto kernel scope link metric 7".to_owned(),
    ] {
        shell(&world.node, &how);
        keeper.noticed(&how);
        let repaired = keeper.repaired();
        assert!(repaired.iter().any(|operation| operation.subject() == "route"), "{how}: {repaired:?}");
        assert_eq!(world.plan(), KernelPlan::default(), "{how}");
    }
}

fn sweep() {
    let world = World::whole();
    let keeper = Keeper::start(&world);
    shell(
        &world.node,
        "for family in -4 -6; do ip $family rule flush; ip $family rule add pref 32766 lookup main; done
         ip route flush table 9000; nft flush ruleset",
    );
    let mut repaired = Vec::new();
    while world.plan() != KernelPlan::default() {
        repaired.extend(keeper.repaired());
    }
    println!("{}", repaired.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
}

fn appears() {
    let mut world = World::whole();
    let keeper = Keeper::start(&world);
    let waiting = crate::world::link(7, &["10.0.2.34"]);
    world
        .description
        .pods
        .push(tenure_netlink::Pod { addresses: waiting.addresses.clone(), link: waiting.host.to_string() });
    keeper.wanted.send(Arc::new(world.wanted())).unwrap();
    let (applied, repaired) = keeper.settled();
    assert_eq!((applied, repaired), (Vec::new(), Vec::new()));
    world.description.pods.pop();
    world.add_pod(7, &["10.0.2.34"]);
    loop {
        let (applied, repaired) = keeper.settled();
        assert_eq!(repaired, [], "a link that was waited for does not count as a repair");
        if applied.iter().any(|operation| operation.to_string().contains("10.0.2.34")) {
            break;
        }
    }
    assert_eq!(world.plan(), KernelPlan::default());
}

fn strangers() {
    let world = World::whole();
    shell(
        &world.node,
        "ip rule add pref 512 lookup 77; ip rule add pref 111 from 10.0.1.33 lookup 77 protocol kernel
         ip rule add pref 1536 from 10.0.1.0/24 lookup 77; ip rule add pref 1024 fwmark 0x80/0x80 lookup main
         ip rule add pref 512 iif lo lookup 9000 protocol kernel
         ip route add 192.0.2.0/24 dev eth1 table 77; ip route add 192.0.2.0/24 dev eth1 proto static
         nft 'table inet other { chain c { type filter hook forward priority 0; accept; }; }'
         ip -6 route add 2001:db8:7::/64 dev eth0",
    );
    let state = || {
        shell(
            &world.node,
            "ip -d rule; ip route show table all; nft list table inet other; ip -6 route show table all",
        )
    };
    let before = state();
    let plan = world.plan();
    assert_eq!(plan, KernelPlan::default(), "{plan:?}");
    let keeper = Keeper::start(&world);
    shell(&world.node, "nft delete table ip tenure; ip rule del pref 1535");
    let mut repaired = keeper.repaired();
    while repaired.len() < 2 {
        repaired.extend(keeper.repaired());
    }
    // The kernel's own routes of IPv6 come and go with its announcements on the link.
    let kernels =
        |line: &str| line.contains("table local") || line.contains("fe80::/") || line.contains("ff00::/");
    let lines = |text: &str| {
        let lines = text.lines().filter(|line| !kernels(line));
        let mut lines: Vec<String> = lines.map(|line| line.trim().to_owned()).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(lines(&before), lines(&state()));
}

fn held() {
    let world = World::whole();
    let rule = RoutingRule::new(IpFamily::V4, numbers::TO_PODS, numbers::POD_TABLE);
    let nowhere = KernelRoute::new(9002, "192.0.2.0/24".parse().unwrap(), "10.99.0.1".parse().ok(), "eth1");
    let operations = vec![
        Operation::SetRoute(nowhere.clone()),
        Operation::SetLink { name: "eth1".to_owned(), mtu: 1500 },
        Operation::RemoveRule(rule),
    ];
    let applied = world.apply(&KernelPlan { operations: operations.clone(), ..KernelPlan::default() });
    assert_eq!(applied.done, operations[1..2], "what can be made is made");
    let (failed, error) = applied.failed.first().unwrap();
    assert_eq!(*failed, operations[0]);
    assert!(
        error.to_string().starts_with("cannot set route 192.0.2.0/24 via 10.99.0.1 dev eth1 table 9002: "),
        "{error}"
    );
    assert_ne!(shell(&world.node, "ip rule show pref 512"), "");
}

fn back() {
    let world = World::new();
    let state = || {
        shell(
            &world.node,
            "ip -d rule; ip -6 -d rule; ip -4 route show table all | grep -v 'table local'; ip -6 route show table all | grep 90 || true; nft list ruleset",
        )
    };
    let before = state();
    world.settle();
    assert_ne!(state(), before);
    let nothing = DesiredState::default();
    let plan = library(&world.node, async || {
        let seen = Kernel::connect().unwrap().look(&nothing).await.unwrap();
        KernelPlan::of(&nothing, &seen)
    });
    assert!(plan.operations.iter().all(Operation::removes));
    assert!(world.apply(&plan).failed.is_empty());
    assert_eq!(state(), before);
}

fn two() {
    let world = World::whole();
    let keepers = [Keeper::start(&world), Keeper::start(&world)];
    shell(&world.node, "ip rule del pref 512; nft delete table ip tenure; ip route flush table 9000");
    while world.plan() != KernelPlan::default() {
        keepers[0].settled();
    }
    assert_eq!(shell(&world.node, "ip rule show pref 512 | wc -l"), "1", "not twice");
}

fn against() {
    let world = World::whole();
    let keeper = Keeper::start(&world);
    for _ in 0..5 {
        shell(&world.node, "ip rule del pref 1535; ip rule del pref 512");
        assert!(!keeper.repaired().is_empty());
    }
    while world.plan() != KernelPlan::default() {
        keeper.settled();
    }
}

/// A pod with the capability sets its own end down and up for five seconds.
fn flapping() {
    let world = World::whole();
    let keeper = Keeper::start(&world);
    shell(
        &world.pod(1),
        "end=$(($(date +%s) + 5)); while [ $(date +%s) -lt $end ]; do ip link set eth0 down; ip link set eth0 up; done",
    );
    let (mut noticed, mut looks) = (0, 0);
    for event in keeper.events.try_iter() {
        match event {
            Event::Noticed(_) => noticed += 1,
            Event::Settled(..) | Event::Unsettled(_) => looks += 1,
            _ => {}
        }
    }
    println!("{noticed} changes, {looks} looks");
    assert!((1..=25).contains(&looks), "{looks} looks, {noticed} changes");
    shell(&world.node, "ip route del 10.0.1.33 table 9000");
    assert!(!keeper.repaired().is_empty());
}

fn change() {
    let mut world = World::whole();
    let keeper = Keeper::start(&world);
    world.description.settings.snat = None;
    keeper.wanted.send(Arc::new(world.wanted())).unwrap();
    let (applied, repaired) = keeper.settled();
    assert_eq!(repaired, []);
    assert_eq!(applied.iter().map(Operation::subject).collect::<Vec<_>>(), ["nftables"]);
    world.description.settings.node_ports = false;
    world.description.secondary.pop();
    world.description.pods.pop();
    keeper.wanted.send(Arc::new(world.wanted())).unwrap();
    loop {
        let (_, repaired) = keeper.settled();
        assert_eq!(repaired, []);
        if world.plan().is_empty() {
            break;
        }
    }
    let tables = shell(
        &world.node,
        "nft list tables; ip rule show pref 1024; ip route show table 9003 2>/dev/null || true",
    );
    assert_eq!(tables, "");
}
