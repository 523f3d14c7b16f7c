//! `AddressSpace`: the ranges in use in one overlap group, which no two pools may share.
//!
//! The name of an IPBlock is a mutex between equal blocks only: a /26 and a /32 inside of it have different names. So one object for each
//! overlap group lists all ranges with the unit that each is cut into. The operator alone writes it, by compare-and-swap, and an entry that
//! overlaps another is refused, also one of another pool or operator.
//!
//! ```text
//!              add: overlaps none            close                        remove: a quorum LIST of IPBlocks, made after
//!    (nothing) ─────────────────▶ open ◀────────────────▶ closed ───────────────────────────────────────▶ (nothing)
//!                                  │         reopen         │ nothing is accepted         the close, shows none of it
//!                                  ▼ blocks are granted     ▼ what was accepted is served
//!                                    and accepted
//! ```
//!
//! An agent that accepts a block GETs the block first, and then the space. A block that it accepted while the range was open existed before the
//! close, and is therefore in the LIST; a block that is made later is refused by every agent. A removal carries the version of the space in which the
//! range was closed, so it fails once the range was opened again in between, whether or not it has been closed since.

use std::ops::Range;

use ipnet::IpNet;

use crate::word::words;
use crate::{LeaseRule, LeaseRules, ObjectVersion, PoolKey};

/// The most ranges in one space, as the CRD limits the list.
pub const MAX_RANGES: usize = 1024;

/// The most bits between a range's prefix and its unit: 65,536 blocks.
pub const MAX_GRID_BITS: u8 = 16;

/// The identity of a range in its space, drawn at random; an id is not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RangeId(pub u64);

impl std::fmt::Display for RangeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

words! {
    /// The use of a range's cells.
    RangeUse {
        /// Blocks for nodes.
        Blocks = "Blocks",
        /// Single addresses for claims; their unit is the whole length of an address.
        Claims = "Claims",
        /// Addresses that something else holds, such as another IPAM's: no block that has one of them is granted or accepted.
        Taken = "Taken",
    }
}

words! {
    /// Whether a range's cells may be granted.
    RangeState {
        /// Cells are granted, and agents accept them.
        Open = "Open",
        /// Nothing is granted or accepted any more.
        Closed = "Closed",
    }
}

/// One range of a space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceRange {
    /// The identity that IPBlocks name.
    pub id: RangeId,
    /// The addresses.
    pub cidr: IpNet,
    /// The prefix length of a cell: what one IPBlock leases.
    pub unit: u8,
    /// The use of its cells.
    pub usage: RangeUse,
    /// The pool that the range belongs to.
    pub pool: PoolKey,
    /// Whether cells may be granted.
    pub state: RangeState,
}

/// The ranges of an overlap group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressSpace {
    ranges: Vec<SpaceRange>,
}

/// The IPBlocks that a quorum LIST found, as far as a range's removal needs them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuorumListing {
    /// The resourceVersion that the LIST was served at.
    pub version: ObjectVersion,
    /// The range that each IPBlock names.
    pub ranges: Vec<RangeId>,
}

/// Why a space refuses a change, or an agent a block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    /// The range overlaps one that is in the space, closed ones included.
    #[error("{0} overlaps {1}")]
    Overlap(IpNet, IpNet),
    /// The id is in the space.
    #[error("range {} exists", .0)]
    Duplicate(RangeId),
    /// The CIDR has host bits set, or the unit is shorter than its prefix, longer than an address, or too far from it.
    #[error("{0} cannot be cut into blocks of /{1}")]
    Unit(IpNet, u8),
    /// The space is full.
    #[error("the space has {MAX_RANGES} ranges")]
    Full,
    /// No such range.
    #[error("no range {0}")]
    Unknown(RangeId),
    /// The range is closed.
    #[error("range {} is closed", .0)]
    Closed(RangeId),
    /// The range must be closed before it is removed.
    #[error("range {} is open", .0)]
    StillOpen(RangeId),
    /// The LIST is older than the close, so a block accepted in between may be missing from it.
    #[error("the list is older than the close")]
    StaleList,
    /// An IPBlock names the range.
    #[error("range {} has blocks", .0)]
    NotEmpty(RangeId),
    /// Something else uses one of the block's addresses.
    #[error("addresses of {0} are taken by something else")]
    Taken(IpNet),
    /// The CIDR is not a cell of the range, or the range is for something else.
    #[error("{0} is not a block of range {1}")]
    OffGrid(IpNet, RangeId),
}

