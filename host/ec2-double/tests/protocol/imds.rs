//! The metadata service: tokens, fields, and how it lies.

use std::net::SocketAddr;
use std::time::Duration;

use tenure_ec2_double::state::Shown;
use tenure_ec2_double::{Double, Fault, Kind};

use super::client::{Reply, attached, call, send};
use super::doubles::{double, node};

const TTL: &str = "x-aws-ec2-metadata-token-ttl-seconds";
const MACS: &str = "/latest/meta-data/network/interfaces/macs/";

async fn token(address: SocketAddr, seconds: &str) -> Reply {
    send(address, "PUT", "/latest/api/token", &[(TTL, seconds.to_owned())], "").await.unwrap()
}

/// Reads a path with a new token.
async fn get(double: &Double, path: &str) -> Reply {
    let address = double.imds().into_values().next().unwrap();
    let token = token(address, "60").await.body;
    send(address, "GET", path, &[("x-aws-ec2-metadata-token", token)], "").await.unwrap()
}

#[tokio::test]
async fn everything_needs_a_token_that_expires() {
    let double = double(&["t3.small"]).await;
    let address = double.imds().into_values().next().unwrap();
    for (seconds, status) in [("0", 400), ("21601", 400), ("x", 400), ("21600", 200)] {
        assert_eq!(token(address, seconds).await.status, status, "{seconds}");
    }
    let without = send(address, "GET", "/latest/meta-data/mac", &[], "").await.unwrap();
    assert_eq!(without.status, 401);
    let proxied = [(TTL, "60".to_owned()), ("x-forwarded-for", "10.0.0.1".to_owned())];
    assert_eq!(send(address, "PUT", "/latest/api/token", &proxied, "").await.unwrap().status, 403);
    let good = token(address, "60").await;
    assert!(
        good.headers.contains(&format!("{TTL}: 60")),
        "SDKs read the life from the reply: {}",
        good.headers
    );
    let header = [("x-aws-ec2-metadata-token", good.body)];
    assert_eq!(send(address, "GET", "/latest/meta-data/mac", &header, "").await.unwrap().status, 200);
    double.advance(Duration::from_secs(60));
    assert_eq!(send(address, "GET", "/latest/meta-data/mac", &header, "").await.unwrap().status, 401);
}

#[tokio::test]
async fn fields_are_lines_and_empty_ones_are_not_there() {
    let double = double(&["t3.small"]).await;
    let node = node(&double);
    assert_eq!(get(&double, "/latest/meta-data/instance-id").await.body, node);
    assert_eq!(get(&double, "/latest/meta-data/instance-type").await.body, "t3.small");
    assert_eq!(get(&double, "/latest/meta-data/placement/availability-zone").await.body, "eu-central-1a");
    assert_eq!(get(&double, "/latest/meta-data/placement/region").await.body, "eu-central-1");
    let mac = get(&double, "/latest/meta-data/mac").await.body;
    assert_eq!(get(&double, MACS).await.body, format!("{mac}/"));
    let fields = get(&double, &format!("{MACS}{mac}/")).await.body;
    let expected = "device-number interface-id local-ipv4s mac network-card owner-id security-group-ids \
                    subnet-id subnet-ipv4-cidr-block subnet-ipv6-cidr-blocks vpc-id vpc-ipv4-cidr-block \
                    vpc-ipv4-cidr-blocks vpc-ipv6-cidr-blocks";
    assert_eq!(
        fields.lines().collect::<Vec<_>>(),
        expected.split(' ').filter(|name| !name.is_empty()).collect::<Vec<_>>()
    );
    assert_eq!(get(&double, &format!("{MACS}{mac}/device-number")).await.body, "0");
    assert_eq!(
        get(&double, &format!("{MACS}{mac}/vpc-ipv4-cidr-blocks")).await.body,
        "10.0.0.0/24\n10.0.1.0/28"
    );
    assert_eq!(get(&double, &format!("{MACS}{mac}/ipv4-prefix")).await.status, 404);
    assert_eq!(get(&double, &format!("{MACS}{mac}/ipv6s")).await.status, 404);
    let id = get(&double, &format!("{MACS}{mac}/interface-id")).await.body;
    let assigned = format!("NetworkInterfaceId={id}&SecondaryPrivateIpAddressCount=2");
    call(&double, "AssignPrivateIpAddresses", &assigned).await;
    call(&double, "AssignPrivateIpAddresses", &format!("NetworkInterfaceId={id}&Ipv4PrefixCount=1")).await;
    let own = get(&double, "/latest/meta-data/local-ipv4").await.body;
    let addresses = get(&double, &format!("{MACS}{mac}/local-ipv4s")).await.body;
    assert_eq!((addresses.lines().count(), addresses.lines().next()), (3, Some(own.as_str())));
    assert!(get(&double, &format!("{MACS}{mac}/ipv4-prefix")).await.body.ends_with("/28"));
}

