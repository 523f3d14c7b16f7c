//! The node's identity in AWS: read from the metadata service, and kept over a restart.

use std::collections::BTreeSet;

use ipnet::IpNet;
use tenure_types::{Attributes, InvalidAttributes};

/// The kind of the object that an [`Identity`] is kept as; its name is the instance's id.
pub const KIND: &str = "instance";

/// The node's identity in AWS. In an instance's life, the VPC's ranges and the groups change, and the type while it is stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The instance's id, such as `i-0a1b`.
    pub instance: String,
    /// The instance's type, such as `m5.large`.
    pub instance_type: String,
    /// The region.
    pub region: String,
    /// The availability zone.
    pub zone: String,
    /// The hardware address of the primary interface, in lower case with colons.
    pub mac: String,
    /// The VPC's id.
    pub vpc: String,
    /// The id of the primary interface's subnet.
    pub subnet: String,
    /// The security groups of the primary interface.
    pub groups: Vec<String>,
    /// The VPC's ranges, of both families.
    pub ranges: Vec<IpNet>,
}

/// The attributes with one value.
const FIELDS: [&str; 7] = ["instance", "type", "region", "zone", "mac", "vpc", "subnet"];
/// The attributes with a list.
const GROUPS: &str = "groups";
const RANGES: &str = "ranges";
/// How many bytes of a list are in one attribute; a longer one goes on in `NAME.1`, `NAME.2` and so on. Below an attribute's
/// longest value by more than the longest item.
const PART: usize = 440;

impl Identity {
    /// The attributes to keep it by.
    ///
    /// # Errors
    /// When the metadata service gave texts that no attribute may have.
    pub fn attributes(&self) -> Result<Attributes, InvalidAttributes> {
        let values = [
            &self.instance,
            &self.instance_type,
            &self.region,
            &self.zone,
            &self.mac,
            &self.vpc,
            &self.subnet,
        ];
        let fields = FIELDS.into_iter().zip(values).map(|(name, value)| (name.to_owned(), value.clone()));
        let groups = parts(GROUPS, self.groups.iter().cloned());
        let ranges = parts(RANGES, self.ranges.iter().map(ToString::to_string));
        Attributes::new(fields.chain(groups).chain(ranges))
    }

    /// Whether another identity differs from this one in no more than what is followed while the node runs: the VPC's ranges and the groups.
    #[must_use]
    pub fn is_as(&self, other: &Self) -> bool {
        let Self { groups, ranges, .. } = self.clone();
        *self == Self { groups, ranges, ..other.clone() }
    }

    /// Reads a stored identity; `None` if it is incomplete.
    #[must_use]
    pub fn from_attributes(attributes: &Attributes) -> Option<Self> {
        let [instance, instance_type, region, zone, mac, vpc, subnet] =
            FIELDS.map(|name| attributes.get(name).map(str::to_owned));
        Some(Self {
            instance: instance?,
            instance_type: instance_type?,
            region: region?,
            zone: zone?,
            mac: mac?,
            vpc: vpc?,
            subnet: subnet?,
            groups: whole(attributes, GROUPS).map(str::to_owned).collect(),
            ranges: whole(attributes, RANGES).map(|text| text.parse().ok()).collect::<Option<_>>()?,
        })
    }
}

/// Decides which identity is this machine's, by the hardware addresses of its links, which nobody on the network can change. The kept one
/// was this machine's if the kernel has its link.
///
/// # Errors
/// The reason against the fresh identity, with the kept one if that is this machine's.
pub fn believed(
    fresh: Identity,
    kept: Option<Identity>,
    links: &BTreeSet<String>,
) -> Result<Identity, Box<(Option<Identity>, String)>> {
    let kept = kept.filter(|kept| links.contains(&kept.mac));
    let told = format!(
        "the metadata service says that this node is {} with hardware address {}",
        fresh.instance, fresh.mac
    );
    if !links.contains(&fresh.mac) {
        return Err(Box::new((kept, format!("{told}, and no link of this machine has that"))));
    }
    match kept {
        Some(kept) if kept.instance != fresh.instance => {
            let why = format!("{told}, and this machine is {} with {}", kept.instance, kept.mac);
            Err(Box::new((Some(kept), why)))
        }
        _ => Ok(fresh),
    }
}

