//! The limits of an instance type: the sources of the numbers, how they are stored, and what refusals teach.
//!
//! ```text
//! kept from before ──▶ EC2 ──▶ the table here ──▶ the least that any type has
//! ```
//!
//! Each is asked only if those before it do not know. Pure, but for the one question to EC2.

use tenure_types::{Attributes, InvalidAttributes};

use crate::port::{CallError, Ec2, InstanceLimits};

/// The kind of the object that [`InstanceLimits`] are kept as; its name is the instance type.
pub const KIND: &str = "instance-type";

/// Limits, and where they come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownLimits {
    /// The limits.
    pub limits: InstanceLimits,
    /// Source of the numbers.
    pub source: LimitSource,
    /// Why EC2 could not say, if it was asked in vain.
    pub failure: Option<CallError>,
}

/// The source of limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitSource {
    /// Stored by an earlier run.
    Kept,
    /// EC2 said so: worth keeping.
    Service,
    /// Taken from the table below. EC2 should be asked again.
    Table,
    /// The minimum over all instance types. EC2 should be asked again.
    Assumed,
}

/// Finds the limits of an instance type. Without `ec2`, it is not asked.
pub async fn find(instance_type: &str, kept: Option<InstanceLimits>, ec2: Option<&dyn Ec2>) -> KnownLimits {
    if let Some(limits) = kept {
        return KnownLimits { limits, source: LimitSource::Kept, failure: None };
    }
    let failure = match ec2 {
        Some(ec2) => match ec2.limits(instance_type).await {
            Ok(limits) => return KnownLimits { limits, source: LimitSource::Service, failure: None },
            Err(failure) => Some(failure),
        },
        None => None,
    };
    let known = TABLE.iter().find(|(name, _)| *name == instance_type);
    let (limits, source) =
        known.map_or((LEAST, LimitSource::Assumed), |(_, limits)| (*limits, LimitSource::Table));
    KnownLimits { limits, source, failure }
}

/// Limits learned from a refusal or a description. The numbers must be from a description that is as new as the
/// refusal: an old one would teach less than there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lesson {
    /// No further interface could be attached to card 0, on which there were so many.
    InstanceFull {
        /// The interfaces that are attached.
        attached: u32,
    },
    /// More could not be assigned to an interface.
    InterfaceFull {
        /// The slots of IPv4 in use, the interface's own address included.
        used: u32,
        /// The slots that were asked for.
        asked: u32,
    },
    /// So much was seen, which the limits must have allowed.
    Seen {
        /// Interfaces on card 0.
        interfaces: u32,
        /// The most slots of IPv4 on one of them, its own address included.
        addresses: u32,
        /// The most slots of IPv6 on one of them.
        ipv6_addresses: u32,
    },
}

impl InstanceLimits {
    /// The limits after a lesson.
    #[must_use]
    pub fn learn(self, lesson: Lesson) -> Self {
        match lesson {
            Lesson::InstanceFull { attached } => {
                Self { interfaces: self.interfaces.min(attached.max(1)), ..self }
            }
            Lesson::InterfaceFull { used, asked } => {
                Self { addresses: self.addresses.min(below(used.max(1), asked)), ..self }
            }
            Lesson::Seen { interfaces, addresses, ipv6_addresses } => Self {
                interfaces: self.interfaces.max(interfaces),
                addresses: self.addresses.max(addresses),
                ipv6_addresses: self.ipv6_addresses.max(ipv6_addresses),
                prefixes: self.prefixes,
            },
        }
    }

    /// The attributes to keep them by.
    ///
    /// # Errors
    /// Never with the attributes' present rules.
    pub fn attributes(&self) -> Result<Attributes, InvalidAttributes> {
        let numbers = [self.interfaces, self.addresses, self.ipv6_addresses];
        let numbers = NUMBERS.into_iter().zip(numbers.map(|number| number.to_string()));
        Attributes::new(numbers.chain([(PREFIXES, self.prefixes.to_string())]))
    }

    /// Reads stored limits; `None` if they are incomplete.
    #[must_use]
    pub fn from_attributes(attributes: &Attributes) -> Option<Self> {
        let [interfaces, addresses, ipv6_addresses] =
            NUMBERS.map(|name| attributes.get(name).and_then(|text| text.parse().ok()));
        let prefixes = attributes.get(PREFIXES)?.parse().ok()?;
        Some(Self {
            interfaces: interfaces?,
            addresses: addresses?,
            ipv6_addresses: ipv6_addresses?,
            prefixes,
        })
    }
}

/// The most that can be true when `asked` did not fit on top of `used`.
fn below(used: u32, asked: u32) -> u32 {
    used.saturating_add(asked.saturating_sub(1))
}

const NUMBERS: [&str; 3] = ["interfaces", "addresses", "ipv6.addresses"];
const PREFIXES: &str = "prefixes";

/// The least that any instance type has.
const LEAST: InstanceLimits =
    InstanceLimits { interfaces: 2, addresses: 2, ipv6_addresses: 2, prefixes: false };

/// A nitro or bare-metal type: it has prefixes, and as many addresses of IPv6 as of IPv4.
const fn nitro(interfaces: u32, addresses: u32) -> InstanceLimits {
    InstanceLimits { interfaces, addresses, ipv6_addresses: addresses, prefixes: true }
}

/// A type with the old hypervisor, which has no prefixes.
const fn xen(interfaces: u32, addresses: u32) -> InstanceLimits {
    InstanceLimits { prefixes: false, ..nitro(interfaces, addresses) }
}

/// Types that are common, as AWS publishes their limits (`DescribeInstanceTypes`), with the interfaces of card 0. For the time
/// that EC2 cannot be asked; it is not to be complete.
const TABLE: &[(&str, InstanceLimits)] = &[
    ("c5.large", nitro(3, 10)),
    ("c5.xlarge", nitro(4, 15)),
    ("c6i.large", nitro(3, 10)),
    ("c6in.32xlarge", nitro(8, 50)),
    ("m4.4xlarge", xen(8, 30)),
    ("m5.2xlarge", nitro(4, 15)),
    ("m5.4xlarge", nitro(8, 30)),
    ("m5.large", nitro(3, 10)),
    ("m5.metal", nitro(15, 50)),
    ("m5.xlarge", nitro(4, 15)),
    ("m6g.medium", nitro(2, 4)),
    ("m6i.large", nitro(3, 10)),
    ("m7g.large", nitro(3, 10)),
    ("m7g.medium", nitro(2, 4)),
    ("p3dn.24xlarge", nitro(15, 50)),
    ("p4d.24xlarge", nitro(15, 50)),
    ("r6i.4xlarge", nitro(8, 30)),
    ("t2.medium", xen(3, 6)),
    ("t3.large", nitro(3, 12)),
    ("t3.medium", nitro(3, 6)),
    ("t3.micro", nitro(2, 2)),
    ("t3.small", nitro(3, 4)),
];

#[cfg(test)]
mod tests;
