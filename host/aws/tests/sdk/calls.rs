//! Every call of the port, once well.

use std::collections::BTreeMap;
use std::time::Duration;

use ipnet::IpNet;
use tenure_aws::port::{Assign, Creation, Ec2 as _, Failure, InstanceLimits, Status, Which};

use super::node::{NARROW, Node, WIDE, creation, failure};

fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test]
async fn an_interface_lives_from_creation_to_deletion() {
    let node = Node::new("m5.large").await;
    let wanted = Creation {
        groups: vec!["sg-0default".to_owned()],
        tags: pairs(&[("tenure/intent", "one")]),
        ..creation("one", WIDE, Assign::Addresses(2))
    };
    let created = node.ec2.create(&wanted).await.unwrap();
    assert_eq!(created.status, Status::Other, "it is pending");
    assert_eq!((created.subnet.as_str(), created.kind.as_str()), (WIDE, "interface"));
    assert_eq!((&created.groups, &created.tags), (&wanted.groups, &wanted.tags));
    assert_eq!(created.description, wanted.description);
    assert!(created.primary_address.is_some() && created.attachment.is_none());
    assert!(created.carries.len() == 2 && created.carries.iter().all(|net| net.prefix_len() == 32));
    node.double.advance(Duration::from_secs(1));
    assert_eq!(node.shown(&created.id).await.unwrap().status, Status::Available);

    let attachment = node.attach(&created.id, 1).await.unwrap();
    let attached = node.shown(&created.id).await.unwrap();
    let place = attached.attachment.unwrap();
    assert_eq!((attached.status, &place.id, &place.instance), (Status::InUse, &attachment, &node.instance));
    assert_eq!((place.card, place.device, place.delete_with_instance), (0, 1, false));
    // The double's clock starts an hour into 2026.
    assert!((1_767_229_200..1_767_229_300).contains(&place.since), "{}", place.since);
    node.ec2.delete_with_instance(&created.id, &attachment).await.unwrap();
    assert!(node.shown(&created.id).await.unwrap().attachment.unwrap().delete_with_instance);

    node.double.with(|world, _| world.state.account.groups.push("sg-other".to_owned()));
    let groups = ["sg-other".to_owned(), "sg-0default".to_owned()];
    node.ec2.set_groups(&created.id, &groups).await.unwrap();
    assert_eq!(node.shown(&created.id).await.unwrap().groups, groups);

    node.ec2.tag(&created.id, &pairs(&[("a", "b")])).await.unwrap();
    let tags = node.shown(&created.id).await.unwrap().tags;
    assert_eq!(tags, pairs(&[("a", "b"), ("tenure/intent", "one")]));

    node.ec2.detach(&attachment).await.unwrap();
    assert_eq!(node.shown(&created.id).await.unwrap().status, Status::Detaching);
    node.double.advance(Duration::from_secs(6));
    node.ec2.delete(&created.id).await.unwrap();
    assert_eq!(node.shown(&created.id).await, None);
}

#[tokio::test]
async fn addresses_and_prefixes_come_and_go() {
    let node = Node::new("m5.large").await;
    let id = node.primary().await.id;
    let singles = node.ec2.assign(&id, &Assign::Addresses(2)).await.unwrap();
    let nets = node.ec2.assign(&id, &Assign::Prefixes(1)).await.unwrap();
    let sixes = node.ec2.assign(&id, &Assign::Ipv6Prefixes(1)).await.unwrap();
    let lengths = |nets: &[IpNet]| nets.iter().map(IpNet::prefix_len).collect::<Vec<_>>();
    assert_eq!((lengths(&singles), lengths(&nets), lengths(&sixes)), (vec![32, 32], vec![28], vec![80]));
    let more = node.ec2.assign(&id, &Assign::Addresses(1)).await.unwrap();
    assert!(more.len() == 1 && !singles.contains(&more[0]), "only what is new");
    assert_eq!(node.ec2.assign(&id, &Assign::Nothing).await, Ok(Vec::new()));

    let mut all = [singles.clone(), nets.clone(), sixes.clone(), more].concat();
    let mut carries = node.primary().await.carries;
    all.sort_unstable();
    carries.sort_unstable();
    assert_eq!(carries, all);
    // One request for each family.
    let gone: Vec<IpNet> = [&singles[..1], &nets, &sixes].concat();
    node.ec2.unassign(&id, &gone).await.unwrap();
    let left = node.primary().await.carries;
    assert!(left.len() == 2 && gone.iter().all(|net| !left.contains(net)), "{left:?}");
    node.ec2.unassign(&id, &[]).await.unwrap();
    assert_eq!((node.calls("UnassignPrivateIpAddresses"), node.calls("UnassignIpv6Addresses")), (1, 1));
}

