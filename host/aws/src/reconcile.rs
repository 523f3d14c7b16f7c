//! The difference between what EC2 shows and what the ledger has, as changes of the ledger's supply.
//!
//! | EC2 | ledger | |
//! |---|---|---|
//! | shows it | has no range | a range is added, unless an open intent is about to, or an earlier process may have taken it |
//! | shows it, and a witness names an address of it that the ledger lists as free, or does not know | has no range, or one that drains | quarantine: the range drains, so that an import can take the address over |
//! | shows it on an interface that serves no new pods | has a range | the range drains |
//! | shows it on an interface that is somebody else's | has a range that drains, holds or cools nothing, and no witness names it | the range is withdrawn |
//! | shows it | has a range that drains | the range is opened again |
//! | is in doubt | has a range | the range drains |
//! | does not show it any more, or never has | has a range that drains, holds or cools nothing, and no witness names it | the range is withdrawn |
//! | does not show it any more, or never has | anything else | quarantine: the range drains, and stays |
//!
//! The book may be older than what the changes are applied to, so only a range that drains already, and hands out nothing, is withdrawn: any
//! other that is to go drains first. What an open intent takes is left to it. Pure.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use tenure_engine::Supply;
use tenure_ledger::{Book, Intent, RangeView};
use tenure_types::{Owner, Pool, PoolName, RangeName, agreed};

use crate::port::{Ec2Interface, Status};
use crate::ranges::{carried, range_of};
use crate::seen::{SeenNode, SeenStanding};
use crate::situation::{Situation, ranges};
use crate::witness::{UseVerdict, UseWitness};

/// The pools, by family.
const POOLS: [(bool, &str); 2] = [(true, agreed::IPV4), (false, agreed::IPV6)];

/// The changes to make.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SupplyDifference {
    /// The changes of the supply, each with its reason.
    pub changes: Vec<(Supply, String)>,
    /// Ranges in quarantine.
    pub quarantine: Vec<Quarantined>,
    /// Ranges that are gone and not in use.
    pub gone: Vec<(String, IpNet)>,
    /// Objects in EC2 that cannot be a range, with the reason.
    pub odd: Vec<String>,
}

impl SupplyDifference {
    /// Leaves alone what these intents take, which were open before the book was read: an intent that is undone opens its ranges again.
    pub(crate) fn leave(&mut self, open: &[Arc<Intent>]) {
        self.changes.retain(|(change, _)| match change {
            Supply::Withdraw { pool, range } => !is_taken(open, pool, range),
            Supply::Add { .. } | Supply::Drain { .. } => true,
        });
    }
}

/// Whether an intent takes a range.
fn is_taken(open: &[Arc<Intent>], pool: &PoolName, range: &RangeName) -> bool {
    let mut taken = open.iter().flat_map(|intent| &intent.takes);
    taken.any(|taken| taken.pool == *pool && taken.range == *range)
}

/// A range that may be in use although EC2 knows nothing of it any more, or although the ledger knows of nobody who uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    /// The interface.
    pub interface: String,
    /// The address or prefix.
    pub net: IpNet,
    /// Time at which that was first seen.
    pub since: Duration,
    /// Why it stays.
    pub why: String,
}

/// Finds the difference.
#[must_use]
pub fn difference(situation: &Situation, book: &Book, witness: &dyn UseWitness) -> SupplyDifference {
    let mut difference = SupplyDifference::default();
    for (pool, view) in ranges(book) {
        stay_or_go(situation, book, witness, (pool, view), &mut difference);
    }
    for (id, known) in situation.seen.interfaces() {
        if let Some(facts) = &known.facts {
            adopt(situation, book, witness, (id, facts), &mut difference);
        }
        // What the ledger has not has no reason to stay.
        let own = situation.ledger_of(id, book);
        let is_gone = |net: &&IpNet| {
            !own.contains(net)
                && matches!(situation.seen.standing_of(id, **net), Some(SeenStanding::Gone { .. }))
        };
        difference.gone.extend(known.carries.keys().filter(is_gone).map(|net| (id.to_owned(), *net)));
    }
    difference
}