#[tokio::test]
async fn old_types_have_no_network_card() {
    let double = double(&["t2.medium"]).await;
    let mac = get(&double, "/latest/meta-data/mac").await.body;
    assert_eq!(get(&double, &format!("{MACS}{mac}/network-card")).await.status, 404);
}

#[tokio::test]
async fn a_mac_comes_before_its_fields_and_goes_after_them() {
    let double = double(&["t3.small"]).await;
    let node = node(&double);
    let (id, attachment) = attached(&double, &node, 1).await;
    let mac = double.with(|world, _| world.state.interfaces().get(&id).unwrap().mac.clone());
    let shown = async || {
        let listed = get(&double, MACS).await.body.contains(&mac);
        (listed, get(&double, &format!("{MACS}{mac}/interface-id")).await.status)
    };
    assert_eq!(shown().await, (true, 404), "attaching");
    double.advance(Duration::from_secs(2));
    assert_eq!(shown().await, (true, 200));
    call(&double, "DetachNetworkInterface", &format!("AttachmentId={attachment}")).await;
    assert_eq!(shown().await, (true, 404), "detaching");
    double.advance(Duration::from_secs(5));
    assert_eq!(shown().await, (false, 404));
}

#[tokio::test]
async fn it_lags_freezes_and_lies_about_macs() {
    let double = double(&["t3.small"]).await;
    let node = node(&double);
    let (id, _) = attached(&double, &node, 1).await;
    double.advance(Duration::from_secs(10));
    let mac = double.with(|world, _| world.state.interfaces().get(&id).unwrap().mac.clone());
    let show = |shown: Option<Shown>| {
        double.with(|world, _| {
            let shows = &mut world.state.consistency.imds_shows;
            shows.clear();
            shows.extend(shown.map(|shown| (id.clone(), shown)));
        });
    };
    let listed = async || get(&double, MACS).await.body.contains(&mac);
    let field = async || get(&double, &format!("{MACS}{mac}/interface-id")).await.status;
    show(Some(Shown::Missing));
    assert_eq!((listed().await, field().await), (false, 404));
    show(Some(Shown::NoFields));
    assert_eq!((listed().await, field().await), (true, 404));
    show(Some(Shown::Flapping));
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push((listed().await, field().await));
    }
    seen.sort_unstable();
    assert_eq!(seen, [(false, 404), (false, 404), (true, 200), (true, 200)]);
    show(None);
    double.with(|world, now| {
        world.state.consistency.imds_lag_ms = 1000;
        world.state.consistency.imds_frozen_at.insert(node.clone(), now);
    });
    let own = get(&double, "/latest/meta-data/local-ipv4").await.body;
    double.advance(Duration::from_secs(1));
    let more = format!("NetworkInterfaceId={id}&SecondaryPrivateIpAddressCount=1");
    call(&double, "AssignPrivateIpAddresses", &more).await;
    double.advance(Duration::from_secs(7 * 86_400));
    let count = async || get(&double, &format!("{MACS}{mac}/local-ipv4s")).await.body.lines().count();
    assert_eq!(count().await, 1, "stale for ever");
    double.with(|world, _| world.state.consistency.imds_frozen_at.clear());
    assert_eq!((count().await, get(&double, "/latest/meta-data/local-ipv4").await.body), (2, own));
    call(&double, "AssignPrivateIpAddresses", &more).await;
    assert_eq!(count().await, 2);
    double.advance(Duration::from_secs(1));
    assert_eq!(count().await, 3);
}

#[tokio::test]
async fn it_refuses_in_early_boot_and_drops_too_many_packets() {
    let double = double(&["t3.small"]).await;
    let address = double.imds().into_values().next().unwrap();
    let until = double.with(|_, now| now.after(5000));
    double.fault(Fault { until_ms: Some(until.millis()), ..Fault::always("/", Kind::Reset) });
    let ask = async || send(address, "PUT", "/latest/api/token", &[(TTL, "60".to_owned())], "").await.is_ok();
    assert!(!ask().await && !ask().await);
    double.advance(Duration::from_secs(5));
    assert!(ask().await);
    double.with(|world, _| world.state.rules.imds_packets = true);
    double.advance(Duration::from_secs(1));
    let mut served = 0;
    while ask().await {
        served += 1;
    }
    assert_eq!(served, 128);
    double.advance(Duration::from_secs(1));
    assert!(ask().await);
}

#[tokio::test]
async fn credentials_tell_the_callers_apart() {
    let double = double(&["t3.small"]).await;
    let role = get(&double, "/latest/meta-data/iam/security-credentials/").await.body;
    let text = get(&double, &format!("/latest/meta-data/iam/security-credentials/{role}")).await.body;
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["Code"], "Success");
    let key = document["AccessKeyId"].as_str().unwrap();
    super::client::call_as(&double, key, "DescribeSubnets", "").await.unwrap();
    let entry = double.wait_for(0, |entry| entry.call == "DescribeSubnets").await;
    assert_eq!(entry.caller, node(&double));
}
