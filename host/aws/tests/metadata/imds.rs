//! The identity, the interfaces, tokens, and what goes wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ipnet::IpNet;
use tenure_aws::identity::Identity;
use tenure_aws::metadata::{
    AttachedInterfaces, Hint, HintRound, Hints, Imds, InstanceMetadata, MetadataError, Read, ShownPart,
};
use tenure_aws::port::Ec2Interface;
use tenure_ec2_double::state::{Change, Creation, Place, Shown, Wanted};
use tenure_ec2_double::{Addresses, Double, Fault, Kind, NewInstance, NewSubnet, Setup};

/// A double with one instance, whose clock stands still.
async fn double() -> Double {
    let first = NewSubnet {
        ipv6: Some("fd00:0:0:1::/64".parse().unwrap()),
        ..NewSubnet::new("10.0.0.0/24".parse().unwrap())
    };
    let setup = Setup {
        subnets: vec![first, NewSubnet::new("10.1.0.0/24".parse().unwrap())],
        instances: vec![NewInstance::new("m5.large")],
        virtual_time: true,
        ..Setup::default()
    };
    Double::start(&setup, Addresses::default()).await.unwrap()
}

fn address(double: &Double) -> SocketAddr {
    double.imds().into_values().next().unwrap()
}

fn imds(double: &Double) -> Imds {
    Imds::new(Some(&format!("http://{}", address(double)))).unwrap()
}

/// The interfaces by hardware address with their addresses and prefixes, as the service shows them. One that is being attached or
/// detached has none.
async fn shown(imds: &Imds) -> Result<BTreeMap<String, BTreeSet<String>>, MetadataError> {
    let mut interfaces = BTreeMap::new();
    for mac in imds.lines(&format!("{MACS}/")).await? {
        let mac = mac.trim_end_matches('/');
        let mut carried = BTreeSet::new();
        for name in ["local-ipv4s", "ipv4-prefix", "ipv6s", "ipv6-prefix"] {
            carried.extend(imds.lines(&format!("{MACS}/{mac}/{name}")).await?);
        }
        interfaces.insert(mac.to_ascii_lowercase(), carried);
    }
    Ok(interfaces)
}

/// How often a path was asked for.
fn asked(double: &Double, path: &str) -> usize {
    double.with(|world, _| world.journal.after(0).iter().filter(|entry| entry.call == path).count())
}

const TOKEN: &str = "/latest/api/token";
const MACS: &str = "/latest/meta-data/network/interfaces/macs";

fn status(status: u16) -> Kind {
    Kind::Code { code: String::new(), message: String::new(), status }
}

#[tokio::test]
async fn it_says_who_the_node_is() {
    let double = double().await;
    let node = double.nodes()[0].clone();
    let expected = double.with(|world, _| {
        let primary = &world.state.instances()[&node].primary;
        Identity {
            instance: node.clone(),
            instance_type: "m5.large".to_owned(),
            region: "eu-central-1".to_owned(),
            zone: "eu-central-1a".to_owned(),
            mac: world.state.interfaces().get(primary).unwrap().mac.clone(),
            vpc: "vpc-0d0b1e".to_owned(),
            subnet: "subnet-00000000000000000".to_owned(),
            groups: vec!["sg-0default".to_owned()],
            ranges: ["10.0.0.0/24", "10.1.0.0/24", "fd00:0:0:1::/64"].map(|net| net.parse().unwrap()).into(),
        }
    });
    assert_eq!(imds(&double).identity().await, Ok(expected));
    assert_eq!(asked(&double, TOKEN), 1, "one token is enough");
}

/// Packets within a VPC without ranges would be translated, for as long as the daemon believes it.
#[tokio::test]
async fn an_identity_without_ranges_is_none() {
    let double = double().await;
    let (imds, mac) = (
        imds(&double),
        double.with(|world, _| {
            let primary = &world.state.instances().values().next().unwrap().primary;
            world.state.interfaces().get(primary).unwrap().mac.clone()
        }),
    );
    let path = format!("{MACS}/{mac}/vpc-ipv4-cidr-blocks");
    double.fault(Fault::once(&path, status(404)));
    assert_eq!(imds.identity().await, Err(MetadataError::Missing(path)));
    assert_eq!(imds.identity().await.unwrap().ranges.len(), 3, "fields come and go");
}

