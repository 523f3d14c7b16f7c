//! Every action, as the daemon uses it.

use std::time::Duration;

use super::client::call;
use super::doubles::{double, node};

const SUBNET: &str = "subnet-00000000000000000";

#[tokio::test]
async fn an_interface_lives_through_all_calls() {
    let double = double(&["m5.large"]).await;
    let node = node(&double);
    let created = call(
        &double,
        "CreateNetworkInterface",
        &format!(
            "SubnetId={SUBNET}&Description=aws-K8S-{node}&ClientToken=intent-1&SecurityGroupId.1=sg-0default\
             &SecondaryPrivateIpAddressCount=2&TagSpecification.1.ResourceType=network-interface\
             &TagSpecification.1.Tag.1.Key=owner&TagSpecification.1.Tag.1.Value=tenure\
             &ConnectionTrackingSpecification.UdpTimeout=30"
        ),
    )
    .await;
    assert_eq!((created.one("status"), created.one("clientToken")), ("pending", "intent-1"));
    assert_eq!((created.one("udpTimeout"), created.one("key")), ("30", "owner"));
    assert_eq!(created.all("primary"), ["true", "false", "false"]);
    let id = created.one("networkInterfaceId");
    let place = format!("NetworkInterfaceId={id}&InstanceId={node}&DeviceIndex=1&NetworkCardIndex=0");
    let attached = call(&double, "AttachNetworkInterface", &place).await;
    let attachment = attached.one("attachmentId");
    let filter = format!(
        "Filter.1.Name=attachment.instance-id&Filter.1.Value.1={node}&Filter.2.Name=tag:owner\
         &Filter.2.Value.1=tenure&MaxResults=1000"
    );
    let found = call(&double, "DescribeNetworkInterfaces", &filter).await;
    assert_eq!(found.all("status"), ["in-use", "attaching"], "of the interface and of the attachment");
    double.advance(Duration::from_secs(2));
    let ends = format!(
        "NetworkInterfaceId={id}&Attachment.AttachmentId={attachment}&Attachment.DeleteOnTermination=true"
    );
    assert_eq!(call(&double, "ModifyNetworkInterfaceAttribute", &ends).await.one("return"), "true");
    let found = call(&double, "DescribeNetworkInterfaces", &filter).await;
    assert_eq!(found.all("status"), ["in-use", "attached"]);
    assert_eq!((found.one("deleteOnTermination"), found.one("deviceIndex")), ("true", "1"));
    let one_prefix = format!("NetworkInterfaceId={id}&Ipv4PrefixCount=1");
    let assigned = call(&double, "AssignPrivateIpAddresses", &one_prefix).await;
    let prefix = assigned.one("ipv4Prefix");
    assert!(assigned.body.contains("<assignedPrivateIpAddressesSet/>"), "{}", assigned.body);
    assert!(prefix.ends_with("/28"), "{prefix}");
    let six =
        call(&double, "AssignIpv6Addresses", &format!("NetworkInterfaceId={id}&Ipv6PrefixCount=1")).await;
    let six = six.one("item").to_owned();
    let found = call(&double, "DescribeNetworkInterfaces", &format!("NetworkInterfaceId.1={id}")).await;
    assert_eq!((found.all("ipv4Prefix"), found.all("ipv6Prefix")), (vec![prefix], vec![six.as_str()]));
    let four = format!("NetworkInterfaceId={id}&Ipv4Prefix.1={prefix}");
    assert_eq!(call(&double, "UnassignPrivateIpAddresses", &four).await.one("return"), "true");
    let gone =
        call(&double, "UnassignIpv6Addresses", &format!("NetworkInterfaceId={id}&Ipv6Prefix.1={six}")).await;
    assert_eq!(gone.one("unassignedIpv6PrefixSet"), format!("<item>{six}</item>"));
    let tags = format!("ResourceId.1={id}&Tag.1.Key=a%26b&Tag.1.Value=%3Cc%3E");
    assert_eq!(call(&double, "CreateTags", &tags).await.one("return"), "true");
    let found =
        call(&double, "DescribeNetworkInterfaces", "Filter.1.Name=tag-key&Filter.1.Value.1=a%26b").await;
    assert_eq!(
        (found.all("key"), found.all("value")),
        (vec!["a&amp;b", "owner"], vec!["&lt;c&gt;", "tenure"])
    );
    let detached =
        call(&double, "DetachNetworkInterface", &format!("AttachmentId={attachment}&Force=false")).await;
    assert_eq!(detached.one("return"), "true");
    let by_id = format!("NetworkInterfaceId={id}");
    assert_eq!(call(&double, "DeleteNetworkInterface", &by_id).await.code(), "InvalidParameterValue");
    double.advance(Duration::from_secs(5));
    assert_eq!(call(&double, "DeleteNetworkInterface", &by_id).await.one("return"), "true");
    let gone = call(&double, "DescribeNetworkInterfaces", &format!("NetworkInterfaceId.1={id}")).await;
    assert_eq!(gone.code(), "InvalidNetworkInterfaceID.NotFound");
    assert_eq!(double.verdict(), []);
}

