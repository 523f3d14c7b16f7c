//! The shape of answers: the same calls to the double and to moto, which somebody else wrote, and the elements of both.

use std::collections::BTreeSet;
use std::process::{Child, Stdio};

use anyhow::{Context, ensure};
use serde_json::json;
use tenure_e2e::{binaries, request, wait};

use crate::account::Account;
use crate::ec2::Ec2;
use crate::element::Element;
use crate::eni::{LIMIT, Node};
use crate::server::Server;

/// The address of the double.
const EC2: &str = "127.0.0.1:8201";
const IMDS: &str = "127.0.0.1:8202";
const CONTROL: &str = "127.0.0.1:8203";

/// The type of the instances.
const KIND: &str = "t3.small";

/// The elements that only the double writes. EC2 documents all of them.
const OURS: [&str; 12] = [
    "AssignPrivateIpAddresses assignedIpv4PrefixSet",
    "AssignPrivateIpAddresses return",
    "CreateNetworkInterface clientToken",
    "CreateNetworkInterface networkInterface/ipv4PrefixSet",
    "CreateNetworkInterface networkInterface/ipv6PrefixSet",
    "CreateTags return",
    "DeleteNetworkInterface return",
    "DescribeNetworkInterfaces networkInterfaceSet/item/ipv4PrefixSet",
    "DescribeNetworkInterfaces networkInterfaceSet/item/ipv6PrefixSet",
    "DetachNetworkInterface return",
    "ModifyNetworkInterfaceAttribute return",
    "UnassignPrivateIpAddresses return",
];

/// The elements that only moto writes, except for the many facts about instance types. tenure reads none of them.
const MOTOS: [&str; 9] = [
    "CreateNetworkInterface networkInterface/association",
    "CreateNetworkInterface networkInterface/requesterId",
    "DescribeNetworkInterfaces networkInterfaceSet/item/requesterId",
    "DescribeSubnets subnetSet/item/availabilityZoneId",
    "DescribeSubnets subnetSet/item/ipv6Native",
    "DescribeSubnets subnetSet/item/privateDnsNameOptionsOnLaunch",
    "DescribeSubnets subnetSet/item/privateDnsNameOptionsOnLaunch/enableResourceNameDnsAAAARecord",
    "DescribeSubnets subnetSet/item/privateDnsNameOptionsOnLaunch/enableResourceNameDnsARecord",
    "DescribeSubnets subnetSet/item/privateDnsNameOptionsOnLaunch/hostnameType",
];

/// The double and moto write the same elements, but for those that are named here.
pub(crate) fn alike() -> anyhow::Result<()> {
    let node = Node::prepare(Vec::new())?;
    let moto = Server::start(&node)?;
    let account = Account::make(&moto.ec2, KIND)?;
    let motos = story(&moto.ec2, &account.subnet, &account.instance).context("moto")?;
    let mut double = start(&node)?;
    let ours = ours(&node).context("the double");
    double.kill()?;
    double.wait()?;
    let ours = ours?;
    let only = |these: &BTreeSet<String>, those: &BTreeSet<String>| -> Vec<String> {
        these.difference(those).cloned().collect()
    };
    let is_counted = |path: &String| !path.starts_with("DescribeInstanceTypes");
    let of_moto: Vec<String> = only(&motos, &ours).into_iter().filter(is_counted).collect();
    ensure!(only(&ours, &motos) == OURS, "only the double writes {:#?}", only(&ours, &motos));
    ensure!(of_moto == MOTOS, "only moto writes {of_moto:#?}");
    Ok(())
}

/// Starts the double.
fn start(node: &Node) -> anyhow::Result<Child> {
    let mut command = node.enclave.command(binaries::find("tenure-ec2-double")?);
    command.args(["--unsigned", "--instance", KIND, "--ec2", EC2, "--imds", IMDS, "--control", CONTROL]);
    Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?)
}

/// The elements that the double writes.
fn ours(node: &Node) -> anyhow::Result<BTreeSet<String>> {
    let double = Ec2::new(node, EC2)?;
    let known = wait::until("the double", LIMIT, || Ok(double.call("DescribeInstances", &[]).ok()))?;
    let at_once = json!({ "create_ms": 0, "attach_ms": 0, "detach_ms": 0 }).to_string();
    let set = request::ask(&node.own(), CONTROL, "PUT /timing", &[], &at_once)?;
    ensure!(set.status == 200, "{set:?}");
    let instance = "reservationSet/item/instancesSet/item";
    let (subnet, id) = (format!("{instance}/subnetId"), format!("{instance}/instanceId"));
    story(&double, known.text(&subnet)?, known.text(&id)?)
}

/// The life of an interface, and what else tenure asks for: the elements of each answer.
fn story(ec2: &Ec2, subnet: &str, instance: &str) -> anyhow::Result<BTreeSet<String>> {
    let mut seen = BTreeSet::new();
    let mut tell = |action: &str, parameters: &[(&str, &str)]| -> anyhow::Result<Element> {
        let answer = ec2.call(action, parameters)?;
        seen.extend(answer.shape().into_iter().map(|path| format!("{action} {path}")));
        Ok(answer)
    };
    tell("DescribeSubnets", &[("Filter.1.Name", "subnet-id"), ("Filter.1.Value.1", subnet)])?;
    tell("DescribeInstanceTypes", &[("InstanceType.1", KIND)])?;
    let creation = [
        ("SubnetId", subnet),
        ("ClientToken", "token"),
        ("Description", "one"),
        ("SecondaryPrivateIpAddressCount", "1"),
        ("TagSpecification.1.ResourceType", "network-interface"),
        ("TagSpecification.1.Tag.1.Key", "owner"),
        ("TagSpecification.1.Tag.1.Value", "tenure"),
    ];
    let created = tell("CreateNetworkInterface", &creation)?;
    let id = created.text("networkInterface/networkInterfaceId")?;
    let this = ("NetworkInterfaceId", id);
    let place = [this, ("InstanceId", instance), ("DeviceIndex", "1"), ("NetworkCardIndex", "0")];
    let attached = tell("AttachNetworkInterface", &place)?;
    let attachment = attached.text("attachmentId")?;
    let keep = [this, ("Attachment.AttachmentId", attachment), ("Attachment.DeleteOnTermination", "true")];
    tell("ModifyNetworkInterfaceAttribute", &keep)?;
    tell("AssignPrivateIpAddresses", &[this, ("SecondaryPrivateIpAddressCount", "1")])?;
    tell("CreateTags", &[("ResourceId.1", id), ("Tag.1.Key", "more"), ("Tag.1.Value", "tags")])?;
    let its = [("Filter.1.Name", "network-interface-id"), ("Filter.1.Value.1", id)];
    let shown = tell("DescribeNetworkInterfaces", &its)?;
    let last = shown.all("networkInterfaceSet/item/privateIpAddressesSet/item/privateIpAddress").pop();
    let last = last.context("an address")?.content();
    tell("UnassignPrivateIpAddresses", &[this, ("PrivateIpAddress.1", last)])?;
    tell("DetachNetworkInterface", &[("AttachmentId", attachment)])?;
    tell("DeleteNetworkInterface", &[this])?;
    // What is not there, with the same code.
    let refused = ec2.ask("DeleteNetworkInterface", &[this])?;
    let code = refused.text("Errors/Error/Code")?;
    seen.extend(refused.shape().into_iter().map(|path| format!("{code} {path}")));
    Ok(seen)
}