/// A list as attributes, its items separated by spaces.
fn parts(name: &str, items: impl Iterator<Item = String>) -> Vec<(String, String)> {
    let mut parts: Vec<String> = Vec::new();
    for item in items {
        match parts.last_mut().filter(|part| part.len() + item.len() < PART) {
            Some(part) => {
                part.push(' ');
                part.push_str(&item);
            }
            None => parts.push(item),
        }
    }
    parts.into_iter().enumerate().map(|(number, part)| (part_name(name, number), part)).collect()
}

/// The items of a list in attributes.
fn whole<'a>(attributes: &'a Attributes, name: &str) -> impl Iterator<Item = &'a str> {
    let parts = (0..).map_while(|number| attributes.get(&part_name(name, number)));
    parts.flat_map(|part| part.split(' ').filter(|item| !item.is_empty())).collect::<Vec<_>>().into_iter()
}

fn part_name(name: &str, number: usize) -> String {
    if number == 0 { name.to_owned() } else { format!("{name}.{number}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(ranges: Vec<IpNet>) -> Identity {
        Identity {
            instance: "i-0a1b".to_owned(),
            instance_type: "m5.large".to_owned(),
            region: "eu-central-1".to_owned(),
            zone: "eu-central-1a".to_owned(),
            mac: "02:00:00:00:00:01".to_owned(),
            vpc: "vpc-1".to_owned(),
            subnet: "subnet-1".to_owned(),
            groups: (0..16).map(|number| format!("sg-{number:017x}")).collect(),
            ranges,
        }
    }

    #[test]
    fn what_is_kept_is_found_again() {
        let many = (0..55).map(|number| format!("2001:db8:ffff:{number:x}::/64").parse().unwrap());
        for ranges in [Vec::new(), vec!["10.0.0.0/16".parse().unwrap()], many.collect()] {
            let identity = identity(ranges);
            assert_eq!(Identity::from_attributes(&identity.attributes().unwrap()), Some(identity));
        }
        let none = Identity { groups: Vec::new(), ..identity(Vec::new()) };
        assert_eq!(Identity::from_attributes(&none.attributes().unwrap()), Some(none));
    }

    #[test]
    fn another_type_is_another_identity_and_another_range_of_the_vpc_is_not() {
        let before = identity(Vec::new());
        let ranges = vec!["10.1.0.0/16".parse().unwrap()];
        assert!(before.is_as(&Identity { ranges, groups: Vec::new(), ..before.clone() }));
        assert!(!before.is_as(&Identity { instance_type: "m5.4xlarge".to_owned(), ..before.clone() }));
    }

    #[test]
    fn an_identity_that_does_not_fit_this_machine_is_not_believed() {
        let links: BTreeSet<String> = ["02:00:00:00:00:01", "02:00:00:00:00:02"].map(str::to_owned).into();
        let own = identity(Vec::new());
        let neighbour =
            Identity { instance: "i-other".to_owned(), mac: "02:00:00:00:99:99".to_owned(), ..own.clone() };
        let lie = Identity { instance: "i-other".to_owned(), ..own.clone() };
        let copied = Identity { instance: "i-copied".to_owned(), ..neighbour.clone() };
        assert_eq!(believed(own.clone(), None, &links), Ok(own.clone()));
        assert_eq!(believed(own.clone(), Some(own.clone()), &links), Ok(own.clone()));
        assert_eq!(believed(own.clone(), Some(copied), &links), Ok(own.clone()), "of a copied disk");
        let (kept, why) = *believed(neighbour.clone(), Some(own.clone()), &links).unwrap_err();
        assert_eq!(kept, Some(own.clone()));
        assert!(
            why.ends_with(
                "is i-other with hardware address 02:00:00:00:99:99, and no link of this machine has that"
            ),
            "{why}"
        );
        assert_eq!(believed(neighbour, None, &links).unwrap_err().0, None);
        let (kept, why) = *believed(lie, Some(own.clone()), &links).unwrap_err();
        assert_eq!(kept, Some(own));
        assert!(why.ends_with("and this machine is i-0a1b with 02:00:00:00:00:01"), "{why}");
    }

    #[test]
    fn what_is_not_all_there_is_not_taken() {
        let attributes = identity(vec!["10.0.0.0/16".parse().unwrap()]).attributes().unwrap();
        for missing in FIELDS {
            let rest = Attributes::new(attributes.iter().filter(|(name, _)| *name != missing)).unwrap();
            assert_eq!(Identity::from_attributes(&rest), None, "without {missing}");
        }
        let wrong = attributes.iter().map(|(name, value)| (name, if name == RANGES { "10" } else { value }));
        assert_eq!(Identity::from_attributes(&Attributes::new(wrong).unwrap()), None);
    }
}
