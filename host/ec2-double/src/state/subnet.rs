//! Subnets: who gets which address, which /28 and which /80.
//!
//! A subnet knows only what is taken, not by whom. Its first four addresses and its last are EC2's own. Single
//! addresses are given at random places, which is what fragments a subnet; a reservation for prefixes is protected from that.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};
use serde::{Deserialize, Serialize};
use tenure_fixtures::random::Random;

use super::bitmap::Bitmap;
use super::time::Time;

/// The addresses of a delegated IPv4 prefix, a /28.
const BLOCK: u32 = 16;

/// The length of a delegated IPv6 prefix.
const SIX: u8 = 80;

/// The addresses at a subnet's start that are EC2's own; so is the last one.
const OWN: u32 = 4;

/// The purpose of a reserved part of a subnet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Prefixes are taken from here first, and single addresses never.
    Prefix,
    /// Only addresses that a call names are taken from here.
    Explicit,
}

/// A reserved part of a subnet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reservation {
    /// The reservation's identifier; the double makes one up if it is empty.
    #[serde(default)]
    pub id: String,
    /// The part.
    pub cidr: Ipv4Net,
    /// The reservation's purpose.
    pub purpose: Purpose,
}

/// A subnet.
#[derive(Debug, Serialize)]
pub struct Subnet {
    /// The subnet's identifier.
    pub id: String,
    /// The subnet's availability zone.
    pub zone: String,
    /// The subnet's IPv4 addresses.
    pub cidr: Ipv4Net,
    /// The subnet's IPv6 addresses, a /64.
    pub ipv6: Option<Ipv6Net>,
    /// The subnet's tags.
    pub tags: BTreeMap<String, String>,
    /// The subnet's reserved parts.
    pub reservations: Vec<Reservation>,
    #[serde(skip)]
    taken: Bitmap,
    /// Single IPv6 addresses (/128) and prefixes (/80) that are taken.
    #[serde(skip)]
    taken_six: BTreeSet<Ipv6Net>,
    /// The number of free addresses over time, for Describe, which lags.
    #[serde(skip)]
    counts: Vec<(Time, u32)>,
}

impl Subnet {
    /// An empty subnet.
    #[must_use]
    pub fn new(id: String, zone: String, cidr: Ipv4Net, ipv6: Option<Ipv6Net>) -> Self {
        let size = 1_u32.checked_shl(u32::from(32 - cidr.prefix_len())).unwrap_or(u32::MAX);
        let mut taken = Bitmap::new(size);
        taken.take(0, OWN);
        taken.take(size.saturating_sub(1), 1);
        let counts = vec![(Time::default(), taken.free())];
        let (tags, reservations, taken_six) = Default::default();
        Self { id, zone, cidr, ipv6, tags, reservations, taken, taken_six, counts }
    }

