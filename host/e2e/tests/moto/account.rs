//! A test's account: a VPC with one subnet, and an instance there.

use std::collections::BTreeMap;

use crate::ec2::{Ec2, REGION};
use crate::element::Element;

/// The VPC's addresses, all in one subnet. So many that addresses chosen at random, as moto does it, are not chosen twice.
const CIDR: &str = "10.60.0.0/16";

/// The availability zone.
const ZONE: &str = "eu-central-1a";

/// An instance in a VPC.
pub(crate) struct Account {
    vpc: String,
    pub(crate) subnet: String,
    pub(crate) instance: String,
    kind: String,
}

/// An interface of the instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) id: String,
    pub(crate) mac: String,
    pub(crate) device: u32,
    pub(crate) own: String,
    /// The secondary addresses.
    pub(crate) others: Vec<String>,
}

impl Account {
    /// Makes it, with an instance of a type.
    pub(crate) fn make(ec2: &Ec2, kind: &str) -> anyhow::Result<Self> {
        let made = ec2.call("CreateVpc", &[("CidrBlock", CIDR)])?;
        let vpc = made.text("vpc/vpcId")?.to_owned();
        let subnet = [("VpcId", vpc.as_str()), ("CidrBlock", CIDR), ("AvailabilityZone", ZONE)];
        let made = ec2.call("CreateSubnet", &subnet)?;
        let subnet = made.text("subnet/subnetId")?.to_owned();
        let instance = [
            ("ImageId", "ami-12345678"),
            ("InstanceType", kind),
            ("SubnetId", subnet.as_str()),
            ("MinCount", "1"),
            ("MaxCount", "1"),
        ];
        let made = ec2.call("RunInstances", &instance)?;
        let instance = made.text("instancesSet/item/instanceId")?.to_owned();
        Ok(Self { vpc, subnet, instance, kind: kind.to_owned() })
    }

    /// The instance's interfaces, in their order on it.
    pub(crate) fn interfaces(&self, ec2: &Ec2) -> anyhow::Result<Vec<Interface>> {
        let own = [("Filter.1.Name", "attachment.instance-id"), ("Filter.1.Value.1", &self.instance)];
        let answer = ec2.call("DescribeNetworkInterfaces", &own)?;
        // moto filters first: one that is detached meanwhile is among them.
        let attached = |shown: &&Element| shown.text("attachment/deviceIndex").is_ok();
        let found = answer.all("networkInterfaceSet/item").into_iter().filter(attached).map(interface);
        let mut found = found.collect::<anyhow::Result<Vec<_>>>()?;
        found.sort_by_key(|interface| interface.device);
        Ok(found)
    }

    /// The paths and values of the instance's metadata service.
    pub(crate) fn metadata(&self, primary: &Interface) -> BTreeMap<String, String> {
        let interface = format!("network/interfaces/macs/{}", primary.mac);
        let entries = [
            ("mac".to_owned(), primary.mac.clone()),
            ("instance-id".to_owned(), self.instance.clone()),
            ("instance-type".to_owned(), self.kind.clone()),
            ("placement/region".to_owned(), REGION.to_owned()),
            ("placement/availability-zone".to_owned(), ZONE.to_owned()),
            (format!("{interface}/vpc-id"), self.vpc.clone()),
            (format!("{interface}/subnet-id"), self.subnet.clone()),
            (format!("{interface}/vpc-ipv4-cidr-blocks"), CIDR.to_owned()),
        ];
        entries.into_iter().map(|(path, text)| (format!("/latest/meta-data/{path}"), text)).collect()
    }
}

fn interface(shown: &Element) -> anyhow::Result<Interface> {
    let own = shown.text("privateIpAddress")?;
    let all = shown.all("privateIpAddressesSet/item").into_iter();
    let all = all.map(|item| item.text("privateIpAddress")).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Interface {
        id: shown.text("networkInterfaceId")?.to_owned(),
        mac: shown.text("macAddress")?.to_owned(),
        device: shown.text("attachment/deviceIndex")?.parse()?,
        own: own.to_owned(),
        others: all.into_iter().filter(|address| *address != own).map(str::to_owned).collect(),
    })
}
