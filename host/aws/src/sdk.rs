//! The port [`Ec2`] over the AWS SDK. No other module names the SDK.
//!
//! Each call is one request, or one for each page of an answer, and is sent once: the SDK's retries are off. Requests are
//! made by `requests`, answers become the port's data in `answers`, and every failure its meaning in `failures`. The client
//! can be shared; it keeps its connections and credentials behind locks of its own.

mod answers;
mod client;
mod failures;
mod requests;

use std::collections::BTreeMap;

use ipnet::IpNet;

use crate::port::{Assign, Attach, Call, Creation, Ec2, Ec2Interface, Ec2Subnet, InstanceLimits, Which};

pub use self::client::{Ec2Connection, InvalidAddress};

/// EC2, over the AWS SDK.
#[derive(Debug, Clone)]
pub struct SdkEc2 {
    client: aws_sdk_ec2::Client,
}

impl SdkEc2 {
    /// Makes a client. It connects, and looks for credentials, with the first call.
    ///
    /// # Errors
    /// When the metadata service's address is not a URL.
    pub fn new(connection: &Ec2Connection) -> Result<Self, InvalidAddress> {
        Ok(Self { client: client::build(connection)? })
    }
}

impl Ec2 for SdkEc2 {
    fn interfaces<'a>(&'a self, which: &'a Which) -> Call<'a, Vec<Ec2Interface>> {
        Box::pin(requests::interfaces(&self.client, which))
    }

    fn create<'a>(&'a self, creation: &'a Creation) -> Call<'a, Ec2Interface> {
        Box::pin(requests::create(&self.client, creation))
    }

    fn attach<'a>(&'a self, attachment: &'a Attach) -> Call<'a, String> {
        Box::pin(requests::attach(&self.client, attachment))
    }

    fn delete_with_instance<'a>(&'a self, interface: &'a str, attachment: &'a str) -> Call<'a, ()> {
        Box::pin(requests::delete_with_instance(&self.client, interface, attachment))
    }

    fn set_groups<'a>(&'a self, interface: &'a str, groups: &'a [String]) -> Call<'a, ()> {
        Box::pin(requests::set_groups(&self.client, interface, groups))
    }

    fn assign<'a>(&'a self, interface: &'a str, what: &'a Assign) -> Call<'a, Vec<IpNet>> {
        Box::pin(requests::assign(&self.client, interface, what))
    }

    fn unassign<'a>(&'a self, interface: &'a str, what: &'a [IpNet]) -> Call<'a, ()> {
        Box::pin(requests::unassign(&self.client, interface, what))
    }

    fn detach<'a>(&'a self, attachment: &'a str) -> Call<'a, ()> {
        Box::pin(requests::detach(&self.client, attachment))
    }

    fn delete<'a>(&'a self, interface: &'a str) -> Call<'a, ()> {
        Box::pin(requests::delete(&self.client, interface))
    }

    fn tag<'a>(&'a self, interface: &'a str, tags: &'a BTreeMap<String, String>) -> Call<'a, ()> {
        Box::pin(requests::tag(&self.client, interface, tags))
    }

    fn subnets<'a>(&'a self, vpc: &'a str, zone: &'a str) -> Call<'a, Vec<Ec2Subnet>> {
        Box::pin(requests::subnets(&self.client, vpc, zone))
    }

    fn limits<'a>(&'a self, instance_type: &'a str) -> Call<'a, InstanceLimits> {
        Box::pin(requests::limits(&self.client, instance_type))
    }
}
