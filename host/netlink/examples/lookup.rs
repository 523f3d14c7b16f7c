//! Measures a route look-up behind ipamd's two rules for each pod, and behind tenure's.
//!
//! As root, on a quiet machine: `cargo run --release -p tenure-netlink --example lookup`. The program starts itself again in
//! network and mount namespaces of its own. Each line is one run: the kinds take turns, so that what disturbs one disturbs all.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a program to measure with, which ends where something is not as it expects"
)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use ipnet::{IpNet, Ipv4Net};
use rtnetlink::packet_core::{NLM_F_REQUEST, NetlinkMessage};
use rtnetlink::packet_route::route::{RouteAddress, RouteAttribute, RouteMessage};
use rtnetlink::packet_route::{AddressFamily, RouteNetlinkMessage};
use rtnetlink::sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use rustix::time::{ClockId, clock_gettime};
use tenure_netlink::{CloudInterface, DesiredState, Kernel, KernelPlan, NodeNetwork, NodeSettings, Pod};

/// How many pods: of an m5.large, with prefixes, and of the largest instances.
const PODS: [u32; 3] = [29, 250, 737];
/// How often the kinds take turns, and how many look-ups are one turn.
const TURNS: usize = 200;
const LOOKUPS: u32 = 500;
/// Set for the program that runs in the namespaces.
const INSIDE: &str = "TENURE_LOOKUP_INSIDE";
/// The addresses of pods.
const FIRST: u32 = u32::from_be_bytes([10, 0, 16, 0]);

/// How a node is set up.
#[derive(Clone, Copy)]
enum SetupKind {
    /// No rules but the kernel's.
    None,
    /// ipamd's.
    Ipamd,
    /// Ours, with prefixes.
    Prefixes,
    /// Ours, with single addresses, every second of which is another interface's: none share a rule.
    Addresses,
}

fn main() {
    if std::env::var_os(INSIDE).is_none() {
        let script = "mount -t tmpfs tmpfs /run && exec \"$0\"";
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "sh", "-c", script]).arg(std::env::current_exe().unwrap());
        let error = command.env(INSIDE, "1").exec();
        panic_with(&format!("cannot run unshare: {error}"));
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "A route look-up to the outside, through netlink, in us: the median of {TURNS} turns of {LOOKUPS}.\n"
    )
    .unwrap();
    writeln!(out, "| pods | kernel's rules only | ipamd | tenure, prefixes | tenure, addresses | ipamd's part / tenure's with prefixes |").unwrap();
    writeln!(out, "|---|---|---|---|---|---|").unwrap();
    for pods in PODS {
        let kinds = [SetupKind::None, SetupKind::Ipamd, SetupKind::Prefixes, SetupKind::Addresses];
        let sockets: Vec<Socket> = kinds.iter().zip(0..).map(|(kind, at)| node(*kind, pods, at)).collect();
        let mut times = vec![Vec::new(); kinds.len()];
        for turn in 0..=TURNS {
            for (socket, times) in sockets.iter().zip(&mut times) {
                let time = turn_of(socket);
                // The first turn fills caches.
                if turn > 0 {
                    times.push(time);
                }
            }
        }
        let [none, ipamd, prefixes, addresses] = [0, 1, 2, 3].map(|at| {
            let mut times: Vec<f64> = times[at].clone();
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        let ratio = (ipamd - none) / (prefixes - none).max(0.01);
        writeln!(out, "| {pods} | {none:.2} | {ipamd:.2} | {prefixes:.2} | {addresses:.2} | {ratio:.1} |")
            .unwrap();
    }
}

/// Ends the program.
fn panic_with(text: &str) -> ! {
    eprintln!("{text}");
    std::process::exit(1);
}

/// The address of a pod.
fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(FIRST + number)
}

