//! A small world: a node with three interfaces, the network that they lead to, and pods.
//!
//! ```text
//! pods ── node: eth0 10.0.0.10, eth1 10.0.1.10, eth2 10.0.2.10 ── cloud: 10.0.15.1 (within), 203.0.113.1 (outside)
//! ```
//!
//! The cloud drops what an interface sends with an address that it does not carry, as EC2 does: what gets through has taken the right
//! interface.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};

use tenure_netlink::{
    Applied, CloudInterface, DesiredState, Kernel, KernelPlan, LinkName, Netns, NodeNetwork, NodeSettings,
    Pod, PodLink,
};

use crate::room::{library, path, shell};

/// Numbers the worlds of this process.
static WORLDS: AtomicU32 = AtomicU32::new(0);

/// An address of the cloud network that belongs to no node.
pub(crate) const WITHIN: &str = "10.0.15.1";
/// An address outside of it.
pub(crate) const OUTSIDE: &str = "203.0.113.1";
/// An address outside of it that is always reached by the main table.
pub(crate) const EXTERNAL: &str = "198.51.100.1";
/// An IPv6 address of the cloud network.
pub(crate) const WITHIN_V6: &str = "2001:db8:ffff::1";
/// The MTU of all interfaces and pods.
pub(crate) const MTU: u32 = 9001;

/// The world.
pub(crate) struct World {
    /// The node's namespace.
    pub(crate) node: String,
    /// The cloud's namespace.
    pub(crate) cloud: String,
    /// The node's description.
    pub(crate) description: NodeNetwork,
    number: u32,
    rooms: Vec<String>,
}

impl World {
    /// A world without pods, in which nothing of ours is done yet.
    pub(crate) fn new() -> Self {
        let number = WORLDS.fetch_add(1, Ordering::Relaxed);
        let (node, cloud) = (format!("node{number}"), format!("cloud{number}"));
        let mut world = Self {
            description: description(),
            rooms: Vec::new(),
            node: node.clone(),
            cloud: cloud.clone(),
            number,
        };
        world.add_room(&node);
        world.add_room(&cloud);
        shell(&node, "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=1");
        shell(
            &cloud,
            "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.rp_filter=0",
        );
        for at in 0..3 {
            shell(
                &node,
                &format!(
                    "ip link add eth{at} mtu 1500 address 02:00:00:00:00:0{at} type veth peer name v{at} mtu {MTU} netns {cloud}"
                ),
            );
        }
        shell(
            &node,
            "ip link set eth0 up; ip addr add 10.0.0.10/20 dev eth0; ip route add default via 10.0.0.1",
        );
        for at in 0..3 {
            shell(
                &cloud,
                &format!(
                    "ip link set v{at} up; ip addr add 10.0.0.1/32 dev v{at}; ip route add 10.0.{at}.10 dev v{at}
                     ip route add 10.0.{at}.32/28 via 10.0.{at}.10 dev v{at} onlink
                     ip -6 addr add fe80:ec2::1/64 dev v{at} nodad
                     ip -6 neigh add fe80::a dev v{at} lladdr 02:00:00:00:00:0{at} nud permanent
                     ip -6 route add 2001:db8:0:{at}::/80 via fe80::a dev v{at}"
                ),
            );
        }
        shell(
            &cloud,
            &format!(
                "ip addr add {WITHIN}/32 dev lo; ip addr add {OUTSIDE}/32 dev lo; ip addr add {EXTERNAL}/32 dev lo
                 ip -6 addr add {WITHIN_V6}/128 dev lo
                 nft -f - <<'EOF'
                 table inet check {{ chain sources {{ type filter hook prerouting priority -300; policy accept;
                   iifname v0 ip saddr != {{ 10.0.0.10, 10.0.0.32/28 }} counter drop
                   iifname v1 ip saddr != {{ 10.0.1.10, 10.0.1.32/28 }} counter drop
                   iifname v2 ip saddr != {{ 10.0.2.10, 10.0.2.32/28 }} counter drop
                   iifname v1 ip6 saddr 2001:db8::/32 ip6 saddr != 2001:db8:0:1::/80 counter drop
                   iifname {{ v0, v2 }} ip6 saddr 2001:db8::/32 counter drop
                 }}\n}}\nEOF"
            ),
        );
        world
    }