impl AddressSpace {
    /// The ranges, in the order in which they were added.
    #[must_use]
    pub fn ranges(&self) -> &[SpaceRange] {
        &self.ranges
    }

    /// Adds a range.
    ///
    /// # Errors
    /// If it overlaps another of the space, its unit does not fit, its id is taken, or the space is full. What is taken may lie in a range of blocks
    /// of the same pool.
    pub fn add(&mut self, rules: LeaseRules, range: SpaceRange) -> Result<(), SpaceError> {
        let length = range.cidr.prefix_len();
        let whole = range.cidr.max_prefix_len();
        let fits = range.unit >= length
            && range.unit <= whole
            && match range.usage {
                RangeUse::Blocks => range.unit - length <= MAX_GRID_BITS,
                RangeUse::Claims => range.unit == whole,
                RangeUse::Taken => true,
            };
        if range.cidr.trunc() != range.cidr || !fits {
            return Err(SpaceError::Unit(range.cidr, range.unit));
        }
        if self.get(range.id).is_some() {
            return Err(SpaceError::Duplicate(range.id));
        }
        let clashes = |other: &&SpaceRange| overlap(other.cidr, range.cidr) && !is_carved_out(other, &range);
        let other = self.ranges.iter().find(clashes);
        if let Some(other) = other.filter(|_| rules.has(LeaseRule::NoOverlap)) {
            return Err(SpaceError::Overlap(range.cidr, other.cidr));
        }
        if self.ranges.len() >= MAX_RANGES {
            return Err(SpaceError::Full);
        }
        self.ranges.push(range);
        Ok(())
    }

    /// Closes a range; closing it again changes nothing.
    ///
    /// # Errors
    /// If there is no such range.
    pub fn close(&mut self, id: RangeId) -> Result<(), SpaceError> {
        self.set_state(id, RangeState::Closed)
    }

    /// Opens a closed range again, with its id, pool and grid; an open one stays as it is.
    ///
    /// # Errors
    /// If there is no such range.
    pub fn reopen(&mut self, id: RangeId) -> Result<(), SpaceError> {
        self.set_state(id, RangeState::Open)
    }

    fn set_state(&mut self, id: RangeId, state: RangeState) -> Result<(), SpaceError> {
        let range = self.ranges.iter_mut().find(|range| range.id == id).ok_or(SpaceError::Unknown(id))?;
        range.state = state;
        Ok(())
    }

    /// Removes a closed range that a LIST found empty. `closed_at` is the space's resourceVersion at which the range was read as closed.
    ///
    /// # Errors
    /// If the range is open, the LIST is older than the close, or an IPBlock names the range.
    pub fn remove(
        &mut self,
        rules: LeaseRules,
        id: RangeId,
        closed_at: ObjectVersion,
        listing: &QuorumListing,
    ) -> Result<(), SpaceError> {
        let range = self.get(id).ok_or(SpaceError::Unknown(id))?;
        if range.state == RangeState::Open && rules.has(LeaseRule::CloseFirst) {
            return Err(SpaceError::StillOpen(id));
        }
        if listing.version < closed_at {
            return Err(SpaceError::StaleList);
        }
        if listing.ranges.contains(&id) && rules.has(LeaseRule::FoundEmpty) {
            return Err(SpaceError::NotEmpty(id));
        }
        self.ranges.retain(|range| range.id != id);
        Ok(())
    }

    /// The range with this id.
    #[must_use]
    pub fn get(&self, id: RangeId) -> Option<&SpaceRange> {
        self.ranges.iter().find(|range| range.id == id)
    }

    /// Checks that a block may be granted or accepted in a range: the range is open and for blocks, and the CIDR is one of its cells.
    ///
    /// # Errors
    /// The first of these that does not hold.
    pub fn admit(&self, id: RangeId, cidr: IpNet) -> Result<&SpaceRange, SpaceError> {
        self.admit_for(RangeUse::Blocks, id, cidr)
    }