    /// The number of addresses that nobody has.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.taken.free()
    }

    /// The number of addresses that nobody had at a moment.
    #[must_use]
    pub fn free_at(&self, time: Time) -> u32 {
        let known = self.counts.iter().rev().find(|(at, _)| *at <= time).or_else(|| self.counts.first());
        known.map_or(0, |(_, count)| *count)
    }

    /// Notes how many addresses are free now, and forgets counts that were replaced before `oldest`.
    pub(super) fn note(&mut self, now: Time, oldest: Time) {
        if self.counts.last().is_some_and(|(_, count)| *count == self.taken.free()) {
            return;
        }
        self.counts.push((now, self.taken.free()));
        let replaced = self.counts.iter().skip(1).take_while(|(at, _)| *at <= oldest).count();
        self.counts.drain(..replaced);
    }

    /// Takes any free address outside of the reserved parts.
    pub(super) fn take_any(&mut self, random: &mut Random) -> Option<Ipv4Addr> {
        let size = self.taken.size();
        let start = u32::try_from(random.below(u64::from(size))).unwrap_or(0);
        let at = (start..size).chain(0..start).find(|at| {
            !self.taken.is_taken(*at) && self.address(*at).is_some_and(|address| !self.is_reserved(address))
        })?;
        self.taken.take(at, 1);
        self.address(at)
    }

    /// Takes a named address; `false` if it is not the subnet's, or taken.
    pub(super) fn take(&mut self, address: Ipv4Addr) -> bool {
        let free = self.position(address).filter(|at| !self.taken.is_taken(*at));
        if let Some(at) = free {
            self.taken.take(at, 1);
        }
        free.is_some()
    }

    /// Takes any free, aligned /28: in the part reserved for prefixes first.
    pub(super) fn take_any_block(&mut self, random: &mut Random) -> Option<Ipv4Net> {
        let blocks = self.taken.size() / BLOCK;
        let free: Vec<Ipv4Net> = (0..blocks)
            .map(|block| block * BLOCK)
            .filter(|at| self.taken.is_free(*at, BLOCK))
            .filter_map(|at| Ipv4Net::new(self.address(at)?, 28).ok())
            .collect();
        let within = |block: &Ipv4Net, purpose: Purpose| {
            let mut parts = self.reservations.iter().filter(|part| part.purpose == purpose);
            parts.any(|part| part.cidr.contains(block))
        };
        let (reserved, others): (Vec<_>, Vec<_>) =
            free.into_iter().partition(|block| within(block, Purpose::Prefix));
        let mut others = others;
        others.retain(|block| !self.is_reserved(block.network()));
        let from = if reserved.is_empty() { others } else { reserved };
        let index = random.below(from.len() as u64);
        let block = *from.get(usize::try_from(index).ok()?)?;
        self.take_block(block).then_some(block)
    }

    /// Takes a named /28; `false` if it is not the subnet's, not aligned, or partly taken.
    pub(super) fn take_block(&mut self, block: Ipv4Net) -> bool {
        let is_whole = block.prefix_len() == 28 && block.trunc() == block && self.cidr.contains(&block);
        let free = self.position(block.network()).filter(|at| is_whole && self.taken.is_free(*at, BLOCK));
        if let Some(at) = free {
            self.taken.take(at, BLOCK);
        }
        free.is_some()
    }

    /// Gives back an address or a prefix.
    pub(super) fn give_back(&mut self, net: Ipv4Net) {
        let count = 1_u32.checked_shl(u32::from(32 - net.prefix_len())).unwrap_or(u32::MAX);
        if let Some(at) = self.position(net.network()) {
            self.taken.release(at, count);
        }
    }

    /// Takes any free IPv6 address (`length` 128) or prefix (80).
    pub(super) fn take_any_six(&mut self, length: u8, random: &mut Random) -> Option<Ipv6Net> {
        let net = self.ipv6?;
        // 2^16 prefixes and 2^64 addresses: a free one is found at once in any test.
        for _ in 0..1000 {
            let draw = u128::from(random.next_number());
            let offset = if length == SIX { (draw & 0xffff) << 48 } else { draw };
            let candidate = Ipv6Net::new(Ipv6Addr::from(u128::from(net.network()) | offset), length).ok()?;
            if self.take_six(candidate) {
                return Some(candidate);
            }
        }
        None
    }

    /// Takes a named IPv6 address (/128) or prefix (/80); `false` if it is not the subnet's, not aligned, or taken.
    pub(super) fn take_six(&mut self, wanted: Ipv6Net) -> bool {
        let Some(net) = self.ipv6 else { return false };
        let is_own = (wanted.network() == net.network() && wanted.prefix_len() == 128)
            || !net.contains(&wanted)
            || wanted.trunc() != wanted
            || !matches!(wanted.prefix_len(), 128 | SIX);
        let is_taken = self.taken_six.iter().any(|taken| taken.contains(&wanted) || wanted.contains(taken));
        !is_own && !is_taken && self.taken_six.insert(wanted)
    }

    /// Gives back an IPv6 address or prefix.
    pub(super) fn give_back_six(&mut self, net: Ipv6Net) {
        self.taken_six.remove(&net);
    }

    fn is_reserved(&self, address: Ipv4Addr) -> bool {
        self.reservations.iter().any(|part| part.cidr.contains(&address))
    }

    /// Positions count from the subnet's first address.
    fn address(&self, position: u32) -> Option<Ipv4Addr> {
        u32::from(self.cidr.network()).checked_add(position).map(Ipv4Addr::from)
    }

    fn position(&self, address: Ipv4Addr) -> Option<u32> {
        let at = u32::from(address).checked_sub(u32::from(self.cidr.network()))?;
        self.cidr.contains(&address).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subnet(cidr: &str) -> (Subnet, Random) {
        let ipv6 = Some("fd00:1::/64".parse().unwrap());
        (Subnet::new("subnet-1".to_owned(), "z".to_owned(), cidr.parse().unwrap(), ipv6), Random::new(1))
    }

    #[test]
    fn every_address_but_the_five_reserved_is_given_once() {
        let (mut subnet, mut random) = subnet("10.0.0.0/28");
        let mut given: Vec<_> = std::iter::from_fn(|| subnet.take_any(&mut random)).collect();
        assert!(!given.is_sorted(), "places are random");
        given.sort();
        let expected: Vec<Ipv4Addr> = (4..15).map(|last| Ipv4Addr::new(10, 0, 0, last)).collect();
        assert_eq!((given, subnet.free()), (expected, 0));
        for own in [0, 1, 2, 3, 15] {
            assert!(!subnet.take(Ipv4Addr::new(10, 0, 0, own)), "10.0.0.{own} is EC2's own");
        }
    }

    #[test]
    fn a_prefix_is_aligned_and_the_first_and_last_cannot_be_had() {
        let (mut subnet, mut random) = subnet("10.0.0.0/26");
        let mut given: Vec<_> = std::iter::from_fn(|| subnet.take_any_block(&mut random)).collect();
        given.sort();
        assert_eq!(given, ["10.0.0.16/28".parse().unwrap(), "10.0.0.32/28".parse().unwrap()]);
        assert!(!subnet.take_block("10.0.0.20/28".parse().unwrap()), "not aligned");
        subnet.give_back("10.0.0.16/28".parse().unwrap());
        assert!(subnet.take("10.0.0.31".parse().unwrap()));
        assert!(!subnet.take_block("10.0.0.16/28".parse().unwrap()), "one address of it is taken");
        assert_eq!(
            subnet.take_any_block(&mut random),
            None,
            "fragmented although {} are free",
            subnet.free()
        );
    }

    #[test]
    fn a_reservation_for_prefixes_comes_first_and_keeps_single_addresses_out() {
        let (mut subnet, mut random) = subnet("10.0.0.0/24");
        let cidr = "10.0.0.128/26".parse().unwrap();
        subnet.reservations.push(Reservation { id: "r".to_owned(), cidr, purpose: Purpose::Prefix });
        for _ in 0..4 {
            assert!(cidr.contains(&subnet.take_any_block(&mut random).unwrap()));
        }
        assert!(!cidr.contains(&subnet.take_any_block(&mut random).unwrap()));
        let (mut subnet, mut random) = (self::subnet("10.0.0.0/25").0, random);
        let cidr = "10.0.0.64/26".parse().unwrap();
        subnet.reservations.push(Reservation { id: "r".to_owned(), cidr, purpose: Purpose::Explicit });
        let given: Vec<_> = std::iter::from_fn(|| subnet.take_any(&mut random)).collect();
        assert_eq!((given.len(), given.iter().any(|address| cidr.contains(address))), (60, false));
        assert!(subnet.take("10.0.0.70".parse().unwrap()), "a named address may be in it");
    }

    #[test]
    fn ipv6_prefixes_and_addresses_do_not_overlap() {
        let (mut subnet, mut random) = subnet("10.0.0.0/24");
        let prefix = subnet.take_any_six(80, &mut random).unwrap();
        assert_eq!((prefix.trunc(), prefix.prefix_len()), (prefix, 80));
        let inside = Ipv6Net::new(Ipv6Addr::from(u128::from(prefix.network()) + 5), 128).unwrap();
        assert!(!subnet.take_six(inside));
        subnet.give_back_six(prefix);
        assert!(subnet.take_six(inside) && !subnet.take_six(prefix));
        assert!(!subnet.take_six("fd00:2::1/128".parse().unwrap()), "another subnet's");
    }

    #[test]
    fn counts_of_the_past_are_kept_as_long_as_they_are_asked_for() {
        let (mut subnet, mut random) = subnet("10.0.0.0/24");
        for second in 1..=3 {
            subnet.take_any(&mut random);
            subnet.note(Time::from_millis(second * 1000), Time::from_millis(1500));
        }
        let counts = [0, 1500, 2500, 9000].map(|at| subnet.free_at(Time::from_millis(at)));
        assert_eq!(counts, [250, 250, 249, 248], "what was replaced before 1.5 s is forgotten");
    }
}
