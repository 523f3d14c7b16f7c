//! Requests that are refused before an action is looked at, and how.

use tenure_ec2_double::state::Rules;
use tenure_ec2_double::{Denial, Permissions, Signature, Tag};

use super::client::{call, send};
use super::doubles::{double, node};

#[tokio::test]
async fn an_error_is_written_as_ec2_writes_it() {
    let double = double(&["t3.small"]).await;
    let reply = call(&double, "DeleteNetworkInterface", "NetworkInterfaceId=eni-9").await;
    assert_eq!((reply.status, reply.code()), (400, "InvalidNetworkInterfaceID.NotFound"));
    assert_eq!(reply.one("Message"), "The networkInterface ID 'eni-9' does not exist");
    assert!(reply.body.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?><Response><Errors><Error>"));
    assert!(reply.body.ends_with("</RequestID></Response>"), "{}", reply.body);
}

#[tokio::test]
async fn strangers_get_nothing() {
    let double = double(&["t3.small"]).await;
    let body = "Action=DescribeSubnets&Version=2016-11-15";
    let reply = send(double.ec2(), "POST", "/", &[], body).await.unwrap();
    assert_eq!((reply.status, reply.code()), (401, "AuthFailure"));
    double.with(|world, _| world.signature = Signature { required: true, skew_s: 600 });
    assert_eq!(call(&double, "DescribeSubnets", "").await.code(), "RequestExpired");
    double.with(|world, _| world.signature = Signature { required: false, skew_s: 0 });
    assert_eq!(send(double.ec2(), "POST", "/", &[], body).await.unwrap().status, 200);
}

#[tokio::test]
async fn what_an_action_does_not_take_is_refused() {
    let double = double(&["t3.small"]).await;
    let codes = [
        ("DescribeSubnets", "Subnet.1=x", "UnknownParameter"),
        ("DescribeSubnets", "Filter.1.Name=vpc-id&Filter.1.Values.1=x", "UnknownParameter"),
        ("DescribeSubnets", "Filter.1.Name=colour&Filter.1.Value.1=x", "InvalidParameterValue"),
        ("DescribeNetworkInterfaces", "MaxResults=4", "InvalidParameterValue"),
        ("DescribeNetworkInterfaces", "MaxResults=5&NetworkInterfaceId.1=x", "InvalidParameterCombination"),
        ("DescribeNetworkInterfaces", "NextToken=x", "InvalidPaginationToken"),
        ("CreateNetworkInterface", "", "MissingParameter"),
        (
            "CreateNetworkInterface",
            "SubnetId=s&Ipv4PrefixCount=1&SecondaryPrivateIpAddressCount=1",
            "InvalidParameterCombination",
        ),
        ("AssignPrivateIpAddresses", "NetworkInterfaceId=x", "MissingParameter"),
        ("AssignPrivateIpAddresses", "NetworkInterfaceId=x&PrivateIpAddress.1=ten", "InvalidParameterValue"),
        (
            "AssignPrivateIpAddresses",
            "NetworkInterfaceId=x&Ipv4PrefixCount=1&DryRun=true",
            "UnknownParameter",
        ),
        ("AttachNetworkInterface", "NetworkInterfaceId=x&InstanceId=y", "MissingParameter"),
        ("ModifyNetworkInterfaceAttribute", "NetworkInterfaceId=x", "InvalidParameterCombination"),
        (
            "ModifyNetworkInterfaceAttribute",
            "NetworkInterfaceId=x&SourceDestCheck.Value=true&SecurityGroupId.1=y",
            "InvalidParameterCombination",
        ),
        ("CreateTags", "ResourceId.1=x&Tag.1.Key=aws:x&Tag.1.Value=y", "InvalidParameterValue"),
        ("RunInstances", "", "InvalidAction"),
    ];
    for (action, parameters, expected) in codes {
        assert_eq!(call(&double, action, parameters).await.code(), expected, "{action} {parameters}");
    }
    let unversioned = call(&double, "DescribeSubnets", "Version=2014-01-01").await;
    assert_eq!(unversioned.code(), "InvalidParameterValue");
}

#[tokio::test]
async fn a_dry_run_does_nothing() {
    let double = double(&["t3.small"]).await;
    let question = "SubnetId=subnet-00000000000000000&DryRun=true";
    let reply = call(&double, "CreateNetworkInterface", question).await;
    assert_eq!((reply.status, reply.code()), (412, "DryRunOperation"));
    let deny = vec![Denial {
        action: "CreateNetworkInterface".to_owned(),
        unless_resource_tag: None,
        unless_request_tag: None,
    }];
    double.with(|world, _| world.permissions = Permissions { deny });
    let reply = call(&double, "CreateNetworkInterface", question).await;
    assert_eq!((reply.status, reply.code()), (403, "UnauthorizedOperation"));
    assert!(reply.one("Message").contains("ec2:CreateNetworkInterface"));
    assert_eq!(double.with(|world, _| world.state.interfaces().all().count()), 1);
}

#[tokio::test]
async fn denials_can_depend_on_tags() {
    let double = double(&["t3.small"]).await;
    let tag = Tag { key: "owner".to_owned(), value: "me".to_owned() };
    let denial = |action: &str, on_resource: bool| Denial {
        action: action.to_owned(),
        unless_resource_tag: on_resource.then(|| tag.clone()),
        unless_request_tag: (!on_resource).then(|| tag.clone()),
    };
    let deny = vec![denial("DeleteNetworkInterface", true), denial("CreateTags", false)];
    double.with(|world, _| world.permissions = Permissions { deny });
    let tagged = |value: &str| {
        format!(
            "SubnetId=subnet-00000000000000000&TagSpecification.1.ResourceType=network-interface\
             &TagSpecification.1.Tag.1.Key=owner&TagSpecification.1.Tag.1.Value={value}"
        )
    };
    assert_eq!(call(&double, "CreateNetworkInterface", &tagged("you")).await.code(), "UnauthorizedOperation");
    let mine = call(&double, "CreateNetworkInterface", &tagged("me")).await;
    let bare = call(&double, "CreateNetworkInterface", "SubnetId=subnet-00000000000000000").await;
    let delete =
        async |id: &str| call(&double, "DeleteNetworkInterface", &format!("NetworkInterfaceId={id}")).await;
    assert_eq!(delete(bare.one("networkInterfaceId")).await.code(), "UnauthorizedOperation");
    assert_eq!(delete(mine.one("networkInterfaceId")).await.one("return"), "true");
}

#[tokio::test]
async fn a_spent_bucket_answers_503_until_time_passes() {
    let double = double(&["m5.large"]).await;
    let node = node(&double);
    let primary = double.with(|world, _| world.state.instances()[&node].primary.clone());
    let question = format!("NetworkInterfaceId={primary}&PrivateIpAddress.1=10.0.0.9");
    for _ in 0..100 {
        assert_ne!(call(&double, "UnassignPrivateIpAddresses", &question).await.status, 503);
    }
    let reply = call(&double, "UnassignPrivateIpAddresses", &question).await;
    assert_eq!((reply.status, reply.code()), (503, "RequestLimitExceeded"));
    double.advance(std::time::Duration::from_millis(200));
    assert_eq!(call(&double, "UnassignPrivateIpAddresses", &question).await.status, 400);
    double.with(|world, _| world.state.rules = Rules { throttling: false, ..world.state.rules });
    assert_eq!(call(&double, "UnassignPrivateIpAddresses", &question).await.status, 400);
}
