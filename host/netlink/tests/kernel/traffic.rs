//! Each row of the datapath, with traffic.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::room::{enter, inside, shell};
use crate::suite::Suite;
use crate::world::{EXTERNAL, OUTSIDE, WITHIN, WITHIN_V6, World};

/// The longest wait for an answer.
const LONGEST: Duration = Duration::from_secs(10);

/// The pause between two looks for an address.
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) fn tests(suite: &mut Suite) {
    suite.test("pods_reach_each_other_with_their_own_addresses", pods_reach_each_other);
    suite.test("a_pod_reaches_the_cloud_by_its_own_interface_and_is_reached_by_it", within);
    suite.test("a_pod_reaches_the_outside_with_the_primarys_address", outside);
    suite.test("a_pod_keeps_its_way_out_when_the_names_of_links_change", renamed);
    suite.test("an_external_range_is_reached_by_the_main_table", external);
    suite.test("a_node_port_is_answered_by_the_primary", node_port);
    suite.test("a_service_that_leads_outside_is_translated", service_outside);
    suite.test("an_interfaces_own_address_answers_by_that_interface", own_address);
    suite.test("ipv6_leaves_by_the_pods_interface", ipv6);
    suite.test("jumbo_frames_are_not_fragmented", jumbo);
    suite.test("other_bits_of_a_mark_are_left_alone", other_marks);
}

/// Serves TCP in a namespace: each caller is told the address that it is seen with.
pub(crate) fn serve(room: &str, at: &str) {
    let (ready, begun) = channel();
    let (room, at) = (room.to_owned(), at.to_owned());
    thread::spawn(move || {
        enter(&room);
        let listener = bound(&at);
        ready.send(()).unwrap();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let seen = stream.peer_addr().unwrap().ip().to_string();
            // The caller may be gone.
            let _ = stream.write_all(seen.as_bytes());
        }
    });
    begun.recv().unwrap();
}

/// A listener at an address, which in IPv6 is not the room's own before the kernel has looked for others that have it.
#[expect(clippy::disallowed_methods, reason = "the kernel is asked until it has looked")]
fn bound(at: &str) -> TcpListener {
    let mut tries = LONGEST.as_millis() / PAUSE.as_millis();
    loop {
        match TcpListener::bind(at) {
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable && tries > 0 => thread::sleep(PAUSE),
            listener => return listener.unwrap(),
        }
        tries -= 1;
    }
}

/// Calls a server from a namespace; the answer is the address that the caller is seen with.
pub(crate) fn call(room: &str, to: &str) -> Result<String, std::io::Error> {
    let to: SocketAddr = to.parse().unwrap();
    inside(room, || {
        let mut stream = TcpStream::connect_timeout(&to, LONGEST)?;
        stream.set_read_timeout(Some(LONGEST))?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    })
}

fn pods_reach_each_other() {
    let world = World::whole();
    let addresses = ["10.0.0.33", "10.0.1.33", "10.0.2.33"];
    for (at, address) in addresses.iter().enumerate() {
        serve(&world.pod(at), &format!("{address}:80"));
    }
    for from in 0..3 {
        for to in (0..3).filter(|to| *to != from) {
            let seen = call(&world.pod(from), &format!("{}:80", addresses[to])).unwrap();
            assert_eq!(seen, addresses[from]);
        }
        assert_eq!(call(&world.node, &format!("{}:80", addresses[from])).unwrap(), "10.0.0.10");
    }
}

fn within() {
    let world = World::whole();
    serve(&world.cloud, &format!("{WITHIN}:80"));
    for (at, address) in ["10.0.0.33", "10.0.1.33", "10.0.2.33"].into_iter().enumerate() {
        assert_eq!(call(&world.pod(at), &format!("{WITHIN}:80")).unwrap(), address);
        serve(&world.pod(at), &format!("{address}:80"));
        let seen = call(&world.cloud, &format!("{address}:80")).unwrap();
        assert_eq!(seen, "10.0.0.1", "the cloud reaches the pod");
    }
}

fn outside() {
    let world = World::whole();
    serve(&world.cloud, &format!("{OUTSIDE}:80"));
    for at in 0..3 {
        assert_eq!(call(&world.pod(at), &format!("{OUTSIDE}:80")).unwrap(), "10.0.0.10", "pod {at}");
    }
}

/// The pods' links begin with `eni`, and those of further pods with `aws`.
fn renamed() {
    let mut world = World::whole();
    world.description.settings.link_prefix = "aws".to_owned();
    world.settle();
    serve(&world.cloud, &format!("{OUTSIDE}:80"));
    for at in 0..3 {
        assert_eq!(call(&world.pod(at), &format!("{OUTSIDE}:80")).unwrap(), "10.0.0.10", "pod {at}");
    }
}

fn external() {
    let world = World::whole();
    serve(&world.cloud, &format!("{EXTERNAL}:80"));
    // Nothing is marked for this: only the rule leads it to the primary.
    shell(&world.node, "nft delete chain ip tenure mark-out");
    assert_eq!(call(&world.pod(1), &format!("{EXTERNAL}:80")).unwrap(), "10.0.0.10");
}

