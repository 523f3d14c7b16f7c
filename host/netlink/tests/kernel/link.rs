//! A pod's link: made once, compared from both ends, replaced where it differs, and removed.

use std::io::Write as _;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

use rustix::fs::{FlockOperation, flock};
use tenure_netlink::{Error, LinkDifference, LinkTurns, Netns, PodLink};

use crate::room::{library, path, shell};
use crate::suite::Suite;
use crate::world::{World, link};

pub(crate) fn tests(suite: &mut Suite) {
    suite.test("a_pods_link_is_made_once", made_once);
    suite.test("each_difference_of_a_link_is_found_and_fixed", differences);
    suite.test("a_link_goes_without_its_pods_namespace_and_only_by_its_owner", removed);
    suite.test("what_is_no_pods_namespace_is_refused", refused);
    suite.test("a_strangers_link_of_the_same_name_stays", taken);
    suite.test("callers_at_the_same_time_make_one_link", at_once);
    suite.test("a_pod_that_locks_its_namespace_locks_nobody_out", locked);
    suite.test("a_pod_with_too_many_routes_is_refused_in_time", crowded);
    suite.test("what_a_kill_left_is_made_whole", killed);
    suite.test("a_restart_leaves_what_a_pod_has_changed_about_its_link", restored);
    suite.test("a_link_that_cannot_be_finished_is_not_left_half", half);
}

fn world() -> (World, PodLink, Netns) {
    let mut world = World::new();
    world.add_pod(1, &["10.0.1.33", "2001:db8:0:1::33"]);
    let netns = Netns::open(path(&world.pod(1))).unwrap();
    (world, link(1, &["10.0.1.33", "2001:db8:0:1::33"]), netns)
}

fn check(world: &World, link: &PodLink, netns: &Netns) -> Vec<String> {
    let differences = library(&world.node, async || link.check(netns).await).unwrap();
    differences.iter().map(ToString::to_string).collect()
}

fn make(world: &World, link: &PodLink, netns: &Netns) {
    library(&world.node, async || link.make(netns).await).unwrap();
}

fn index(world: &World, link: &PodLink) -> String {
    shell(&world.node, &format!("cat /sys/class/net/{}/ifindex", link.host))
}

fn made_once() {
    let (world, link, netns) = world();
    assert_eq!(check(&world, &link, &netns), [""; 0]);
    let before = index(&world, &link);
    make(&world, &link, &netns);
    assert_eq!(index(&world, &link), before, "an equal link is left as it is");
    let host = &link.host;
    assert_eq!(host.as_str().len(), 14);
    let inside = shell(
        &world.pod(1),
        "ip -o addr show dev eth0 scope global; ip route; ip neigh show nud permanent; ip -6 route show default",
    );
    let mac = host.mac();
    for line in [
        "inet 10.0.1.33/32",
        "inet6 2001:db8:0:1::33/128",
        "default via 169.254.1.1 dev eth0",
        "169.254.1.1 dev eth0",
        &format!("169.254.1.1 dev eth0 lladdr {mac} PERMANENT"),
        &format!("fe80::1 dev eth0 lladdr {mac} PERMANENT"),
        "default via fe80::1 dev eth0",
    ] {
        assert!(inside.contains(line), "{line} is not in {inside}");
    }
}