    /// Checks the same of an address in a range for claims.
    ///
    /// # Errors
    /// As [`admit`](Self::admit).
    pub fn admit_claim(&self, id: RangeId, cidr: IpNet) -> Result<&SpaceRange, SpaceError> {
        self.admit_for(RangeUse::Claims, id, cidr)
    }

    fn admit_for(&self, usage: RangeUse, id: RangeId, cidr: IpNet) -> Result<&SpaceRange, SpaceError> {
        let range = self.get(id).ok_or(SpaceError::Unknown(id))?;
        let on_grid = cidr.trunc() == cidr && cidr.prefix_len() == range.unit && range.cidr.contains(&cidr);
        if !on_grid || range.usage != usage {
            return Err(SpaceError::OffGrid(cidr, id));
        }
        if range.state == RangeState::Closed {
            return Err(SpaceError::Closed(id));
        }
        match self.is_taken(cidr) {
            true => Err(SpaceError::Taken(cidr)),
            false => Ok(range),
        }
    }

    /// Whether something else uses one of a block's addresses. Closing such a range does not end that, removing it does.
    #[must_use]
    pub fn is_taken(&self, cidr: IpNet) -> bool {
        self.ranges.iter().any(|range| range.usage == RangeUse::Taken && overlap(range.cidr, cidr))
    }

    /// The cells of a range of blocks that nobody gets: those of which something else uses an address, and the cells at these positions.
    #[must_use]
    pub fn closed_cells(&self, range: &SpaceRange, excluded: impl IntoIterator<Item = Range<u128>>) -> u64 {
        let first = first_number(range.cidr);
        let bits = range.cidr.max_prefix_len() - range.unit;
        let taken = self.ranges.iter().filter(|other| other.usage == RangeUse::Taken);
        let inside = taken.filter(|other| range.cidr.contains(&other.cidr)).map(|other| {
            let from = (first_number(other.cidr) - first).checked_shr(bits.into()).unwrap_or(0);
            let cells = 1_u128 << range.unit.saturating_sub(other.cidr.prefix_len());
            (from, from + cells)
        });
        let excluded = excluded.into_iter().map(|cells| (cells.start, cells.end));
        let mut runs: Vec<(u128, u128)> = inside.chain(excluded).collect();
        runs.sort_unstable();
        let count = runs.into_iter().fold((0, 0), |(count, reached), (from, to)| {
            (count + to.saturating_sub(from.max(reached)), to.max(reached))
        });
        u64::try_from(count.0).unwrap_or(u64::MAX)
    }

    /// The open range of blocks in which a CIDR is a cell.
    #[must_use]
    pub fn cell(&self, cidr: IpNet) -> Option<&SpaceRange> {
        self.ranges.iter().find(|range| self.admit(range.id, cidr).is_ok())
    }

    /// The range of blocks in which a CIDR is a cell, open or closed, whether or not something else uses one of its addresses: a block that was leased
    /// there before is still a block of it.
    #[must_use]
    pub fn grid(&self, cidr: IpNet) -> Option<&SpaceRange> {
        let blocks = self.ranges.iter().filter(|range| range.usage == RangeUse::Blocks);
        let is_cell = cidr.trunc() == cidr;
        blocks.filter(|_| is_cell).find(|range| cidr.prefix_len() == range.unit && range.cidr.contains(&cidr))
    }

    /// The number of cells that have an address of a CIDR, in ranges of blocks and of claims.
    #[must_use]
    pub fn cells_of(&self, cidr: IpNet) -> u64 {
        let ranges = self.ranges.iter().filter(|range| range.usage != RangeUse::Taken);
        let cells = ranges.filter(|range| overlap(range.cidr, cidr)).map(|range| {
            let shared = range.cidr.prefix_len().max(cidr.prefix_len());
            1_u64.checked_shl(range.unit.saturating_sub(shared).into()).unwrap_or(u64::MAX)
        });
        cells.fold(0, u64::saturating_add)
    }
}

