//! Moving over from ipamd: its rules for the same pods are replaced while traffic flows.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tenure_netlink::KernelPlan;

use crate::room::{enter, inside, shell};
use crate::suite::Suite;
use crate::world::{WITHIN, World};

/// The longest wait for an answer.
const LONGEST: Duration = Duration::from_secs(10);

pub(crate) fn tests(suite: &mut Suite) {
    suite.test("ipamds_rules_are_replaced_while_traffic_flows", replaced);
}

fn replaced() {
    let mut world = World::new();
    world.add_pod(0, &["10.0.0.33"]);
    world.add_pod(1, &["10.0.1.33"]);
    world.add_pod(2, &["10.0.2.33"]);
    let veths: Vec<String> = world.description.pods.iter().map(|pod| pod.link.clone()).collect();
    // What ipamd leaves on a node, as of v1.23.1; the rule of another pod of its own, too.
    let script = format!(
        "sysctl -qw net.ipv4.conf.eth0.rp_filter=2
         for at in 1 2; do
           ip link set eth$at mtu 9001 up; ip addr add 10.0.$at.10/20 dev eth$at noprefixroute
           ip route add 10.0.0.1 dev eth$at table $((at+1)); ip route add default via 10.0.0.1 dev eth$at table $((at+1))
           ip rule add pref 32765 from 10.0.$at.10 lookup $((at+1)) protocol 0
           ip rule add pref 1536 from 10.0.$at.33 lookup $((at+1)) protocol 0
         done
         ip route add 10.0.0.33 dev {0} scope link; ip route add 10.0.1.33 dev {1} scope link; ip route add 10.0.2.33 dev {2} scope link
         for pod in 10.0.0.33 10.0.1.33 10.0.2.33 10.0.1.44; do ip rule add pref 512 to $pod lookup main protocol 0; done
         ip rule add pref 1024 fwmark 0x80/0x80 lookup main protocol 0",
        veths[0], veths[1], veths[2]
    );
    shell(&world.node, &script);
    world.description.settings.adopt = true;
    let server = inside(&world.cloud, || UdpSocket::bind(format!("{WITHIN}:7")).unwrap());
    thread::spawn(move || {
        let mut buffer = [0; 64];
        while let Ok((length, from)) = server.recv_from(&mut buffer) {
            let _ = server.send_to(&buffer[..length], from);
        }
    });
    let (stop, counted) = (AtomicBool::new(false), std::sync::atomic::AtomicU64::new(0));
    let asked = &|at: usize| {
        enter(&world.pod(at));
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.connect(format!("{WITHIN}:7")).unwrap();
        socket.set_read_timeout(Some(LONGEST)).unwrap();
        let mut buffer = [0; 8];
        for number in 0_u64.. {
            socket.send(&number.to_be_bytes()).unwrap();
            socket.recv(&mut buffer).expect("not one packet is lost");
            assert_eq!(u64::from_be_bytes(buffer), number);
            counted.fetch_add(1, Ordering::Relaxed);
            if stop.load(Ordering::Relaxed) {
                return;
            }
        }
    };
    thread::scope(|scope| {
        let callers: Vec<_> = (0..3).map(|at| scope.spawn(move || asked(at))).collect();
        while counted.load(Ordering::Relaxed) < 100 && callers.iter().all(|caller| !caller.is_finished()) {
            thread::yield_now();
        }
        world.settle();
        let then = counted.load(Ordering::Relaxed);
        while counted.load(Ordering::Relaxed) < then + 100
            && callers.iter().all(|caller| !caller.is_finished())
        {
            thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
    });
    println!("{} packets there and back", counted.load(Ordering::Relaxed));
    let left = shell(&world.node, "ip -d rule show");
    let theirs: Vec<&str> = left.lines().filter(|line| line.contains("proto unspec")).collect();
    assert_eq!(theirs, ["512:\tfrom all to 10.0.1.44 lookup main proto unspec"], "{left}");
    assert_eq!(world.plan(), KernelPlan::default());
}
