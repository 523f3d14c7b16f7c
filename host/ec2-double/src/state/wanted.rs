//! Which addresses a call asks for, and taking them from a subnet: all of them, or none.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};
use tenure_fixtures::random::Random;

use super::refusal::Refusal;
use super::rules::Exhaustion;
use super::subnet::Subnet;

/// The addresses that a call asks for, in one family.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Wanted<A, P> {
    /// No address of this family.
    #[default]
    Nothing,
    /// So many addresses.
    Count(u32),
    /// Exactly the listed addresses.
    These(Vec<A>),
    /// So many prefixes.
    Prefixes(u32),
    /// Exactly the listed prefixes.
    ThesePrefixes(Vec<P>),
}

impl<A, P> Wanted<A, P> {
    /// The slots that it takes on an interface.
    #[must_use]
    pub fn slots(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Count(count) | Self::Prefixes(count) => usize::try_from(*count).unwrap_or(usize::MAX),
            Self::These(these) => these.len(),
            Self::ThesePrefixes(these) => these.len(),
        }
    }

    /// Whether it asks for prefixes.
    #[must_use]
    pub fn is_prefixes(&self) -> bool {
        matches!(self, Self::Prefixes(_) | Self::ThesePrefixes(_))
    }
}

/// The IPv4 addresses and prefixes allocated from a subnet.
pub(super) type Four = (Vec<Ipv4Addr>, Vec<Ipv4Net>);

/// The IPv6 addresses and prefixes allocated from a subnet.
pub(super) type Six = (Vec<Ipv6Addr>, Vec<Ipv6Net>);

/// Takes IPv4 addresses or prefixes, all or none.
pub(super) fn take_four(
    subnet: &mut Subnet,
    wanted: &Wanted<Ipv4Addr, Ipv4Net>,
    exhaustion: Exhaustion,
    random: &mut Random,
) -> Result<Four, Refusal> {
    let mut taken: Vec<Ipv4Net> = Vec::new();
    let complaint = match wanted {
        Wanted::Nothing => None,
        Wanted::Count(count) if *count > subnet.free() => Some(too_few(subnet, exhaustion)),
        Wanted::Count(count) => {
            taken.extend((0..*count).map_while(|_| subnet.take_any(random)).map(Ipv4Net::from));
            (taken.len() < wanted.slots()).then(|| too_few(subnet, exhaustion))
        }
        Wanted::Prefixes(count) if count.saturating_mul(16) > subnet.free() => {
            Some(too_few(subnet, exhaustion))
        }
        Wanted::Prefixes(count) => {
            taken.extend((0..*count).map_while(|_| subnet.take_any_block(random)));
            (taken.len() < wanted.slots()).then(no_block)
        }
        Wanted::These(these) => {
            taken.extend(
                these.iter().map_while(|address| subnet.take(*address).then_some(Ipv4Net::from(*address))),
            );
            these
                .get(taken.len())
                .map(|address| unusable(subnet, &address.to_string(), subnet.cidr.contains(address)))
        }
        Wanted::ThesePrefixes(these) => {
            taken.extend(these.iter().map_while(|block| subnet.take_block(*block).then_some(*block)));
            these
                .get(taken.len())
                .map(|block| unusable(subnet, &block.to_string(), subnet.cidr.contains(block)))
        }
    };
    if let Some(refusal) = complaint {
        taken.into_iter().for_each(|net| subnet.give_back(net));
        return Err(refusal);
    }
    let (blocks, singles): (Vec<_>, Vec<_>) = taken.into_iter().partition(|net| net.prefix_len() == 28);
    Ok((singles.iter().map(Ipv4Net::addr).collect(), blocks))
}

/// Takes IPv6 addresses or prefixes, all or none.
pub(super) fn take_six(
    subnet: &mut Subnet,
    wanted: &Wanted<Ipv6Addr, Ipv6Net>,
    random: &mut Random,
) -> Result<Six, Refusal> {
    if *wanted != Wanted::Nothing && subnet.ipv6.is_none() {
        return Err(Refusal::value(format!(
            "The subnet '{}' does not have an associated IPv6 CIDR block",
            subnet.id
        )));
    }
    let mut taken: Vec<Ipv6Net> = Vec::new();
    let complaint = match wanted {
        Wanted::Nothing => None,
        Wanted::Count(count) | Wanted::Prefixes(count) => {
            let length = if wanted.is_prefixes() { 80 } else { 128 };
            taken.extend((0..*count).map_while(|_| subnet.take_any_six(length, random)));
            (taken.len() < wanted.slots()).then(no_block)
        }
        Wanted::These(these) => {
            let nets = these.iter().map(|address| Ipv6Net::from(*address));
            taken.extend(nets.take_while(|net| subnet.take_six(*net)));
            these.get(taken.len()).map(|address| unusable(subnet, &address.to_string(), true))
        }
        Wanted::ThesePrefixes(these) => {
            let nets = these.iter().copied().filter(|net| net.prefix_len() == 80);
            taken.extend(nets.take_while(|net| subnet.take_six(*net)));
            these.get(taken.len()).map(|net| unusable(subnet, &net.to_string(), true))
        }
    };
    if let Some(refusal) = complaint {
        taken.into_iter().for_each(|net| subnet.give_back_six(net));
        return Err(refusal);
    }
    let (blocks, singles): (Vec<_>, Vec<_>) = taken.into_iter().partition(|net| net.prefix_len() == 80);
    Ok((singles.iter().map(Ipv6Net::addr).collect(), blocks))
}

/// The subnet has fewer free addresses than were asked for.
fn too_few(subnet: &Subnet, exhaustion: Exhaustion) -> Refusal {
    let id = &subnet.id;
    match exhaustion {
        Exhaustion::Code => Refusal::new(
            "InsufficientFreeAddressesInSubnet",
            format!("There are not enough free addresses in subnet '{id}' to satisfy the request."),
        ),
        Exhaustion::Message => Refusal::value(format!(
            "There aren't sufficient free Ipv4 addresses or prefixes in subnet '{id}'"
        )),
    }
}

/// The free addresses do not contain an aligned prefix.
fn no_block() -> Refusal {
    Refusal::new(
        "InsufficientCidrBlocks",
        "The specified subnet does not have enough free cidr blocks to satisfy the request.",
    )
}

/// A named address or prefix cannot be had.
fn unusable(subnet: &Subnet, named: &str, is_inside: bool) -> Refusal {
    if is_inside {
        Refusal::value(format!("The specified address '{named}' is reserved, or already in use"))
    } else {
        Refusal::value(format!(
            "Address '{named}' does not fall within the subnet's address range '{}'",
            subnet.cidr
        ))
    }
}