#[tokio::test]
async fn an_expired_token_is_renewed_without_a_failure() {
    let double = double().await;
    let imds = imds(&double);
    let first = shown(&imds).await.unwrap();
    double.advance(Duration::from_secs(21_601));
    assert_eq!(shown(&imds).await, Ok(first));
    assert_eq!(asked(&double, TOKEN), 2);
}

#[tokio::test]
async fn early_boot_refuses_tokens_and_cuts_answers() {
    let double = double().await;
    let kinds = [status(401), Kind::Reset, Kind::HalfBody, status(503)];
    for kind in kinds {
        double.fault(Fault::once(TOKEN, kind));
    }
    double.fault(Fault::once("/latest/meta-data/instance-id", Kind::LostAfter));
    imds(&double).identity().await.unwrap();
    assert_eq!(asked(&double, TOKEN), 5);
    assert_eq!(asked(&double, "/latest/meta-data/instance-id"), 2);
}

#[tokio::test]
async fn it_gives_up_after_a_while() {
    let double = double().await;
    double.fault(Fault::always("/latest/meta-data/mac", status(500)));
    let reason = "HTTP status 500".to_owned();
    let path = "/latest/meta-data/mac".to_owned();
    let expected = MetadataError::Unreachable { path, reason };
    assert_eq!(imds(&double).identity().await, Err(expected));
    assert_eq!(asked(&double, "/latest/meta-data/mac"), 5);
    let nobody = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    let error = shown(&Imds::new(Some(&format!("http://{address}"))).unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("refused"), "{error}");
}

/// A hint that fails is asked for again in its next turn, and not at once.
#[tokio::test]
async fn what_may_change_is_asked_for_once_in_its_turn() {
    let double = double().await;
    let path = format!("{MACS}/");
    double.fault(Fault::always(&path, status(500)));
    let expected = MetadataError::Unreachable { path: path.clone(), reason: "HTTP status 500".to_owned() };
    assert_eq!(imds(&double).lines(&path).await, Err(expected));
    assert_eq!(asked(&double, &path), 1);
}

#[tokio::test]
async fn a_service_that_is_turned_off_is_not_asked_again() {
    let double = double().await;
    double.fault(Fault::always(TOKEN, status(403)));
    let expected = MetadataError::Refused { path: "/latest/meta-data/mac".to_owned(), status: 403 };
    assert_eq!(imds(&double).identity().await, Err(expected));
    assert_eq!(asked(&double, TOKEN), 1);
}

#[tokio::test]
async fn a_field_that_every_instance_has_must_be_there() {
    let double = double().await;
    double.fault(Fault::always("/latest/meta-data/placement/region", status(404)));
    let error = imds(&double).identity().await.unwrap_err();
    assert_eq!(error, MetadataError::Missing("/latest/meta-data/placement/region".to_owned()));
}

#[tokio::test]
async fn a_range_must_be_one() {
    let double = double().await;
    let mac = double.with(|world, _| world.state.interfaces().all().next().unwrap().mac.clone());
    let path = format!("{MACS}/{mac}/vpc-ipv6-cidr-blocks");
    double.fault(Fault::always(&path, Kind::WrongXml));
    let value = "<html><body>502 Bad Gateway</html>".to_owned();
    assert_eq!(imds(&double).identity().await, Err(MetadataError::Invalid { path, value }));
}

#[tokio::test]
async fn its_answers_change_with_what_there_is() {
    let double = double().await;
    let imds = imds(&double);
    let node = double.nodes()[0].clone();
    let alone = shown(&imds).await.unwrap();
    assert_eq!(alone.len(), 1);
    let id = double.with(|world, now| {
        let wanted = tenure_ec2_double::state::Creation {
            subnet: "subnet-00000000000000000".to_owned(),
            ..Default::default()
        };
        let id = world.state.create(&wanted, None, now).unwrap();
        let place = Place { instance: node.clone(), device: 1, card: Some(0) };
        world.state.attach(&id, &place, now).unwrap();
        id
    });
    // While it is attached, the directory has no fields.
    let attaching = shown(&imds).await.unwrap();
    let new: Vec<&BTreeSet<String>> =
        attaching.iter().filter(|(mac, _)| !alone.contains_key(*mac)).map(|(_, set)| set).collect();
    assert_eq!(new, [&BTreeSet::new()]);
    double.advance(Duration::from_secs(10));
    let attached = shown(&imds).await.unwrap();
    assert_ne!(attached, attaching);
    let change = |wanted: Wanted<Ipv4Addr, ipnet::Ipv4Net>| {
        double.with(|world, now| world.state.assign(&id, &wanted, false, now).unwrap());
    };
    change(Wanted::Count(1));
    let more = shown(&imds).await.unwrap();
    assert_ne!(more, attached);
    change(Wanted::Prefixes(1));
    assert_ne!(shown(&imds).await.unwrap(), more);
    double.with(|world, _| world.state.consistency.imds_shows.insert(id.clone(), Shown::Missing));
    assert_eq!(shown(&imds).await, Ok(alone));
}