fn differences() {
    let (world, link, netns) = world();
    let pod = world.pod(1);
    let host = link.host.as_str().to_owned();
    let node = world.node.clone();
    for (room, tamper, found) in [
        (&pod, "ip addr del 10.0.1.33/32 dev eth0".to_owned(), "eth0 lacks address 10.0.1.33"),
        (&pod, "ip addr add 10.9.9.9/32 dev eth0".to_owned(), "eth0 has address 10.9.9.9"),
        (
            &pod,
            "ip -6 addr del 2001:db8:0:1::33/128 dev eth0".to_owned(),
            "eth0 lacks address 2001:db8:0:1::33",
        ),
        (&pod, "ip route del default".to_owned(), "the pod lacks the route 0.0.0.0/0 via 169.254.1.1"),
        (&pod, "ip -6 route del default".to_owned(), "the pod lacks the route ::/0 via fe80::1"),
        (
            &pod,
            "ip route replace default via 169.254.1.1 dev eth0 mtu 1400".to_owned(),
            "the pod lacks the route 0.0.0.0/0",
        ),
        (
            &pod,
            "ip neigh del 169.254.1.1 dev eth0".to_owned(),
            "no permanent neighbour entry for 169.254.1.1",
        ),
        (
            &pod,
            "ip neigh replace fe80::1 lladdr 02:00:00:00:00:77 dev eth0 nud permanent".to_owned(),
            "entry for fe80::1",
        ),
        (&pod, "ip link set eth0 mtu 1500".to_owned(), "eth0 has MTU 1500 instead of 9001"),
        (&pod, "ip link set eth0 down".to_owned(), "eth0 is down"),
        (&pod, "ip link set eth0 down; ip link set eth0 name eth9".to_owned(), "there is no link eth0"),
        (&node, format!("ip link set {host} down"), "is down"),
        (&node, format!("ip link set {host} mtu 1500"), "has MTU 1500"),
        (
            &node,
            format!("ip link set {host} address 02:00:00:00:00:77"),
            "has hardware address 02:00:00:00:00:77",
        ),
        (&pod, "ip link set eth0 address 02:00:00:00:00:77".to_owned(), "eth0 has hardware address"),
        (
            &node,
            format!("ip link set {host} alias other/eth0"),
            "belongs to other/eth0 instead of sandbox-1/eth0",
        ),
        (&node, format!("ip link del {host}"), "there is no link eni"),
        (
            &node,
            format!(
                "ip link del {host}; ip link add {host} type veth peer name x; ip link add y type veth peer name eth0 netns {pod}"
            ),
            "are not the two ends of one link",
        ),
    ] {
        shell(room, &tamper);
        let differences = check(&world, &link, &netns);
        assert!(differences.iter().any(|text| text.contains(found)), "{tamper}: {differences:?}");
        if tamper.contains("name eth0 netns") {
            // Somebody else's links of these names are nobody's to remove but his, on the node and in the pod.
            let error = library(&world.node, async || link.make(&netns).await).unwrap_err();
            assert!(matches!(error, Error::Taken(_)), "{error}");
            shell(&node, &format!("ip link del {host}"));
            let error = library(&world.node, async || link.make(&netns).await).unwrap_err();
            assert!(error.to_string().contains("make link"), "{error}");
            continue;
        }
        make(&world, &link, &netns);
        assert_eq!(check(&world, &link, &netns), [""; 0], "{tamper}");
    }
}

fn removed() {
    let (world, link, netns) = world();
    let remove =
        |owner: &str| library(&world.node, async || PodLink::remove(&link.host, owner).await).unwrap();
    remove("sandbox-0/eth0");
    assert_eq!(check(&world, &link, &netns), [""; 0], "an earlier sandbox of the same name removes nothing");
    drop(netns);
    remove("sandbox-1/eth0");
    remove("sandbox-1/eth0");
    assert_eq!(shell(&world.node, "ip -o link show type veth | grep -c eni || true"), "0");
    let inside = shell(&world.pod(1), "ip -o link show type veth");
    assert_eq!(inside, "", "both ends are gone");
}

fn refused() {
    let world = World::new();
    let folder = std::env::temp_dir();
    let pipe = "/run/pipe";
    shell(&world.node, "mkfifo /run/pipe; touch /run/file");
    let open = |path: &str| library(&world.node, async || Netns::open(path).map(drop)).unwrap_err();
    for path in [folder.to_str().unwrap(), pipe, "/run/file"] {
        assert!(matches!(open(path), Error::NotNamespace(_)), "{path}: {}", open(path));
    }
    assert!(matches!(open("/run/netns/nobody"), Error::Io { .. }));
    assert!(matches!(open(&path(&world.node)), Error::OwnNamespace(_)), "the node is not a pod");
    let (link, other) = (link(1, &["10.0.1.33"]), Netns::open("/proc/self/ns/mnt").unwrap());
    let error = library(&world.node, async || link.make(&other).await).unwrap_err();
    assert!(error.to_string().contains("enter /proc/self/ns/mnt"), "{error}");
    assert_eq!(shell(&world.node, "ip -o link show type veth | grep -c eni || true"), "0");
}

