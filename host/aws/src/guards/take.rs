//! Detaching and releasing: only what two witnesses call unused.

use std::collections::BTreeMap;
use std::time::Duration;

use ipnet::IpNet;
use tenure_ledger::{Book, RangeView};
use tenure_types::{AssignedAddress, Pool};

use super::not_barred;
use crate::names;
use crate::port::{Ec2Interface, Status};
use crate::ranges::net_of;
use crate::seen::{Duty, SeenStanding};
use crate::situation::{Situation, ranges};
use crate::witness::{UseVerdict, UseWitness};

/// How old an interface must be before it is detached, in seconds, as in ipamd.
const LEAST_AGE: u64 = 60;

/// For how long EC2's word about a whole interface counts.
pub(crate) const FRESH: Duration = Duration::from_secs(300);

/// For how long it counts for one address or prefix, which EC2 takes off no other interface than the one that is named: longer than the time
/// between two looks at rest.
const FRESH_FOR_ONE: Duration = Duration::from_secs(3 * 3600);

/// An interface that EC2 confirmed, that is in use, and that is this host's.
///
/// # Errors
/// Why not.
pub(super) fn usable<'a>(situation: &'a Situation, id: &str) -> Result<&'a Ec2Interface, String> {
    let known = situation.seen.get(id).ok_or_else(|| format!("EC2 has not shown an interface {id}"))?;
    let facts = known.facts.as_ref().ok_or_else(|| format!("only the ledger knows of interface {id}"))?;
    if let Duty::Foreign(why) = situation.seen.duty(facts) {
        return Err(format!("interface {id} is not managed here: {why}"));
    }
    match situation.seen.standing(id) {
        Some(SeenStanding::Confirmed) => {}
        Some(SeenStanding::Doubtful { since }) => {
            let seconds = situation.now.saturating_sub(since).as_secs();
            return Err(format!("interface {id} is in doubt: EC2 did not show it {seconds} s ago"));
        }
        _ => return Err(format!("interface {id} is quarantined: EC2 does not show it any more")),
    }
    if facts.status != Status::InUse {
        return Err(format!("interface {id} is not in use yet"));
    }
    Ok(facts)
}

/// Whether an interface may be detached with all that is on it. Counts in `taken` what that takes from each pool.
///
/// # Errors
/// Why not, for people.
pub(crate) fn detach(
    situation: &Situation,
    witness: &dyn UseWitness,
    id: &str,
    book: &Book,
    taken: &mut BTreeMap<String, u128>,
) -> Result<(), String> {
    let facts = usable(situation, id)?;
    if witness.has_link(&facts.mac) == Some(false) {
        return Err(format!("interface {id} has no link on this machine"));
    }
    if situation.seen.duty(facts) == Duty::Primary {
        return Err(format!("interface {id} is the primary one"));
    }
    let since = facts.attachment.as_ref().map_or(situation.wall, |attachment| attachment.since);
    let age = situation.wall.saturating_sub(since);
    if age < LEAST_AGE {
        return Err(format!("interface {id} is {age} s old, and stays for {LEAST_AGE} s at least"));
    }
    let own = own(id, book);
    let nets = nets(situation, id, &own);
    let (in_ranges, cooling) = counts(&own);
    unused(&format!("interface {id}"), (held(id, &nets, book), in_ranges), cooling)?;
    confirmed(situation, id, &nets, FRESH)?;
    names::REMOVING.iter().try_for_each(|call| not_barred(situation, call, &facts.subnet))?;
    floor(situation, &own, book, taken)?;
    named(witness, &nets)
}

/// Whether a range may be released. Counts in `taken` what that takes from its pool.
///
/// # Errors
/// Why not, for people.
pub(crate) fn release(
    situation: &Situation,
    witness: &dyn UseWitness,
    name: &str,
    book: &Book,
    taken: &mut BTreeMap<String, u128>,
) -> Result<(), String> {
    let found = ranges(book).find(|(_, view)| view.range.name().as_str() == name);
    let (pool, view) = found.ok_or_else(|| format!("there is no range {name}"))?;
    let of_interface = view.range.attributes().get(names::INTERFACE).zip(net_of(view.range));
    let (id, net) = of_interface.ok_or_else(|| format!("range {name} is not of an interface"))?;
    let facts = usable(situation, id)?;
    unused(&format!("range {name}"), (within(&[net], book), view.held), view.cooling)?;
    confirmed(situation, id, &[net], FRESH_FOR_ONE)?;
    not_barred(situation, names::unassigning(net), &facts.subnet)?;
    floor(situation, &[(pool, view)], book, taken)?;
    named(witness, &[net])
}