    /// A world with three pods, one on each interface, all of which is set up.
    pub(crate) fn whole() -> Self {
        let mut world = Self::new();
        world.add_pod(0, &["10.0.0.33"]);
        world.add_pod(1, &["10.0.1.33", "2001:db8:0:1::33"]);
        world.add_pod(2, &["10.0.2.33"]);
        world.settle();
        world
    }

    /// Adds a namespace, which ends with the world.
    pub(crate) fn add_room(&mut self, name: &str) {
        let added = std::process::Command::new("ip").args(["netns", "add", name]).status().unwrap();
        assert!(added.success());
        self.rooms.push(name.to_owned());
        // Nobody else is on these links.
        shell(
            name,
            "ip link set lo up; sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0",
        );
    }

    /// Adds a pod with its link.
    pub(crate) fn add_pod(&mut self, at: usize, addresses: &[&str]) {
        let room = self.pod(at);
        self.add_room(&room);
        let link = link(at, addresses);
        let netns = Netns::open(path(&room)).unwrap();
        library(&self.node, async || link.make(&netns).await).unwrap();
        self.description.pods.push(Pod { addresses: link.addresses, link: link.host.to_string() });
    }

    /// The namespace of a pod.
    pub(crate) fn pod(&self, at: usize) -> String {
        format!("pod{}-{at}", self.number)
    }

    /// The desired state of the node.
    pub(crate) fn wanted(&self) -> DesiredState {
        DesiredState::of(&self.description).unwrap()
    }

    /// The changes that are left to make.
    pub(crate) fn plan(&self) -> KernelPlan {
        let wanted = self.wanted();
        library(&self.node, async || {
            let kernel = Kernel::connect().unwrap();
            KernelPlan::of(&wanted, &kernel.look(&wanted).await.unwrap())
        })
    }

    /// Carries a plan out.
    pub(crate) fn apply(&self, plan: &KernelPlan) -> Applied {
        library(&self.node, async || Kernel::connect().unwrap().apply(plan).await.unwrap())
    }

    /// Does what is left to do, after which nothing may be left.
    pub(crate) fn settle(&self) {
        let applied = self.apply(&self.plan());
        assert!(applied.failed.is_empty(), "{:?}", applied.failed);
        let left = self.plan();
        assert_eq!(left, KernelPlan::default());
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for room in &self.rooms {
            // What is left goes with the suite's own namespaces.
            let _ = std::process::Command::new("ip").args(["netns", "del", room]).status();
        }
    }
}

/// The expected link of a pod.
pub(crate) fn link(at: usize, addresses: &[&str]) -> PodLink {
    PodLink {
        host: LinkName::of("eni", "default", &format!("pod-{at}")).unwrap(),
        owner: format!("sandbox-{at}/eth0"),
        inside: "eth0".to_owned(),
        addresses: addresses.iter().map(|address| address.parse::<IpAddr>().unwrap()).collect(),
        mtu: MTU,
    }
}

fn description() -> NodeNetwork {
    let interface = |at: u8, carries: &[&str]| CloudInterface {
        name: format!("eth{at}"),
        mac: format!("02:00:00:00:00:0{at}").parse().unwrap(),
        card: 0,
        device: u32::from(at),
        addresses: vec![format!("10.0.{at}.10/20").parse().unwrap()],
        carries: carries.iter().map(|net| net.parse().unwrap()).collect(),
    };
    NodeNetwork {
        primary: Some(interface(0, &["10.0.0.32/28"])),
        secondary: vec![
            interface(1, &["10.0.1.32/28", "2001:db8:0:1::/80"]),
            interface(2, &["10.0.2.33/32", "10.0.2.34/32"]),
        ],
        pods: Vec::new(),
        settings: NodeSettings {
            mtu: MTU,
            within: vec!["10.0.0.0/16".parse().unwrap()],
            external: vec![format!("{EXTERNAL}/32").parse().unwrap()],
            ..NodeSettings::default()
        },
    }
}
