//! Where limits come from, and what refusals teach.

use tenure_ec2_double::state::InstanceType;

use super::*;
use crate::port::{Assign, Attach, Call, Creation, Ec2Interface, Ec2Subnet, Failure, Which};

/// An EC2 that knows limits, or fails; nothing else is asked here.
struct Knows(Result<InstanceLimits, Failure>);

impl Knows {
    fn refuse<T>() -> Call<'static, T> {
        unreachable!("only limits are asked")
    }
}

impl Ec2 for Knows {
    fn limits<'a>(&'a self, _: &'a str) -> Call<'a, InstanceLimits> {
        let failed = |failure| CallError {
            action: "DescribeInstanceTypes",
            failure,
            code: "Code".to_owned(),
            message: String::new(),
            retry_after: None,
        };
        Box::pin(std::future::ready(self.0.map_err(failed)))
    }

    fn interfaces<'a>(&'a self, _: &'a Which) -> Call<'a, Vec<Ec2Interface>> {
        Self::refuse()
    }
    fn create<'a>(&'a self, _: &'a Creation) -> Call<'a, Ec2Interface> {
        Self::refuse()
    }
    fn attach<'a>(&'a self, _: &'a Attach) -> Call<'a, String> {
        Self::refuse()
    }
    fn delete_with_instance<'a>(&'a self, _: &'a str, _: &'a str) -> Call<'a, ()> {
        Self::refuse()
    }
    fn set_groups<'a>(&'a self, _: &'a str, _: &'a [String]) -> Call<'a, ()> {
        Self::refuse()
    }
    fn assign<'a>(&'a self, _: &'a str, _: &'a Assign) -> Call<'a, Vec<ipnet::IpNet>> {
        Self::refuse()
    }
    fn unassign<'a>(&'a self, _: &'a str, _: &'a [ipnet::IpNet]) -> Call<'a, ()> {
        Self::refuse()
    }
    fn detach<'a>(&'a self, _: &'a str) -> Call<'a, ()> {
        Self::refuse()
    }
    fn delete<'a>(&'a self, _: &'a str) -> Call<'a, ()> {
        Self::refuse()
    }
    fn tag<'a>(&'a self, _: &'a str, _: &'a std::collections::BTreeMap<String, String>) -> Call<'a, ()> {
        Self::refuse()
    }
    fn subnets<'a>(&'a self, _: &'a str, _: &'a str) -> Call<'a, Vec<Ec2Subnet>> {
        Self::refuse()
    }
}

const OTHER: InstanceLimits = nitro(9, 9);

#[tokio::test]
async fn who_knows_first_is_believed() {
    let (knows, fails) = (Knows(Ok(OTHER)), Knows(Err(Failure::Denied)));
    let kept = nitro(7, 7);
    let cases = [
        ("t3.small", Some(kept), Some(&knows), kept, LimitSource::Kept),
        ("t3.small", None, Some(&knows), OTHER, LimitSource::Service),
        ("t3.small", None, Some(&fails), nitro(3, 4), LimitSource::Table),
        ("t3.small", None, None, nitro(3, 4), LimitSource::Table),
        ("x9.huge", None, Some(&fails), LEAST, LimitSource::Assumed),
        ("x9.huge", None, None, LEAST, LimitSource::Assumed),
    ];
    for (name, kept, ec2, limits, source) in cases {
        let ec2 = ec2.map(|ec2| ec2 as &dyn Ec2);
        let found = find(name, kept, ec2).await;
        assert_eq!((found.limits, found.source), (limits, source), "{name}");
        let was_in_vain = kept.is_none() && ec2.is_some() && source != LimitSource::Service;
        assert_eq!(found.failure.is_some(), was_in_vain, "{name}");
    }
}

#[test]
fn the_table_agrees_with_the_doubles() {
    for known in InstanceType::all() {
        let (_, limits) = TABLE.iter().find(|(name, _)| *name == known.name).unwrap();
        let expected = InstanceLimits {
            interfaces: known.interfaces,
            addresses: known.ipv4,
            ipv6_addresses: known.ipv6,
            prefixes: known.takes_prefixes(),
        };
        assert_eq!(*limits, expected, "{}", known.name);
        assert!(LEAST.interfaces <= limits.interfaces && LEAST.addresses <= limits.addresses);
    }
}

#[test]
fn refusals_lower_limits_and_what_is_seen_raises_them() {
    let limits = nitro(4, 15);
    let cases = [
        (Lesson::InstanceFull { attached: 3 }, InstanceLimits { interfaces: 3, ..limits }),
        (Lesson::InstanceFull { attached: 5 }, limits),
        (Lesson::InstanceFull { attached: 0 }, InstanceLimits { interfaces: 1, ..limits }),
        (Lesson::InterfaceFull { used: 10, asked: 1 }, InstanceLimits { addresses: 10, ..limits }),
        (Lesson::InterfaceFull { used: 10, asked: 4 }, InstanceLimits { addresses: 13, ..limits }),
        (Lesson::InterfaceFull { used: 0, asked: 0 }, InstanceLimits { addresses: 1, ..limits }),
        (Lesson::InterfaceFull { used: 14, asked: u32::MAX }, limits),
        (
            Lesson::Seen { interfaces: 5, addresses: 3, ipv6_addresses: 16 },
            InstanceLimits { interfaces: 5, ipv6_addresses: 16, ..limits },
        ),
    ];
    for (lesson, expected) in cases {
        assert_eq!(limits.learn(lesson), expected, "{lesson:?}");
    }
}

#[test]
fn what_is_kept_is_found_again() {
    for limits in [nitro(4, 15), xen(8, 30), LEAST] {
        let attributes = limits.attributes().unwrap();
        assert_eq!(InstanceLimits::from_attributes(&attributes), Some(limits));
        for missing in NUMBERS.into_iter().chain([PREFIXES]) {
            let rest = Attributes::new(attributes.iter().filter(|(name, _)| *name != missing)).unwrap();
            assert_eq!(InstanceLimits::from_attributes(&rest), None, "without {missing}");
        }
    }
}