/// Whether nobody on the node uses an address or prefix of an interface, or the whole of it. EC2 is not asked: it may have taken it already.
///
/// # Errors
/// Names who uses it, or says that this is not known, in words for people.
pub(crate) fn in_use(
    situation: &Situation,
    witness: &dyn UseWitness,
    id: &str,
    net: Option<IpNet>,
    book: &Book,
) -> Result<(), String> {
    let mut own = own(id, book);
    let what = match net {
        Some(net) => {
            own.retain(|(_, view)| net_of(view.range) == Some(net));
            format!("{net} on interface {id}")
        }
        None => format!("interface {id}"),
    };
    let nets = net.map_or_else(|| nets(situation, id, &own), |net| vec![net]);
    let (in_ranges, cooling) = counts(&own);
    let held = match net {
        Some(net) => (within(&[net], book), in_ranges),
        None => (held(id, &nets, book), 0),
    };
    unused(&what, held, cooling)?;
    named(witness, &nets)
}

/// The ranges of an interface in the ledger.
fn own<'a>(id: &str, book: &'a Book) -> Vec<(&'a Pool, RangeView<'a>)> {
    let is_own = |view: &RangeView<'_>| view.range.attributes().get(names::INTERFACE) == Some(id);
    ranges(book).filter(|(_, view)| is_own(view)).collect()
}

/// The addresses and prefixes of an interface, as the ledger and EC2 have them.
fn nets(situation: &Situation, id: &str, own: &[(&Pool, RangeView<'_>)]) -> Vec<IpNet> {
    let mut nets: Vec<IpNet> = own.iter().filter_map(|(_, view)| net_of(view.range)).collect();
    nets.extend(situation.seen.get(id).into_iter().flat_map(|known| known.carries.keys()));
    nets.sort_unstable();
    nets.dedup();
    nets
}

/// How many addresses of an interface have owners. They may have come from it although their ranges are gone.
fn held(id: &str, nets: &[IpNet], book: &Book) -> u64 {
    let is_on = |held: &&AssignedAddress| {
        held.source.range_attributes.get(names::INTERFACE) == Some(id)
            || nets.iter().any(|net| net.contains(&held.ip()))
    };
    book.allocations().flat_map(|allocation| &allocation.addresses).filter(is_on).count() as u64
}

/// How many addresses within these have owners.
fn within(nets: &[IpNet], book: &Book) -> u64 {
    let all = book.allocations().flat_map(|allocation| &allocation.addresses);
    all.filter(|held| nets.iter().any(|net| net.contains(&held.ip()))).count() as u64
}

/// How many addresses of ranges have an owner or are in quarantine, and how many are cooling.
fn counts(ranges: &[(&Pool, RangeView<'_>)]) -> (u64, u64) {
    ranges.iter().fold((0, 0), |(held, cooling), (_, view)| (held + view.held, cooling + view.cooling))
}

/// `owned` have owners, and `held` have owners or are in quarantine.
fn unused(what: &str, (owned, held): (u64, u64), cooling: u64) -> Result<(), String> {
    match (owned, held, cooling) {
        (0, 0, 0) => Ok(()),
        (0, 0, cooling) => Err(format!("{cooling} addresses of {what} are cooling")),
        (0, held, _) => Err(format!("{held} addresses of {what} are in quarantine")),
        (owned, ..) => Err(format!("{owned} addresses of {what} have owners")),
    }
}

/// The first witness: EC2 showed it all, and not too long ago.
fn confirmed(situation: &Situation, id: &str, nets: &[IpNet], fresh: Duration) -> Result<(), String> {
    let ago = situation.now.saturating_sub(situation.seen.last().unwrap_or_default());
    if ago > fresh {
        let (ago, fresh) = (ago.as_secs(), fresh.as_secs());
        return Err(format!("EC2 last confirmed this {ago} s ago, which counts for {fresh} s"));
    }
    match nets.iter().find(|net| situation.seen.standing_of(id, **net) != Some(SeenStanding::Confirmed)) {
        Some(net) => Err(format!("EC2 does not show {net} on interface {id}")),
        None => Ok(()),
    }
}

/// The second witness: nothing on the node names an address of it.
fn named(witness: &dyn UseWitness, nets: &[IpNet]) -> Result<(), String> {
    match witness.names(nets) {
        UseVerdict::Unused => Ok(()),
        UseVerdict::Used(by) => Err(format!("it is in use: {by}")),
        UseVerdict::Unknown(why) => Err(format!("whether it is in use is not known: {why}")),
    }
}

/// Whether enough addresses are left in each pool. What drains hands out nothing, so it may always go.
fn floor(
    situation: &Situation,
    going: &[(&Pool, RangeView<'_>)],
    book: &Book,
    taken: &mut BTreeMap<String, u128>,
) -> Result<(), String> {
    let (mut after, least) = (taken.clone(), situation.floor);
    for (pool, view) in going.iter().filter(|(_, view)| !view.draining) {
        *after.entry(pool.name.to_string()).or_default() += view.range.count();
    }
    for (name, gone) in after.iter().filter(|(name, gone)| taken.get(*name) != Some(gone)) {
        let open = ranges(book).filter(|(pool, view)| pool.name.as_str() == name && !view.draining);
        let all = open.map(|(_, view)| view.range.count()).fold(0, u128::saturating_add);
        let left = all.saturating_sub(*gone);
        if left < u128::from(least) {
            return Err(format!("{left} addresses of pool {name} would be left, and the node keeps {least}"));
        }
    }
    *taken = after;
    Ok(())
}
