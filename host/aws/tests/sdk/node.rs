//! A double with one instance, and the adapter as that instance would use it.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_aws::port::{Assign, Attach, CallError, Creation, Ec2 as _, Ec2Interface, Failure, Which};
use tenure_aws::sdk::{Ec2Connection, SdkEc2};
use tenure_ec2_double::{Addresses, Double, NewInstance, NewSubnet, Setup};

/// The subnet with room, IPv6, and a reserved part for prefixes.
pub(crate) const WIDE: &str = "subnet-00000000000000000";
/// A subnet of eleven addresses.
pub(crate) const NARROW: &str = "subnet-00000000000000001";

/// A node of the double.
pub(crate) struct Node {
    pub(crate) double: Double,
    pub(crate) instance: String,
    pub(crate) ec2: SdkEc2,
}

impl Node {
    /// An instance of a type. The double's clock stands still.
    pub(crate) async fn new(instance_type: &str) -> Self {
        let wide = NewSubnet {
            ipv6: Some("fd00:0:0:1::/64".parse().unwrap()),
            tags: [("kubernetes.io/role/cni".to_owned(), "1".to_owned())].into(),
            ..NewSubnet::new("10.0.0.0/20".parse().unwrap())
        };
        let setup = Setup {
            subnets: vec![wide, NewSubnet::new("10.0.16.0/28".parse().unwrap())],
            instances: vec![NewInstance::new(instance_type)],
            virtual_time: true,
            ..Setup::default()
        };
        let double = Double::start(&setup, Addresses::default()).await.unwrap();
        let ec2 = SdkEc2::new(&connection(&double)).unwrap();
        Self { instance: double.nodes()[0].clone(), double, ec2 }
    }

    /// Creates an interface, and lets it become available.
    pub(crate) async fn create(&self, token: &str) -> Ec2Interface {
        let created = self.ec2.create(&creation(token, WIDE, Assign::Nothing)).await.unwrap();
        self.double.advance(Duration::from_secs(1));
        created
    }

    /// Attaches an interface at an index of card 0.
    pub(crate) async fn attach(&self, interface: &str, device: u32) -> Result<String, CallError> {
        let instance = self.instance.clone();
        let attachment = Attach { interface: interface.to_owned(), instance, card: 0, device };
        let attached = self.ec2.attach(&attachment).await;
        self.double.advance(Duration::from_secs(5));
        attached
    }

    /// What a describe shows of an interface.
    pub(crate) async fn shown(&self, id: &str) -> Option<Ec2Interface> {
        self.ec2.interfaces(&Which::Ids(vec![id.to_owned()])).await.unwrap().into_iter().next()
    }

    /// The primary interface.
    pub(crate) async fn primary(&self) -> Ec2Interface {
        let all = self.ec2.interfaces(&Which::Attached(self.instance.clone())).await.unwrap();
        all.into_iter().find(|known| known.attachment.as_ref().is_some_and(|at| at.device == 0)).unwrap()
    }

    /// How often an action reached EC2.
    pub(crate) fn calls(&self, action: &str) -> usize {
        self.double.with(|world, _| world.journal.after(0).iter().filter(|call| call.call == action).count())
    }

    /// How many interfaces there are.
    pub(crate) fn count(&self) -> usize {
        self.double.with(|world, _| world.state.interfaces().all().count())
    }
}

/// The double's EC2, with the credentials that its metadata service has.
pub(crate) fn connection(double: &Double) -> Ec2Connection {
    let metadata = double.imds().into_values().next();
    Ec2Connection {
        endpoint: Some(format!("http://{}", double.ec2())),
        metadata: metadata.map(|address| format!("http://{address}")),
        ..Ec2Connection::new("eu-central-1")
    }
}

/// An interface to create.
pub(crate) fn creation(token: &str, subnet: &str, carries: Assign) -> Creation {
    Creation {
        token: token.to_owned(),
        subnet: subnet.to_owned(),
        groups: Vec::new(),
        description: "aws-K8S-i-1".to_owned(),
        carries,
        tags: BTreeMap::new(),
    }
}

/// What a failed call means.
pub(crate) fn failure<T: std::fmt::Debug>(result: Result<T, CallError>) -> Failure {
    result.unwrap_err().failure
}
