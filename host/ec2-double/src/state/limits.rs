//! Limits of instance types: interfaces, addresses, network cards, prefixes.
//!
//! The numbers are those that AWS publishes for these types (`DescribeInstanceTypes`).

use serde::{Deserialize, Serialize};

/// The hypervisor of an instance; Xen knows neither prefixes nor several network cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Platform {
    /// AWS's present hypervisor.
    Nitro,
    /// The older hypervisor of EC2.
    Xen,
    /// No hypervisor.
    BareMetal,
}

/// The limits of an instance type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceType {
    /// Such as `t3.small`.
    pub name: &'static str,
    /// Virtual processors.
    pub processors: u32,
    /// Network cards.
    pub cards: u32,
    /// Interfaces for each network card.
    pub interfaces: u32,
    /// IPv4 slots of an interface: addresses, its own included, and prefixes.
    pub ipv4: u32,
    /// IPv6 slots of an interface.
    pub ipv6: u32,
    /// The type's hypervisor.
    pub platform: Platform,
}

impl InstanceType {
    /// The limits of a type, if the table has it.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        TABLE.iter().find(|known| known.name == name)
    }

    /// All types of the table.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        TABLE.iter()
    }

    /// Whether its interfaces take prefixes.
    #[must_use]
    pub fn takes_prefixes(&self) -> bool {
        self.platform != Platform::Xen
    }
}

const fn nitro(name: &'static str, processors: u32, interfaces: u32, slots: u32) -> InstanceType {
    InstanceType {
        name,
        processors,
        cards: 1,
        interfaces,
        ipv4: slots,
        ipv6: slots,
        platform: Platform::Nitro,
    }
}

const TABLE: &[InstanceType] = &[
    nitro("c5.large", 2, 3, 10),
    nitro("c5.xlarge", 4, 4, 15),
    nitro("c6i.large", 2, 3, 10),
    InstanceType { cards: 2, ..nitro("c6in.32xlarge", 128, 8, 50) },
    InstanceType { platform: Platform::Xen, ..nitro("m4.4xlarge", 16, 8, 30) },
    nitro("m5.2xlarge", 8, 4, 15),
    nitro("m5.4xlarge", 16, 8, 30),
    nitro("m5.large", 2, 3, 10),
    InstanceType { platform: Platform::BareMetal, ..nitro("m5.metal", 96, 15, 50) },
    nitro("m5.xlarge", 4, 4, 15),
    nitro("m6g.medium", 1, 2, 4),
    nitro("m6i.large", 2, 3, 10),
    nitro("m7g.large", 2, 3, 10),
    nitro("m7g.medium", 1, 2, 4),
    nitro("p3dn.24xlarge", 96, 15, 50),
    InstanceType { cards: 4, ..nitro("p4d.24xlarge", 96, 15, 50) },
    nitro("r6i.4xlarge", 16, 8, 30),
    InstanceType { platform: Platform::Xen, ..nitro("t2.medium", 2, 3, 6) },
    nitro("t3.large", 2, 3, 12),
    nitro("t3.medium", 2, 3, 6),
    nitro("t3.micro", 2, 2, 2),
    nitro("t3.small", 2, 3, 4),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_gives_the_published_numbers_of_pods() {
        let pods = |name: &str| {
            let found = InstanceType::find(name).unwrap();
            found.interfaces * (found.ipv4 - 1) + 2
        };
        let expected = [
            ("t3.micro", 4),
            ("t3.small", 11),
            ("t3.medium", 17),
            ("t2.medium", 17),
            ("t3.large", 35),
            ("m7g.medium", 8),
            ("m5.large", 29),
            ("m5.xlarge", 58),
            ("m5.4xlarge", 234),
            ("m4.4xlarge", 234),
            ("m5.metal", 737),
            ("p4d.24xlarge", 737),
            ("c6in.32xlarge", 394),
        ];
        for (name, count) in expected {
            assert_eq!(pods(name), count, "{name}");
        }
        assert!(InstanceType::find("t3.huge").is_none());
    }

    #[test]
    fn xen_takes_no_prefixes() {
        let without: Vec<_> =
            InstanceType::all().filter(|known| !known.takes_prefixes()).map(|known| known.name).collect();
        assert_eq!(without, ["m4.4xlarge", "t2.medium"]);
    }
}