/// Whether one of two ranges says which part of the other something else uses.
fn is_carved_out(one: &SpaceRange, other: &SpaceRange) -> bool {
    match (one.usage, other.usage) {
        (RangeUse::Taken, RangeUse::Taken) => true,
        (RangeUse::Blocks | RangeUse::Claims, RangeUse::Taken) => {
            one.pool == other.pool && one.cidr.contains(&other.cidr)
        }
        (RangeUse::Taken, RangeUse::Blocks | RangeUse::Claims) => {
            one.pool == other.pool && other.cidr.contains(&one.cidr)
        }
        _ => false,
    }
}

/// The first address of a CIDR as a number.
fn first_number(cidr: IpNet) -> u128 {
    match cidr {
        IpNet::V4(net) => u32::from(net.network()).into(),
        IpNet::V6(net) => net.network().into(),
    }
}

/// Whether two CIDRs share an address.
#[must_use]
pub fn overlap(one: IpNet, other: IpNet) -> bool {
    one.contains(&other) || other.contains(&one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Uid;

    fn range(id: u64, cidr: &str, unit: u8, usage: RangeUse) -> SpaceRange {
        let pool = PoolKey { name: "p".into(), uid: Uid(u128::from(id)) };
        SpaceRange {
            id: RangeId(id),
            cidr: cidr.parse().unwrap(),
            unit,
            usage,
            pool,
            state: RangeState::Open,
        }
    }

    fn space() -> AddressSpace {
        let mut space = AddressSpace::default();
        space.add(LeaseRules::ALL, range(1, "10.0.0.0/16", 26, RangeUse::Blocks)).unwrap();
        space
    }

    #[test]
    fn overlapping_ranges_are_refused_in_both_directions_and_when_closed() {
        let mut space = space();
        space.close(RangeId(1)).unwrap();
        for (cidr, unit, usage) in [
            ("10.0.4.0/24", 32, RangeUse::Claims),
            ("10.0.0.0/15", 26, RangeUse::Blocks),
            ("10.0.0.0/16", 24, RangeUse::Blocks),
        ] {
            let added = space.add(LeaseRules::ALL, range(2, cidr, unit, usage));
            assert!(matches!(added, Err(SpaceError::Overlap(..))), "{cidr}: {added:?}");
        }
        space.add(LeaseRules::ALL, range(2, "10.1.0.0/24", 32, RangeUse::Claims)).unwrap();
        space.add(LeaseRules::ALL, range(3, "fd00::/106", 122, RangeUse::Blocks)).unwrap();
        let again = space.add(LeaseRules::ALL, range(3, "10.9.0.0/16", 26, RangeUse::Blocks));
        assert_eq!(again, Err(SpaceError::Duplicate(RangeId(3))));
    }

    #[test]
    fn units_fit_their_range() {
        let mut space = AddressSpace::default();
        for (cidr, unit, usage) in [
            ("10.0.0.0/16", 15, RangeUse::Blocks),
            ("10.0.0.0/16", 33, RangeUse::Blocks),
            ("10.0.0.0/9", 26, RangeUse::Blocks),
            ("10.0.0.1/16", 26, RangeUse::Blocks),
            ("10.0.0.0/24", 31, RangeUse::Claims),
        ] {
            let added = space.add(LeaseRules::ALL, range(1, cidr, unit, usage));
            assert!(matches!(added, Err(SpaceError::Unit(..))), "{cidr} /{unit}");
        }
    }

    #[test]
    fn a_range_goes_once_it_is_closed_and_then_found_empty() {
        let mut space = space();
        let (id, closed) = (RangeId(1), ObjectVersion(10));
        let list = |version, ranges| QuorumListing { version: ObjectVersion(version), ranges };
        let all = LeaseRules::ALL;
        assert_eq!(space.remove(all, id, closed, &list(11, vec![])), Err(SpaceError::StillOpen(id)));
        space.close(id).unwrap();
        assert_eq!(space.remove(all, id, closed, &list(9, vec![])), Err(SpaceError::StaleList));
        assert_eq!(space.remove(all, id, closed, &list(11, vec![id])), Err(SpaceError::NotEmpty(id)));
        space.remove(all, id, closed, &list(11, vec![RangeId(2)])).unwrap();
        assert_eq!(space.close(id), Err(SpaceError::Unknown(id)));
    }

    #[test]
    fn a_block_is_admitted_on_the_grid_of_an_open_range() {
        let mut space = space();
        let cell: IpNet = "10.0.1.64/26".parse().unwrap();
        assert!(space.admit(RangeId(1), cell).is_ok());
        assert_eq!(space.cell(cell).unwrap().id, RangeId(1));
        for off in ["10.0.1.0/25", "10.1.0.0/26", "10.0.1.0/32", "fd00::/122"] {
            let cidr = off.parse().unwrap();
            assert_eq!(space.admit(RangeId(1), cidr), Err(SpaceError::OffGrid(cidr, RangeId(1))), "{off}");
        }
        assert_eq!(space.admit(RangeId(2), cell), Err(SpaceError::Unknown(RangeId(2))));
        space.close(RangeId(1)).unwrap();
        assert_eq!(space.admit(RangeId(1), cell), Err(SpaceError::Closed(RangeId(1))));
        assert!(space.cell(cell).is_none());
        space.reopen(RangeId(1)).unwrap();
        assert!(space.admit(RangeId(1), cell).is_ok());
        assert_eq!(space.reopen(RangeId(2)), Err(SpaceError::Unknown(RangeId(2))));
    }

    #[test]
    fn no_block_with_a_taken_address_is_admitted_until_the_taken_range_is_removed() {
        let mut space = space();
        let pool = space.get(RangeId(1)).unwrap().pool.clone();
        let taken =
            |id, cidr: &str| SpaceRange { pool: pool.clone(), ..range(id, cidr, 32, RangeUse::Taken) };
        space.add(LeaseRules::ALL, taken(2, "10.0.1.70/32")).unwrap();
        space.add(LeaseRules::ALL, taken(3, "10.0.2.0/24")).unwrap();
        space.add(LeaseRules::ALL, taken(4, "10.0.2.64/26")).unwrap();
        let foreign = range(5, "10.0.3.0/24", 32, RangeUse::Taken);
        assert!(
            matches!(space.add(LeaseRules::ALL, foreign), Err(SpaceError::Overlap(..))),
            "of another pool"
        );
        let admitted =
            |space: &AddressSpace, cidr: &str| space.admit(RangeId(1), cidr.parse().unwrap()).is_ok();
        for (cidr, is_admitted) in
            [("10.0.1.0/26", true), ("10.0.1.64/26", false), ("10.0.2.192/26", false), ("10.0.3.0/26", true)]
        {
            assert_eq!(admitted(&space, cidr), is_admitted, "{cidr}");
        }
        let closed = |excluded: &[Range<u128>]| {
            space.closed_cells(space.get(RangeId(1)).unwrap(), excluded.iter().cloned())
        };
        assert_eq!(closed(&[]), 5);
        // A cell that is taken and excluded counts once.
        assert_eq!(closed(&[4..7, 20..21, 6..7]), 5 + 3);
        space.close(RangeId(2)).unwrap();
        assert!(!admitted(&space, "10.0.1.64/26"));
        let listing = QuorumListing { version: ObjectVersion(2), ranges: vec![] };
        space.remove(LeaseRules::ALL, RangeId(2), ObjectVersion(1), &listing).unwrap();
        assert!(admitted(&space, "10.0.1.64/26"));
    }

    #[test]
    fn without_its_rules_a_range_in_use_would_be_removed_or_overlapped() {
        let (id, all) = (RangeId(1), LeaseRules::ALL);
        let used = QuorumListing { version: ObjectVersion(11), ranges: vec![id] };
        let empty = QuorumListing { ranges: vec![], ..used.clone() };
        let closed_at = ObjectVersion(10);
        assert!(space().remove(all.without(LeaseRule::CloseFirst), id, closed_at, &empty).is_ok());
        let mut closed = space();
        closed.close(id).unwrap();
        assert!(closed.remove(all.without(LeaseRule::FoundEmpty), id, closed_at, &used).is_ok());
        let overlapping = range(2, "10.0.4.0/24", 32, RangeUse::Claims);
        assert!(space().add(all.without(LeaseRule::NoOverlap), overlapping).is_ok());
    }
}