#[tokio::test]
async fn instances_and_types_are_described() {
    let double = double(&["t2.medium", "p4d.24xlarge"]).await;
    let all = call(&double, "DescribeInstances", "MaxResults=1000").await;
    assert_eq!(all.all("instanceType").len(), 2);
    let node = node(&double);
    let one = call(&double, "DescribeInstances", &format!("InstanceId.1={node}")).await;
    assert_eq!((one.all("instanceId"), one.one("name")), (vec![node.as_str()], "running"));
    assert_eq!((one.all("networkInterfaceId").len(), one.one("deviceIndex")), (1, "0"));
    assert_eq!(one.one("deleteOnTermination"), "true", "the primary interface ends with its instance");
    let types = call(&double, "DescribeInstanceTypes", "InstanceType.1=p4d.24xlarge").await;
    assert_eq!((types.one("maximumNetworkCards"), types.all("networkCardIndex").len()), ("4", 4));
    assert_eq!((types.one("ipv4AddressesPerInterface"), types.one("hypervisor")), ("50", "nitro"));
    assert_eq!(types.all("maximumNetworkInterfaces"), ["60", "15", "15", "15", "15"]);
    let metal =
        call(&double, "DescribeInstanceTypes", "Filter.1.Name=bare-metal&Filter.1.Value.1=true").await;
    assert_eq!((metal.all("instanceType"), metal.all("hypervisor").len()), (vec!["m5.metal"], 0));
    assert_eq!(
        call(&double, "DescribeInstanceTypes", "InstanceType.1=t3.huge").await.code(),
        "InvalidInstanceType"
    );
    assert_eq!(
        call(&double, "DescribeInstances", "InstanceId.1=i-9").await.code(),
        "InvalidInstanceID.NotFound"
    );
}

#[tokio::test]
async fn subnets_and_their_reservations_are_described() {
    let double = double(&[]).await;
    let tagged = "Filter.1.Name=availability-zone&Filter.1.Value.1=eu-central-1a&Filter.2.Name=tag-key\
                  &Filter.2.Value.1=kubernetes.io/role/cni";
    let found = call(&double, "DescribeSubnets", tagged).await;
    assert_eq!((found.all("subnetId"), found.one("cidrBlock")), (vec![SUBNET], "10.0.0.0/24"));
    assert_eq!(
        (found.one("availableIpAddressCount"), found.one("ipv6CidrBlock")),
        ("251", "fd00:0:0:1::/64")
    );
    assert_eq!(call(&double, "DescribeSubnets", "").await.all("subnetId").len(), 2);
    let reserved = call(&double, "GetSubnetCidrReservations", &format!("SubnetId={SUBNET}")).await;
    assert_eq!((reserved.one("cidr"), reserved.one("reservationType")), ("10.0.0.192/26", "prefix"));
    let none = call(&double, "GetSubnetCidrReservations", "SubnetId=subnet-00000000000000001").await;
    assert!(none.body.contains("<subnetIpv4CidrReservationSet/>"), "{}", none.body);
    let created =
        call(&double, "CreateNetworkInterface", &format!("SubnetId={SUBNET}&Ipv4PrefixCount=1")).await;
    let prefix: ipnet::Ipv4Net = created.one("ipv4Prefix").parse().unwrap();
    let reservation: ipnet::Ipv4Net = "10.0.0.192/26".parse().unwrap();
    assert!(reservation.contains(&prefix), "{prefix}");
}

#[tokio::test]
async fn pages_follow_each_other() {
    let double = double(&[]).await;
    for _ in 0..12 {
        call(&double, "CreateNetworkInterface", &format!("SubnetId={SUBNET}")).await;
    }
    let (mut seen, mut next, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = call(&double, "DescribeNetworkInterfaces", &format!("MaxResults=5{next}")).await;
        seen.extend(page.all("networkInterfaceId").into_iter().map(str::to_owned));
        pages += 1;
        let Some(token) = page.all("nextToken").first().map(|token| (*token).to_owned()) else { break };
        next = format!("&NextToken={token}");
    }
    assert_eq!((pages, seen.len()), (3, 12));
    seen.dedup();
    assert_eq!(seen.len(), 12, "each once");
}

#[tokio::test]
async fn a_repeated_token_creates_nothing() {
    let double = double(&[]).await;
    let question = format!("SubnetId={SUBNET}&ClientToken=intent-1");
    let first = call(&double, "CreateNetworkInterface", &question).await;
    let again = call(&double, "CreateNetworkInterface", &question).await;
    assert_eq!(first.one("networkInterfaceId"), again.one("networkInterfaceId"));
    let at_once = format!("SubnetId={SUBNET}&ClientToken=intent-2");
    let four = [(); 4].map(|()| call(&double, "CreateNetworkInterface", &at_once));
    let [a, b, c, d] = four;
    let (a, b, c, d) = tokio::join!(a, b, c, d);
    let first_of = |reply: &super::client::Reply| reply.one("networkInterfaceId").to_owned();
    assert!([&b, &c, &d].iter().all(|reply| first_of(reply) == first_of(&a)), "all at once");
    let other = call(&double, "CreateNetworkInterface", &format!("{question}&Description=x")).await;
    assert_eq!((other.status, other.code()), (400, "IdempotentParameterMismatch"));
}
