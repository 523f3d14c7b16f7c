//! A subnet: what EC2 is known to have and not to have in it.

use tenure_sdk::Object;

use super::RangeUnit;
use crate::names::{FALSE, TRUE};

/// A subnet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupplySubnet {
    /// The subnet's name, such as `subnet-0123`.
    pub name: String,
    /// Whether new interfaces may be created in it.
    pub is_candidate: bool,
    /// The call without which none can be, if EC2 refuses it, and for how many seconds it is not made.
    pub refused: Option<(String, u32)>,
    /// Whether interfaces in it take no new pods.
    pub is_excluded: bool,
    /// How many addresses EC2 has in it; the largest number if that is not known.
    pub available: u32,
    /// Seconds for which EC2 should not be asked for addresses in it.
    pub backoff_addresses: u32,
    /// Seconds for which EC2 should not be asked for prefixes in it.
    pub backoff_prefixes: u32,
    /// Seconds until EC2 is asked again what it has.
    pub asked: u32,
}

impl SupplySubnet {
    /// Reads a subnet, as far as a family is concerned: EC2 counts only IPv4 addresses.
    pub(super) fn read(object: &Object, is_ipv6: bool) -> Self {
        let is = |name: &str, value: &str| object.attributes.get(name) == Some(value);
        let number = |name: &str| object.number(name).unwrap_or_default();
        let is_excluded = is("excluded", TRUE);
        let prefixes = if is_ipv6 { "ipv6.backoff.prefixes" } else { "backoff.prefixes" };
        Self {
            name: object.name.clone(),
            is_candidate: !is_excluded && !is("interfaces", FALSE),
            refused: object
                .attributes
                .get("refused")
                .map(|call| (call.to_owned(), number("refused.seconds"))),
            is_excluded,
            available: if is_ipv6 { u32::MAX } else { object.number("available").unwrap_or(u32::MAX) },
            backoff_addresses: number("backoff.addresses"),
            backoff_prefixes: number(prefixes),
            asked: number("asked.seconds"),
        }
    }

    /// How many addresses or prefixes EC2 may be asked for.
    #[must_use]
    pub fn has(&self, unit: RangeUnit, size: u32) -> u32 {
        match unit {
            RangeUnit::Address if self.backoff_addresses == 0 => self.available,
            RangeUnit::Prefix if self.backoff_prefixes == 0 => self.available / size.max(1),
            RangeUnit::Address | RangeUnit::Prefix => 0,
        }
    }

    /// Takes addresses that a plan asks EC2 for.
    pub fn take(&mut self, addresses: u32) {
        if self.available != u32::MAX {
            self.available = self.available.saturating_sub(addresses);
        }
    }
}