/// A node in a namespace of its own; returns a socket to its kernel.
fn node(kind: SetupKind, pods: u32, at: u32) -> Socket {
    let room = format!("node{pods}-{at}");
    ip(&[], &format!("netns add {room}\n"));
    let mut batch = String::from("link set lo up\n");
    for (link, number) in ["eth0", "eth1", "eth2", "eni0"].into_iter().zip(0..) {
        writeln!(batch, "link add {link} address 02:00:00:00:00:0{number} type veth peer name {link}-peer")
            .unwrap();
        writeln!(batch, "link set {link} up\nlink set {link}-peer up").unwrap();
    }
    batch.push_str("addr add 10.0.0.10/20 dev eth0\nroute add default via 10.0.0.1 dev eth0\n");
    if matches!(kind, SetupKind::Ipamd) {
        for number in 0..pods {
            let pod = address(number);
            writeln!(batch, "route add {pod} dev eni0\nrule add pref 512 to {pod} lookup main").unwrap();
            writeln!(batch, "rule add pref 1536 from {pod} lookup {}", 2 + number % 2).unwrap();
        }
        batch.push_str("rule add pref 1024 fwmark 0x80/0x80 lookup main\n");
    }
    ip(&["-n", &room], &batch);
    std::thread::spawn(move || {
        let file = std::fs::File::open(format!("/run/netns/{room}")).unwrap();
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
        if let SetupKind::Prefixes | SetupKind::Addresses = kind {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(set_up(kind, pods));
        }
        let mut socket = Socket::new(NETLINK_ROUTE).unwrap();
        socket.bind_auto().unwrap();
        socket.connect(&SocketAddr::new(0, 0)).unwrap();
        socket
    })
    .join()
    .unwrap()
}

/// Sets our rules and routes up; links, translation and marks do not take part in a look-up.
async fn set_up(kind: SetupKind, pods: u32) {
    let kernel = Kernel::connect().unwrap();
    let interface = |device: u32, carries: Vec<IpNet>| CloudInterface {
        name: format!("eth{device}"),
        mac: format!("02:00:00:00:00:0{device}").parse().unwrap(),
        card: 0,
        device,
        addresses: vec![IpNet::new(IpAddr::from([10, 0, u8::try_from(device).unwrap(), 10]), 20).unwrap()],
        carries,
    };
    let carries = |device: u32| -> Vec<IpNet> {
        let nets = (0..pods).filter(|number| match kind {
            SetupKind::Prefixes => number % 16 == 0 && 1 + number / 16 % 2 == device,
            _ => 1 + number % 2 == device,
        });
        let length = if matches!(kind, SetupKind::Prefixes) { 28 } else { 32 };
        nets.map(|number| IpNet::V4(Ipv4Net::new(address(number), length).unwrap())).collect()
    };
    let node = NodeNetwork {
        primary: Some(interface(0, Vec::new())),
        secondary: vec![interface(1, carries(1)), interface(2, carries(2))],
        // Which link a route leads to makes no difference: one stands for all.
        pods: vec![Pod {
            addresses: (0..pods).map(|number| IpAddr::V4(address(number))).collect(),
            link: "eni0".to_owned(),
        }],
        settings: NodeSettings { snat: None, ..NodeSettings::default() },
    };
    let wanted = DesiredState::of(&node).unwrap();
    for _ in 0..2 {
        let seen = kernel.look(&wanted).await.unwrap();
        let applied = kernel.apply(&KernelPlan::of(&wanted, &seen)).await.unwrap();
        assert!(applied.failed.is_empty(), "{:?}", applied.failed);
    }
}

/// Runs `ip` with a batch of commands.
fn ip(arguments: &[&str], batch: &str) {
    let mut ip =
        Command::new("ip").args(arguments).args(["-batch", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    ip.stdin.take().unwrap().write_all(batch.as_bytes()).unwrap();
    assert!(ip.wait().unwrap().success(), "ip {arguments:?}");
}

/// The time of one look-up, in microseconds.
fn turn_of(socket: &Socket) -> f64 {
    let mut question = RouteMessage::default();
    question.header.address_family = AddressFamily::Inet;
    question.header.destination_prefix_length = 32;
    let outside = RouteAddress::Inet(Ipv4Addr::new(203, 0, 113, 1));
    question.attributes.push(RouteAttribute::Destination(outside));
    let mut message = NetlinkMessage::from(RouteNetlinkMessage::GetRoute(question));
    message.header.flags = NLM_F_REQUEST;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    let mut answer = Vec::with_capacity(4096);
    let begin = now();
    for _ in 0..LOOKUPS {
        socket.send(&bytes, 0).unwrap();
        answer.clear();
        socket.recv(&mut answer, 0).unwrap();
    }
    let time = (now() - begin) / f64::from(LOOKUPS);
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).unwrap();
    let found = matches!(
        answer.payload,
        rtnetlink::packet_core::NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRoute(_))
    );
    assert!(found, "{answer:?}");
    time
}

/// The clock, in microseconds.
fn now() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}