#[tokio::test]
async fn an_interface_is_created_with_prefixes() {
    let node = Node::new("m5.large").await;
    for (token, carries, length) in [("a", Assign::Prefixes(2), 28), ("b", Assign::Ipv6Prefixes(2), 80)] {
        let created = node.ec2.create(&creation(token, WIDE, carries)).await.unwrap();
        let lengths: Vec<u8> = created.carries.iter().map(IpNet::prefix_len).collect();
        assert_eq!(lengths, [length, length]);
    }
}

#[tokio::test]
async fn a_repeated_token_creates_nothing_more() {
    let node = Node::new("m5.large").await;
    let wanted = creation("intent-1", WIDE, Assign::Addresses(3));
    let first = node.ec2.create(&wanted).await.unwrap();
    let again = node.ec2.create(&wanted).await.unwrap();
    assert_eq!((first.id, first.carries, node.count()), (again.id, again.carries, 2));
    let other = Creation { subnet: NARROW.to_owned(), ..wanted };
    assert_eq!(failure(node.ec2.create(&other).await), Failure::TokenReused);
    assert_eq!(node.count(), 2);
}

#[tokio::test]
async fn subnets_have_ranges_of_both_families_and_what_is_free() {
    let node = Node::new("m5.large").await;
    let subnets = node.ec2.subnets("vpc-0d0b1e", "eu-central-1a").await.unwrap();
    let wide = subnets.iter().find(|subnet| subnet.id == WIDE).unwrap();
    let ranges: Vec<String> = wide.ranges.iter().map(ToString::to_string).collect();
    assert_eq!(ranges, ["10.0.0.0/20", "fd00:0:0:1::/64"]);
    assert_eq!((wide.available, &wide.tags), (4090, &pairs(&[("kubernetes.io/role/cni", "1")])));
    assert_eq!(subnets.len(), 2);
    assert_eq!(node.ec2.subnets("vpc-0d0b1e", "eu-central-1b").await, Ok(Vec::new()));
    assert_eq!(node.ec2.subnets("vpc-9", "eu-central-1a").await, Ok(Vec::new()));
}

#[tokio::test]
async fn limits_are_those_of_the_first_card() {
    let node = Node::new("m5.large").await;
    let cases = [
        ("m5.large", InstanceLimits { interfaces: 3, addresses: 10, ipv6_addresses: 10, prefixes: true }),
        ("t2.medium", InstanceLimits { interfaces: 3, addresses: 6, ipv6_addresses: 6, prefixes: false }),
        ("m5.metal", InstanceLimits { interfaces: 15, addresses: 50, ipv6_addresses: 50, prefixes: true }),
        (
            "p4d.24xlarge",
            InstanceLimits { interfaces: 15, addresses: 50, ipv6_addresses: 50, prefixes: true },
        ),
    ];
    for (name, limits) in cases {
        assert_eq!(node.ec2.limits(name).await, Ok(limits), "{name}");
    }
    assert_eq!(failure(node.ec2.limits("x9.huge").await), Failure::Refused);
}

#[tokio::test]
async fn interfaces_are_found_by_instance_and_by_tags() {
    let node = Node::new("m5.large").await;
    let ours = Creation {
        tags: pairs(&[("tenure/intent", "a"), ("cluster", "blue")]),
        ..creation("a", WIDE, Assign::Nothing)
    };
    let ours = node.ec2.create(&ours).await.unwrap();
    let theirs = Creation {
        tags: pairs(&[("tenure/intent", "b"), ("cluster", "blue")]),
        ..creation("b", WIDE, Assign::Nothing)
    };
    let theirs = node.ec2.create(&theirs).await.unwrap();
    let ids = async |which: Which| {
        let mut ids: Vec<_> =
            node.ec2.interfaces(&which).await.unwrap().into_iter().map(|known| known.id).collect();
        ids.sort_unstable();
        ids
    };
    let mut both = vec![ours.id.clone(), theirs.id.clone()];
    both.sort_unstable();
    assert_eq!(ids(Which::Tagged(pairs(&[("cluster", "blue")]))).await, both);
    let exact = Which::Tagged(pairs(&[("cluster", "blue"), ("tenure/intent", "a")]));
    assert_eq!(ids(exact).await, std::slice::from_ref(&ours.id));
    assert_eq!(ids(Which::Tagged(BTreeMap::new())).await, Vec::<String>::new(), "not all of the region");
    assert_eq!(ids(Which::Attached(node.instance.clone())).await, [node.primary().await.id]);
    let absent = "eni-00000000000000000".to_owned();
    let asked = Which::Ids(vec![absent, ours.id.clone()]);
    assert_eq!(ids(asked).await, [ours.id], "an id that does not exist is left out");
}
