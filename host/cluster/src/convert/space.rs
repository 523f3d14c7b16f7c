//! Reads and writes the ranges of AddressSpaces.

use tenure_leases::{AddressSpace as LeaseSpace, LeaseRules, SpaceRange};

use super::{ConversionError, cidr, range_id};
use crate::objects::space::{AddressSpace, AddressSpaceSpec, RangeEntry};

impl TryFrom<&RangeEntry> for SpaceRange {
    type Error = ConversionError;

    fn try_from(range: &RangeEntry) -> Result<Self, ConversionError> {
        Ok(Self {
            id: range_id(&range.id)?,
            cidr: cidr(&range.cidr)?,
            unit: range.unit,
            usage: range.usage.parse()?,
            pool: (&range.pool).try_into()?,
            state: range.state.parse()?,
        })
    }
}

impl From<&SpaceRange> for RangeEntry {
    fn from(range: &SpaceRange) -> Self {
        Self {
            id: range.id.to_string(),
            cidr: range.cidr.to_string(),
            unit: range.unit,
            usage: range.usage.to_string(),
            pool: (&range.pool).into(),
            state: range.state.to_string(),
        }
    }
}

impl TryFrom<&AddressSpace> for LeaseSpace {
    type Error = ConversionError;

    fn try_from(object: &AddressSpace) -> Result<Self, ConversionError> {
        let mut space = Self::default();
        for range in &object.spec.ranges {
            space.add(LeaseRules::ALL, range.try_into()?)?;
        }
        Ok(space)
    }
}

impl From<&LeaseSpace> for AddressSpaceSpec {
    fn from(space: &LeaseSpace) -> Self {
        Self { ranges: space.ranges().iter().map(RangeEntry::from).collect() }
    }
}