/// A way to the service that counts the connections.
async fn counting(to: SocketAddr) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let (address, count) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let mut service = tokio::net::TcpStream::connect(to).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut service).await;
            });
        }
    });
    (address, count)
}

#[tokio::test]
async fn all_requests_use_one_connection_and_a_broken_one_is_replaced() {
    let double = double().await;
    let (address, count) = counting(self::address(&double)).await;
    let imds = Imds::new(Some(&format!("http://{address}"))).unwrap();
    imds.identity().await.unwrap();
    shown(&imds).await.unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 1);
    double.fault(Fault::once("/latest/meta-data/mac", Kind::Reset));
    imds.identity().await.unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 2);
}

/// A service of which it is known whether a request is under way.
struct Noted {
    imds: Imds,
    is_asked: AtomicBool,
}

impl InstanceMetadata for Noted {
    fn identity(&self) -> Read<'_, Identity> {
        self.imds.identity()
    }

    fn attached(&self) -> Read<'_, AttachedInterfaces> {
        self.imds.attached()
    }

    fn lines<'a>(&'a self, path: &'a str) -> Read<'a, BTreeSet<String>> {
        Box::pin(async move {
            self.is_asked.store(true, Ordering::Relaxed);
            let answer = self.imds.lines(path).await;
            self.is_asked.store(false, Ordering::Relaxed);
            answer
        })
    }
}

/// Seven hours, so that a token expires.
#[tokio::test(start_paused = true)]
async fn a_node_at_rest_makes_12_requests_a_minute_at_most_on_one_connection() {
    const END: u64 = 7 * 3_600_000;
    const STEP: Duration = Duration::from_millis(500);
    // While a thread works, the clock moves by `advance` alone, and not because everybody waits for the network.
    let (done, until_done) = std::sync::mpsc::channel::<()>();
    let still = tokio::task::spawn_blocking(move || until_done.recv());
    let double = double().await;
    let (address, connections) = counting(self::address(&double)).await;
    let imds = Imds::new(Some(&format!("http://{address}"))).unwrap();
    let service = Noted { imds, is_asked: AtomicBool::new(false) };
    let mac = double.with(|world, _| world.state.interfaces().all().next().unwrap().mac.clone());
    let mut hints = Hints::new(&service, &mac);
    let start = double.with(|_, now| now.millis());
    let passing = async {
        while double.with(|_, now| now.millis()) < start + END {
            if service.is_asked.load(Ordering::Relaxed) {
                tokio::task::yield_now().await;
            } else {
                tokio::time::advance(STEP).await;
                double.advance(STEP);
            }
        }
    };
    let asking = async {
        loop {
            hints.next().await.unwrap();
        }
    };
    tokio::select! {
        () = passing => {}
        () = asking => {}
    }
    let asked: Vec<u64> =
        double.with(|world, _| world.journal.after(0).iter().map(|entry| entry.at.millis()).collect());
    let within_a_minute = |from: &u64| asked.iter().filter(|at| (*from..from + 60_000).contains(at)).count();
    let most = asked.iter().map(within_a_minute).max().unwrap();
    let (tokens, connections) = (self::asked(&double, TOKEN), connections.load(Ordering::Relaxed));
    assert_eq!((most, tokens, connections), (12, 2, 1), "two of them for a new token");
    assert!(asked.len() > 4000, "{} requests", asked.len());
    drop(done);
    assert!(still.await.unwrap().is_err());
}

