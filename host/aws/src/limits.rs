//! The limits of an instance type: the sources of the numbers, and how they are stored.
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

impl InstanceLimits {
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