fn taken() {
    let mut world = World::new();
    let room = world.pod(1);
    world.add_room(&room);
    let (link, netns) = (link(1, &["10.0.1.33"]), Netns::open(path(&room)).unwrap());
    shell(&world.node, &format!("ip link add {} type bridge", link.host));
    let error = library(&world.node, async || link.make(&netns).await).unwrap_err();
    assert!(matches!(error, Error::Taken(_)), "{error}");
    let error =
        library(&world.node, async || PodLink::remove(&link.host, "sandbox-1/eth0").await).unwrap_err();
    assert!(matches!(error, Error::Taken(_)), "{error}");
    shell(&world.node, &format!("ip link show {} type bridge && ip link del {}", link.host, link.host));
    // A veth of somebody else's, as of another network's agent that names its links in the same way.
    for alias in ["", "alias other"] {
        let (host, peer) = (&link.host, "peer name theirs");
        shell(&world.node, &format!("ip link add {host} type veth {peer}; ip link set {host} up {alias}"));
        let error = library(&world.node, async || link.make(&netns).await).unwrap_err();
        assert!(matches!(error, Error::Taken(_)), "{error}");
        let _ = library(&world.node, async || PodLink::remove(host, "sandbox-1/eth0").await);
        shell(&world.node, &format!("ip link show theirs && ip link del {host}"));
    }
}

fn at_once() {
    let mut world = World::new();
    let room = world.pod(1);
    world.add_room(&room);
    let (link, turns) = (link(1, &["10.0.1.33"]), LinkTurns::default());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                library(&world.node, async || {
                    let turn = turns.enter(&link.host).await.unwrap();
                    link.make(&Netns::open_in_turn(path(&room), &turn).await.unwrap()).await.unwrap();
                });
            });
        }
    });
    let netns = Netns::open(path(&room)).unwrap();
    assert_eq!(check(&world, &link, &netns), [""; 0]);
}

/// As `flock` in a pod does with what every process of it can open.
fn locked() {
    let (world, link, netns) = world();
    let held = std::fs::File::open(path(&world.pod(1))).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    assert_eq!(check(&world, &link, &netns), [""; 0]);
    shell(&world.node, &format!("ip link del {}", link.host));
    make(&world, &link, &netns);
    assert_eq!(check(&world, &link, &netns), [""; 0]);
}

/// A pod that may change its routes makes as many as it likes.
fn crowded() {
    let (world, link, netns) = world();
    let pod = world.pod(1);
    let routes = |first: u32, end: u32| {
        let lines =
            (first..end).map(|at| format!("route add {} dev eth0\n", Ipv4Addr::from(0x1400_0000 + at)));
        let mut ip =
            Command::new("ip").args(["-n", &pod, "-batch", "-"]).stdin(Stdio::piped()).spawn().unwrap();
        ip.stdin.take().unwrap().write_all(lines.collect::<String>().as_bytes()).unwrap();
        assert!(ip.wait().unwrap().success());
    };
    routes(0, 100_000);
    assert_eq!(check(&world, &link, &netns), [""; 0]);
    make(&world, &link, &netns);
    routes(100_000, 201_000);
    let error = library(&world.node, async || link.make(&netns).await).unwrap_err();
    assert!(matches!(error, Error::TooMany { .. } | Error::TooSlow(_)), "{error}");
    library(&world.node, async || PodLink::remove(&link.host, "sandbox-1/eth0").await).unwrap();
}