#[tokio::test]
async fn a_round_of_single_requests_finds_what_has_changed() {
    let double = double().await;
    let imds = imds(&double);
    let mut round = HintRound::new(&imds.identity().await.unwrap().mac);
    let mut hints = Vec::new();
    for _ in 0..20 {
        hints.extend(round.heard(imds.lines(&round.path()).await.unwrap()));
    }
    let addresses = |hints: &[Hint]| {
        let of = |hint: &Hint| match hint {
            Hint::Shown(ShownPart::Field { values, .. }) if values.len() > 1 => Some(values.len()),
            _ => None,
        };
        hints.iter().find_map(of)
    };
    assert_eq!(addresses(&hints), None, "the interface's own alone");
    let id = double.with(|world, _| world.state.interfaces().all().next().unwrap().id.clone());
    double.with(|world, now| {
        world.state.assign(&id, &Wanted::Count(1), false, now).unwrap();
        world.state.account.groups.push("sg-other".to_owned());
        world.state.modify(&id, Change::Groups(vec!["sg-other".to_owned()]), now).unwrap();
        world.state.account.cidrs.push("10.9.0.0/16".parse().unwrap());
    });
    hints.clear();
    for _ in 0..16 {
        hints.extend(round.heard(imds.lines(&round.path()).await.unwrap()));
    }
    assert_eq!(addresses(&hints), Some(2), "{hints:?}");
    assert!(hints.contains(&Hint::Groups(["sg-other".to_owned()].into())), "{hints:?}");
    let has_range = |hint: &Hint| matches!(hint, Hint::Ranges(ranges) if ranges.contains("10.9.0.0/16"));
    assert!(hints.iter().any(has_range), "{hints:?}");
}

#[tokio::test]
async fn the_interfaces_are_those_that_ec2_would_describe() {
    let double = double().await;
    let imds = imds(&double);
    let instance = double.nodes()[0].clone();
    let second = double.with(|world, now| {
        let primary = world.state.interfaces().all().next().unwrap().id.clone();
        world.state.assign(&primary, &Wanted::Count(2), false, now).unwrap();
        let wanted = Creation {
            subnet: "subnet-00000000000000001".to_owned(),
            ipv4: Wanted::Prefixes(1),
            ..Creation::default()
        };
        world.state.create(&wanted, None, now).unwrap()
    });
    double.advance(Duration::from_secs(10));
    double.with(|world, now| {
        world
            .state
            .attach(&second, &Place { instance: instance.clone(), device: 1, card: Some(0) }, now)
            .unwrap();
    });
    let coming = imds.attached().await.unwrap();
    assert_eq!(coming.interfaces.len(), 1, "one that comes has no fields yet");
    double.advance(Duration::from_secs(60));
    let attached = imds.attached().await.unwrap();
    let [primary, other] = attached.interfaces.as_slice() else { panic!("{attached:?}") };
    let (primary, other) = if primary.id == second { (other, primary) } else { (primary, other) };
    let place = |known: &Ec2Interface| {
        let at = known.attachment.as_ref().unwrap();
        (at.instance.clone(), at.card, at.device)
    };
    assert_eq!(place(primary), (instance.clone(), 0, 0));
    assert_eq!((place(other), other.id.as_str()), ((instance, 0, 1), second.as_str()));
    double.with(|world, _| {
        for known in world.state.interfaces().all() {
            let shown = attached.interfaces.iter().find(|shown| shown.id == known.id).unwrap();
            assert_eq!(shown.primary_address, known.primary().map(IpAddr::from));
            let singles = known.ipv4.iter().skip(1).map(|address| IpNet::from(IpAddr::from(*address)));
            let all: BTreeSet<IpNet> =
                singles.chain(known.ipv4_prefixes.iter().copied().map(IpNet::from)).collect();
            assert_eq!(shown.carries.iter().copied().collect::<BTreeSet<_>>(), all);
            assert_eq!(
                (&shown.groups, &shown.subnet, &shown.mac),
                (&known.groups, &known.subnet, &known.mac)
            );
        }
    });
    let subnets: Vec<_> =
        attached.subnets.iter().map(|subnet| (subnet.ranges.len(), subnet.available)).collect();
    assert!(subnets.contains(&(2, 251)) && subnets.contains(&(1, 251)), "{subnets:?}");
}
