//! Every refusal of the double, with its meaning.

use std::time::Duration;

use tenure_aws::port::{Assign, Attach, Ec2 as _, Failure};
use tenure_ec2_double::Denial;
use tenure_ec2_double::state::Exhaustion;

use super::node::{NARROW, Node, WIDE, creation, failure};

#[tokio::test]
async fn a_subnet_is_exhausted_in_three_ways() {
    let node = Node::new("m5.large").await;
    let too_many = creation("a", NARROW, Assign::Addresses(11));
    assert_eq!(failure(node.ec2.create(&too_many).await), Failure::SubnetExhausted);
    node.double.with(|world, _| world.state.rules.exhaustion = Exhaustion::Message);
    assert_eq!(failure(node.ec2.create(&too_many).await), Failure::TooFew);
    // Eleven addresses are free, but no aligned sixteen of them.
    node.double.with(|world, _| world.state.rules.exhaustion = Exhaustion::Code);
    let id = node.ec2.create(&creation("b", WIDE, Assign::Nothing)).await.unwrap().id;
    let all = node.double.with(|world, now| {
        let mut scattered = Vec::new();
        for block in 0..256_u32 {
            let bits = u32::from(std::net::Ipv4Addr::new(10, 0, 0, 0)) + block * 16 + 8;
            scattered.push(std::net::Ipv4Addr::from(bits));
        }
        let wanted = tenure_ec2_double::state::Wanted::These(scattered);
        world.state.assign(&id, &wanted, false, now).map(|_| ())
    });
    assert!(all.is_ok(), "{all:?}");
    let other = node.ec2.create(&creation("c", WIDE, Assign::Nothing)).await.unwrap().id;
    assert_eq!(failure(node.ec2.assign(&other, &Assign::Prefixes(1)).await), Failure::NoBlock);
}

#[tokio::test]
async fn interfaces_instances_and_regions_are_full() {
    let node = Node::new("t3.small").await;
    let primary = node.primary().await.id;
    assert_eq!(failure(node.ec2.assign(&primary, &Assign::Addresses(4)).await), Failure::InterfaceFull);
    assert_eq!(failure(node.ec2.assign(&primary, &Assign::Ipv6Prefixes(5)).await), Failure::InterfaceFull);
    for device in [1, 2] {
        let id = node.create(&format!("token-{device}")).await.id;
        node.attach(&id, device).await.unwrap();
    }
    let fourth = node.create("token-4").await.id;
    assert_eq!(failure(node.attach(&fourth, 3).await), Failure::InstanceFull);
    node.double.with(|world, _| world.state.rules.interfaces = 4);
    let fifth = creation("token-5", WIDE, Assign::Nothing);
    assert_eq!(failure(node.ec2.create(&fifth).await), Failure::Quota);
}

#[tokio::test]
async fn attachments_are_refused() {
    let node = Node::new("m5.large").await;
    let (first, second) = (node.create("a").await.id, node.create("b").await.id);
    let attachment = node.attach(&first, 1).await.unwrap();
    assert_eq!(failure(node.attach(&second, 1).await), Failure::IndexTaken);
    assert_eq!(failure(node.attach(&first, 2).await), Failure::InUse);
    assert_eq!(failure(node.ec2.delete(&first).await), Failure::InUse);
    let primary = node.primary().await.attachment.unwrap().id;
    assert_eq!(failure(node.ec2.detach(&primary).await), Failure::Never);
    let card = Attach { interface: second.clone(), instance: node.instance.clone(), card: 1, device: 1 };
    assert_eq!(failure(node.ec2.attach(&card).await), Failure::Refused);
    node.ec2.detach(&attachment).await.unwrap();
    assert_eq!(failure(node.ec2.detach(&attachment).await), Failure::InUse, "it is detaching");
    assert_eq!(failure(node.ec2.delete(&first).await), Failure::InUse);
    node.double.advance(Duration::from_secs(6));
    node.double.with(|world, now| world.state.terminate(&node.instance, now).unwrap());
    assert_eq!(failure(node.attach(&second, 2).await), Failure::InstanceState);
    let elsewhere =
        Attach { interface: second, instance: "i-00000000000000000".to_owned(), card: 0, device: 1 };
    assert_eq!(failure(node.ec2.attach(&elsewhere).await), Failure::InstanceState);
}

#[tokio::test]
async fn what_does_not_exist_is_not_found() {
    let node = Node::new("m5.large").await;
    let absent = "eni-00000000000000000";
    assert_eq!(failure(node.ec2.delete(absent).await), Failure::NotFound);
    assert_eq!(failure(node.ec2.detach("eni-attach-00000000000000000").await), Failure::NotFound);
    assert_eq!(failure(node.attach(absent, 1).await), Failure::NotFound);
    assert_eq!(failure(node.ec2.assign(absent, &Assign::Addresses(1)).await), Failure::NotFound);
    assert_eq!(failure(node.ec2.delete_with_instance(absent, "eni-attach-1").await), Failure::NotFound);
    let tags = [("a".to_owned(), "b".to_owned())].into();
    assert_eq!(failure(node.ec2.tag(absent, &tags).await), Failure::NotFound);
    let subnet = creation("a", "subnet-9", Assign::Nothing);
    assert_eq!(failure(node.ec2.create(&subnet).await), Failure::Configuration);
    let mut group = creation("a", WIDE, Assign::Nothing);
    group.groups = vec!["sg-9".to_owned()];
    assert_eq!(failure(node.ec2.create(&group).await), Failure::Configuration);
    let primary = node.primary().await.id;
    let not_there = ["10.0.0.77/32".parse().unwrap()];
    assert_eq!(failure(node.ec2.unassign(&primary, &not_there).await), Failure::NotAssigned);
}

#[tokio::test]
async fn an_old_hypervisor_takes_no_prefixes() {
    let node = Node::new("t2.medium").await;
    let primary = node.primary().await.id;
    assert_eq!(failure(node.ec2.assign(&primary, &Assign::Prefixes(1)).await), Failure::Refused);
}

#[tokio::test]
async fn what_is_not_allowed_is_named() {
    let node = Node::new("m5.large").await;
    let deny = |action: &str| Denial {
        action: action.to_owned(),
        unless_resource_tag: None,
        unless_request_tag: None,
    };
    node.double.with(|world, _| world.permissions.deny = vec![deny("CreateNetworkInterface")]);
    let error = node.ec2.create(&creation("a", WIDE, Assign::Nothing)).await.unwrap_err();
    assert_eq!((error.failure, error.code.as_str()), (Failure::Denied, "UnauthorizedOperation"));
    assert_eq!(error.action, "CreateNetworkInterface");
    assert!(error.message.contains("not authorized to perform: ec2:CreateNetworkInterface"), "{error}");
}

#[tokio::test]
async fn an_empty_bucket_is_throttling_and_is_not_asked_again() {
    let node = Node::new("m5.large").await;
    let primary = node.primary().await.id;
    node.double.with(|world, now| world.state.throttle.set_load("AssignPrivateIpAddresses", 1000, now));
    node.double.advance(Duration::from_secs(10));
    let error = node.ec2.assign(&primary, &Assign::Addresses(1)).await.unwrap_err();
    assert_eq!((error.failure, error.code.as_str()), (Failure::Throttled, "RequestLimitExceeded"));
    assert_eq!(node.calls("AssignPrivateIpAddresses"), 1, "the SDK does not try again");
}