fn killed() {
    let mut world = World::new();
    let room = world.pod(1);
    world.add_room(&room);
    let (link, netns) = (link(1, &["10.0.1.33"]), Netns::open(path(&room)).unwrap());
    let (host, mac) = (&link.host, link.host.mac());
    let pair = format!("ip link add {host} address {mac} type veth peer name eth0 netns {room}");
    for left in [pair.clone(), format!("{pair}; ip link set {host} up alias sandbox-1/eth0")] {
        shell(&world.node, &left);
        make(&world, &link, &netns);
        assert_eq!(check(&world, &link, &netns), [""; 0], "{left}");
        library(&world.node, async || PodLink::remove(&link.host, "sandbox-1/eth0").await).unwrap();
    }
    // Nobody's yet: anybody may remove it.
    shell(&world.node, &pair);
    library(&world.node, async || PodLink::remove(&link.host, "sandbox-2/eth0").await).unwrap();
    assert_eq!(shell(&world.node, "ip -o link show type veth | grep -c eni || true"), "0");
}

fn restored() {
    let (world, link, netns) = world();
    let (pod, host, node) = (world.pod(1), link.host.as_str(), world.node.clone());
    let restore = || library(&world.node, async || link.restore(&netns).await).unwrap();
    let tunnel = "ip link add d0 type veth peer name d1; ip link set d0 up; ip route replace default dev d0";
    for change in [
        "ip addr add 10.9.9.9/32 dev eth0",
        "ip link set eth0 mtu 1400",
        "ip route add 10.7.0.0/16 via 169.254.1.1 dev eth0",
        tunnel,
        "ip -6 addr del 2001:db8:0:1::33/128 dev eth0; ip neigh del fe80::1 dev eth0",
    ] {
        let before = index(&world, &link);
        shell(&pod, change);
        restore();
        assert_eq!(index(&world, &link), before, "{change}");
    }
    let before = index(&world, &link);
    shell(&node, &format!("ip link set {host} down"));
    restore();
    assert_eq!(index(&world, &link), before, "the keeper sets it up again");
    shell(&node, &format!("ip link set {host} up"));
    let inside = shell(&pod, "ip route show default; ip -o addr show dev eth0; ip -o link show dev eth0");
    for kept in ["default dev d0", "10.9.9.9/32", "mtu 1400"] {
        assert!(inside.contains(kept), "{kept} is not in {inside}");
    }
    // A virtual machine's network: the end is a bridge's port under another name, and what has its name and address leads nowhere.
    shell(
        &pod,
        "ip link set eth0 down; ip link set eth0 name eth0-nic; ip link add br0 type bridge; ip link set br0 up",
    );
    shell(&pod, "ip link set eth0-nic master br0; ip link set eth0-nic up");
    for named_so in ["", "ip link add eth0 type veth peer name x; ip addr add 10.0.1.33/32 dev eth0"] {
        let before = index(&world, &link);
        shell(&pod, named_so);
        restore();
        assert_eq!(index(&world, &link), before, "{named_so}");
        assert!(shell(&pod, "ip -o link show master br0").contains("eth0-nic"), "{named_so}");
    }
    shell(&pod, "ip link del eth0");
    for (room, broken) in [
        (&node, format!("ip link set {host} alias ''")),
        (&node, format!("ip link set {host} alias ''; ip -n {pod} addr flush dev eth0")),
        (&node, format!("ip link set {host} address 02:00:00:00:00:77")),
        (&node, format!("ip link del {host}")),
    ] {
        shell(room, &broken);
        restore();
        assert_eq!(check(&world, &link, &netns), [""; 0], "{broken}");
    }
}

fn half() {
    let mut world = World::new();
    let room = world.pod(1);
    world.add_room(&room);
    // The same address twice on one link is the same address; one of another link's route is not to be had.
    let mut link = link(1, &["10.0.1.33"]);
    link.inside = "lo".to_owned();
    let netns = Netns::open(path(&room)).unwrap();
    let error = library(&world.node, async || link.make(&netns).await).unwrap_err();
    println!("{error}");
    assert_eq!(shell(&world.node, "ip -o link show type veth | grep -c eni || true"), "0");
    let absent = library(&world.node, async || link.check(&netns).await).unwrap();
    assert!(absent.contains(&LinkDifference::Absent(link.host.to_string())));
}