fn stay_or_go(
    situation: &Situation,
    book: &Book,
    witness: &dyn UseWitness,
    (pool, view): (&Pool, RangeView<'_>),
    difference: &mut SupplyDifference,
) {
    let range = view.range;
    let Some((id, net)) = carried(range) else { return };
    let name = range.name();
    if is_taken(&situation.open, &pool.name, name) {
        return;
    }
    let drain = |draining| Supply::Drain { pool: pool.name.clone(), range: name.clone(), draining };
    let standing = match situation.seen.standing_of(id, net) {
        // EC2 has said all that there is, and nothing has brought this.
        None if situation.seen.last().is_some() => SeenStanding::Gone { since: situation.now },
        None => return,
        Some(standing) => standing,
    };
    match standing {
        SeenStanding::Doubtful { .. } if view.draining => {}
        SeenStanding::Doubtful { .. } => {
            difference.changes.push((drain(true), format!("EC2 has not shown {net} on interface {id}")));
        }
        SeenStanding::Confirmed => {
            let facts = situation.seen.get(id).and_then(|known| known.facts.as_ref());
            // Before EC2 was asked, only the ledger speaks.
            let Some(facts) = facts else { return };
            let is_foreign = !situation.seen.duty(facts).is_managed();
            let is_left = is_foreign && view.draining && view.held + view.cooling == 0;
            if is_left && witness.names(&[net]) == UseVerdict::Unused {
                let gone = Supply::Withdraw { pool: pool.name.clone(), range: name.clone() };
                difference.changes.push((gone, format!("interface {id} is not managed here")));
                return;
            }
            let retired = situation.is_retired(facts);
            if retired && !view.draining {
                difference.changes.push((drain(true), format!("interface {id} serves no new pods")));
            }
            if !retired && view.draining {
                // Where the ledger has owners, it was asked about all of them; nobody else came meanwhile.
                let is_in_use = view.held + view.cooling > 0;
                match stranger(book, witness, net).filter(|stranger| stranger.is_named || !is_in_use) {
                    None if situation.seen.is_settling(id, net) => {}
                    None => {
                        difference.changes.push((drain(false), format!("EC2 shows {net} on interface {id}")));
                    }
                    Some(Stranger { why, .. }) => difference.quarantine.push(Quarantined {
                        interface: id.to_owned(),
                        net,
                        since: situation.now,
                        why,
                    }),
                }
            }
        }
        SeenStanding::Gone { since } => {
            let named = || match witness.names(&[net]) {
                UseVerdict::Unused => None,
                UseVerdict::Used(by) => Some(format!("it is in use: {by}")),
                UseVerdict::Unknown(why) => Some(format!("whether it is in use is not known: {why}")),
            };
            let why = match (view.held, view.cooling) {
                (0, 0) => named(),
                (0, cooling) => Some(format!("{cooling} addresses of it are cooling")),
                (held, _) => Some(in_use(book, net, held)),
            };
            if !view.draining {
                let but = why.as_ref().map_or_else(String::new, |why| format!(", and {why}"));
                difference.changes.push((drain(true), format!("EC2 does not show {net} any more{but}")));
            }
            let Some(why) = why else {
                if !view.draining {
                    return;
                }
                let gone = Supply::Withdraw { pool: pool.name.clone(), range: name.clone() };
                difference
                    .changes
                    .push((gone, format!("EC2 does not show {net} on interface {id} any more")));
                difference.gone.push((id.to_owned(), net));
                return;
            };
            difference.quarantine.push(Quarantined { interface: id.to_owned(), net, since, why });
        }
    }
}

/// The most owners to name.
const NAMED: usize = 3;

/// Says which pods use addresses of a range. It is read by everybody who may see conditions, so that no container is named.
fn in_use(book: &Book, net: IpNet, held: u64) -> String {
    let mut named = Vec::new();
    let addresses = book.allocations().flat_map(|held| held.addresses.iter().map(move |of| (held, of.ip())));
    for (allocation, address) in addresses.filter(|(_, address)| net.contains(address)) {
        named.push(match (allocation.pod(), &allocation.owner) {
            (Some(pod), _) => format!("{address} by pod {}/{}", pod.namespace, pod.name),
            (None, Owner::Attachment { .. }) => format!("{address} by a container whose pod is not known"),
            (None, owner) => format!("{address} by {owner}"),
        });
    }
    let owned = named.len() as u64;
    if owned == 0 {
        return format!("{held} addresses of it are in quarantine");
    }
    let more = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    let more = if more == 0 { String::new() } else { format!(", and {more} more") };
    let what =
        if owned == 1 { "an address of it is".to_owned() } else { format!("{owned} addresses of it are") };
    format!("{what} in use: {}{more}", named.join(", "))
}

/// Somebody whom the ledger does not know and who uses an address of a range, or may.
struct Stranger {
    /// Whether a witness names the address; otherwise no witness can say.
    is_named: bool,
    /// Known facts, in words.
    why: String,
}

fn stranger(book: &Book, witness: &dyn UseWitness, net: IpNet) -> Option<Stranger> {
    match witness.named(net) {
        Err(why) => {
            let why = format!("whether somebody uses it is not known: {why}");
            Some(Stranger { is_named: false, why })
        }
        Ok(named) => {
            let (_, by) = named.into_iter().find(|(address, _)| book.holder(*address).is_none())?;
            let why = format!("the ledger does not know who uses it: {by}");
            Some(Stranger { is_named: true, why })
        }
    }
}

fn adopt(
    situation: &Situation,
    book: &Book,
    witness: &dyn UseWitness,
    (id, facts): (&str, &Ec2Interface),
    difference: &mut SupplyDifference,
) {
    let seen: &SeenNode = &situation.seen;
    let is_usable = facts.status == Status::InUse && seen.duty(facts).is_managed();
    if !is_usable || situation.open_on(id).next().is_some() {
        return;
    }
    let own = situation.ledger_of(id, book);
    for net in &facts.carries {
        if own.contains(net) || !seen.is_shown(id, *net) {
            continue;
        }
        let stranger = stranger(book, witness, *net);
        // What a stranger may use is handed out to nobody, and can be there at once.
        if stranger.is_none() && seen.is_settling(id, *net) {
            continue;
        }
        match supply(situation, book, facts, *net) {
            Ok(None) => {}
            Ok(Some(mut changes)) => {
                let why = format!("EC2 shows {net} on interface {id}, and the ledger does not have it");
                if let Some(Stranger { why, .. }) = stranger {
                    if let [Supply::Add { pool, range }] = changes.as_slice() {
                        changes.push(drains(pool.clone(), range.name().clone()));
                    }
                    let (interface, since) = (id.to_owned(), situation.now);
                    difference.quarantine.push(Quarantined { interface, net: *net, since, why });
                }
                difference.changes.extend(changes.into_iter().map(|change| (change, why.clone())));
            }
            Err(why) => difference.odd.push(format!("{net} on interface {id} cannot be a range: {why}")),
        }
    }
}

/// The changes that add an address or prefix of an interface; `None` if the network does not use its family.
///
/// # Errors
/// Why it cannot be a range.
pub(crate) fn supply(
    situation: &Situation,
    book: &Book,
    facts: &Ec2Interface,
    net: IpNet,
) -> Result<Option<Vec<Supply>>, String> {
    let is_ipv4 = net.addr().is_ipv4();
    let named = POOLS.iter().find(|(of, _)| *of == is_ipv4).map_or("", |(_, name)| name);
    let is_host = |pool: &&Pool| pool.name.as_str() == named && pool.supply == tenure_types::Supply::Host;
    let Some(pool) = book.pools().iter().find(is_host).map(|pool| pool.name.clone()) else { return Ok(None) };
    let subnet =
        situation.subnet(&facts.subnet).ok_or_else(|| format!("subnet {} is not known", facts.subnet))?;
    let cidr = subnet.ranges.iter().find(|range| range.contains(&net)).copied();
    let cidr = cidr.ok_or_else(|| format!("it is not in subnet {}", facts.subnet))?;
    let device = facts.attachment.as_ref().map_or(0, |attachment| attachment.device);
    let range = range_of(net, &facts.id, device, cidr).map_err(|error| error.to_string())?;
    if let Some((_, other)) = ranges(book).find(|(_, view)| view.range.overlaps(&range)) {
        return Err(format!("it overlaps range {}", other.range.name()));
    }
    let name = range.name().clone();
    let mut changes = vec![Supply::Add { pool: pool.clone(), range: Box::new(range) }];
    if situation.is_retired(facts) {
        changes.push(drains(pool, name));
    }
    Ok(Some(changes))
}

fn drains(pool: PoolName, range: RangeName) -> Supply {
    Supply::Drain { pool, range, draining: true }
}
