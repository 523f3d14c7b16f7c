//! The doubles that the tests use.

use tenure_ec2_double::{Addresses, Double, NewInstance, NewSubnet, Setup};

/// Two subnets of one zone, of which the first has IPv6 and a reservation, and instances in the first.
pub(crate) fn setup(instances: &[&str]) -> Setup {
    let first = NewSubnet {
        ipv6: Some("fd00:0:0:1::/64".parse().unwrap()),
        reservations: serde_json::from_str(r#"[{"cidr": "10.0.0.192/26", "purpose": "prefix"}]"#).unwrap(),
        tags: [("kubernetes.io/role/cni".to_owned(), "1".to_owned())].into(),
        ..NewSubnet::new("10.0.0.0/24".parse().unwrap())
    };
    Setup {
        subnets: vec![first, NewSubnet::new("10.0.1.0/28".parse().unwrap())],
        instances: instances.iter().map(|kind| NewInstance::new(kind)).collect(),
        virtual_time: true,
        ..Setup::default()
    }
}

/// A double with instances.
pub(crate) async fn double(instances: &[&str]) -> Double {
    Double::start(&setup(instances), Addresses::default()).await.unwrap()
}

/// The only instance.
pub(crate) fn node(double: &Double) -> String {
    double.nodes()[0].clone()
}