fn node_port() {
    let world = World::whole();
    serve(&world.pod(1), "10.0.1.33:80");
    // As kube-proxy does it.
    shell(
        &world.node,
        "nft 'table ip proxy { chain services { type nat hook prerouting priority -100;
           fib daddr type local tcp dport 30080 dnat to 10.0.1.33:80; }; }'",
    );
    let client = || {
        inside(&world.cloud, || {
            let from: SocketAddr = format!("{OUTSIDE}:0").parse().unwrap();
            connect_from(from, "10.0.0.10:30080".parse().unwrap())
        })
    };
    assert_eq!(client().unwrap(), OUTSIDE, "the pod sees the client, and its answer comes back");
}

/// Calls a server from an address, with nothing of the pod's own connection.
fn connect_from(from: SocketAddr, to: SocketAddr) -> Result<String, std::io::Error> {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    rustix::net::sockopt::set_socket_timeout(&socket, rustix::net::sockopt::Timeout::Send, Some(LONGEST))?;
    bind(&socket, &from)?;
    connect(&socket, &to)?;
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(LONGEST))?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

fn service_outside() {
    let world = World::whole();
    serve(&world.cloud, &format!("{OUTSIDE}:80"));
    // The destination is within until kube-proxy's translation, and outside after it.
    shell(
        &world.node,
        &format!(
            "nft 'table ip proxy {{ chain services {{ type nat hook prerouting priority -100;
               ip daddr 10.0.14.14 tcp dport 80 dnat to {OUTSIDE}:80; }}; }}'"
        ),
    );
    assert_eq!(call(&world.pod(1), "10.0.14.14:80").unwrap(), "10.0.0.10");
}

fn own_address() {
    let world = World::whole();
    serve(&world.node, "10.0.1.10:80");
    serve(&world.cloud, &format!("{WITHIN}:80"));
    assert_eq!(call(&world.cloud, "10.0.1.10:80").unwrap(), "10.0.0.1");
    let seen = inside(&world.node, || {
        connect_from("10.0.2.10:0".parse().unwrap(), format!("{WITHIN}:80").parse().unwrap())
    });
    assert_eq!(seen.unwrap(), "10.0.2.10");
}

fn ipv6() {
    let world = World::whole();
    // The cloud delivers to the interface's hardware address, regardless of its own address.
    serve(&world.cloud, &format!("[{WITHIN_V6}]:80"));
    assert_eq!(call(&world.pod(1), &format!("[{WITHIN_V6}]:80")).unwrap(), "2001:db8:0:1::33");
    serve(&world.pod(1), "[2001:db8:0:1::33]:80");
    assert!(call(&world.cloud, "[2001:db8:0:1::33]:80").is_ok());
}

fn jumbo() {
    let world = World::whole();
    let payload = vec![7; 8900];
    let server = inside(&world.cloud, || UdpSocket::bind(format!("{WITHIN}:53")).unwrap());
    server.set_read_timeout(Some(LONGEST)).unwrap();
    inside(&world.pod(1), || {
        let socket = UdpSocket::bind("10.0.1.33:0").unwrap();
        socket.send_to(&payload, format!("{WITHIN}:53")).unwrap();
    });
    let mut buffer = vec![0; 9100];
    let (length, from) = server.recv_from(&mut buffer).unwrap();
    assert_eq!((length, from.ip()), (8900, IpAddr::from([10, 0, 1, 33])));
    for room in [world.pod(1), world.node.clone()] {
        assert_eq!(fragments(&room), 0, "{room}");
    }
}

/// How many fragments a namespace has made.
fn fragments(room: &str) -> u64 {
    let text = inside(room, || std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap());
    let mut lines = text.lines().filter(|line| line.starts_with("Ip:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let at = names.split_whitespace().position(|name| name == "FragCreates").unwrap();
    values.split_whitespace().nth(at).unwrap().parse().unwrap()
}

fn other_marks() {
    let world = World::whole();
    serve(&world.cloud, &format!("{OUTSIDE}:80"));
    // Others mark before and look after us.
    shell(
        &world.node,
        "nft 'table ip others {
           chain before { type filter hook prerouting priority -160;
             iifname \"eni*\" meta mark set 0xff04ff80 ct mark set ct mark | 0x4000; }
           chain after { type filter hook prerouting priority -80;
             iifname \"eni*\" ip daddr 10.0.0.0/16 meta mark 0xff04ff00 ct mark 0x4000 accept;
             iifname \"eni*\" ip daddr != 10.0.0.0/16 meta mark 0xff04ff80 ct mark 0x4080 accept;
             iifname \"eni*\" drop; }
         }'",
    );
    assert_eq!(call(&world.pod(1), &format!("{OUTSIDE}:80")).unwrap(), "10.0.0.10");
    serve(&world.cloud, &format!("{WITHIN}:80"));
    assert_eq!(call(&world.pod(1), &format!("{WITHIN}:80")).unwrap(), "10.0.1.33");
}
