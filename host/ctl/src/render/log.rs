//! The lines of the log, for people and for programs.

mod filter;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use tenure_checkpoint::{ChapterLine, LogHeader, LogItem};
use tenure_ledger::{Fact, LedgerFact, QuarantineSubject};
use tenure_types::{Allocation, End, Generation, Moment, Network, NetworkName, Owner};

pub(crate) use self::filter::LogFilter;
use super::parts::{clean, short};

/// Allocations, as they are shown.
type Live = BTreeMap<(NetworkName, Generation), String>;

/// Formats lines. It keeps the live allocations, because a release names only a generation, and a reboot ends attachments
/// without a record for each.
#[derive(Debug, Default)]
pub(crate) struct LogLines {
    live: Live,
    /// Allocations that a reboot does not end.
    lasting: Live,
    /// The boot of the last segment.
    boot: Option<String>,
    filter: LogFilter,
}

impl LogLines {
    /// The lines of a part of the log.
    pub(crate) fn of(filter: LogFilter) -> Self {
        Self { filter, ..Self::default() }
    }

    /// An item's lines; empty for a further segment of the same boot, and for what the filter does not select.
    pub(crate) fn text(&mut self, item: &LogItem) -> String {
        match item {
            LogItem::Segment(header) => self.segment(header),
            LogItem::Fact { place, fact: Some(fact), .. } => {
                let (at, what) = self.fact(fact);
                if !self.filter.selects(Some(at), fact.network()) {
                    return String::new();
                }
                format!(
                    "{:<24}  #{place:<6} {:<12} {what}\n",
                    time(at),
                    fact.network().map_or_else(|| "-".to_owned(), |network| clean(network.as_str()))
                )
            }
            LogItem::Fact { fact: None, .. } if !self.filter.selects(None, None) => String::new(),
            LogItem::Fact { place, fact: None, line, .. } => {
                format!("{:<24}  #{place:<6} {:<12} {}\n", "-", "-", unknown(line))
            }
        }
    }

    fn segment(&mut self, header: &LogHeader) -> String {
        let Some(ended) = self.enter(header).filter(|_| self.begins(header)) else { return String::new() };
        let (at, node, boot) = (time(header.opened), clean(&header.node), clean(&header.boot.0));
        let mut text = format!("{at:<24}  node {node}, boot {boot}\n");
        for ((network, _), held) in ended {
            if !self.filter.selects_network(Some(&network)) {
                continue;
            }
            let what = format!("released   {held} ({})", End::Reboot.reason());
            text.push_str(&format!("{at:<24}  {:<7} {:<12} {what}\n", "-", clean(network.as_str())));
        }
        text
    }

    /// Whether a segment is in the time that is printed.
    fn begins(&self, header: &LogHeader) -> bool {
        header.opened.wall_ms >= self.filter.since_ms
    }

    /// Enters a segment. Returns the allocations that a reboot has ended, as far as the log contains them; `None` if the boot is
    /// the same.
    fn enter(&mut self, header: &LogHeader) -> Option<Live> {
        let before = self.boot.replace(header.boot.0.clone());
        (before.as_ref() != Some(&header.boot.0)).then(|| std::mem::take(&mut self.live))
    }

    /// An item as the checkpoint stores it, with its place in the log. An allocation ended by a reboot is a release without a place.
    pub(crate) fn json(&mut self, item: &LogItem) -> String {
        match item {
            LogItem::Segment(header) => {
                let ended = self.enter(header).unwrap_or_default();
                if !self.begins(header) {
                    return String::new();
                }
                let mut text = format!("{}\n", json!({ "log": header }));
                for (network, generation) in ended.into_keys() {
                    if !self.filter.selects_network(Some(&network)) {
                        continue;
                    }
                    let at = json!({ "boot_ns": header.opened.boot_ns, "wall_ms": header.opened.wall_ms });
                    let ended = json!({
                        "network": network.as_str(),
                        "generation": generation.0,
                        "at": at,
                        "reason": End::Reboot.reason(),
                    });
                    text.push_str(&format!(
                        "{}\n",
                        json!({ "chapter": "ledger", "fact": { "released": ended } })
                    ));
                }
                text
            }
            LogItem::Fact { place, group, line, fact } => {
                let at = fact.as_ref().map(|fact| self.fact(fact).0);
                if !self.filter.selects(at, fact.as_ref().and_then(Fact::network)) {
                    return String::new();
                }
                let ChapterLine { chapter, version, json, .. } = line;
                let stored: Value = serde_json::from_slice(json).unwrap_or_default();
                let of = json!({
                    "place": place, "group": group, "chapter": chapter, "version": version, "fact": stored,
                });
                format!("{of}\n")
            }
        }
    }

    /// A fact's time and its description.
    fn fact(&mut self, fact: &Fact) -> (Moment, String) {
        match fact {
            Fact::Ledger(fact) => self.ledger(fact),
            fact => {
                let described = fact.described().map(|(at, what)| (at, clean(&what.to_string())));
                described.unwrap_or_default()
            }
        }
    }

    fn subject(&self, network: &NetworkName, subject: QuarantineSubject) -> String {
        match subject {
            QuarantineSubject::Address(address) => address.to_string(),
            QuarantineSubject::Allocation(generation) => {
                let key = (network.clone(), generation);
                let held = self.live.get(&key).or_else(|| self.lasting.get(&key)).cloned();
                held.unwrap_or_else(|| format!("generation {generation}"))
            }
        }
    }

    fn ledger(&mut self, fact: &LedgerFact) -> (Moment, String) {
        match fact {
            LedgerFact::Defined(network) => (network.changed_at, defined(network)),
            LedgerFact::Removed { at, .. } => (*at, "removed    the network".to_owned()),
            LedgerFact::Importing { under_way, at, .. } => {
                (*at, format!("{:<10} an import", if *under_way { "began" } else { "ended" }))
            }
            LedgerFact::RangeAdded { pool, range, at, .. } => {
                let attributes = range.attributes();
                let with = if attributes.is_empty() { String::new() } else { format!(" ({attributes})") };
                (*at, format!("{:<10} range {range} to pool {pool}{}", "added", clean(&with)))
            }
            LedgerFact::RangeDraining { pool, range, draining, at, .. } => {
                let what = if *draining { "draining" } else { "undrained" };
                (*at, format!("{what:<10} range {} of pool {pool}", clean(range.as_str())))
            }
            LedgerFact::RangeRemoved { pool, range, at, .. } => {
                (*at, format!("{:<10} range {} from pool {pool}", "removed", clean(range.as_str())))
            }
            LedgerFact::Allocated(allocation) => {
                let held = held(allocation);
                let text = format!("allocated  {held}");
                let of = if End::Reboot.ends(&allocation.owner) { &mut self.live } else { &mut self.lasting };
                of.insert((allocation.network.clone(), allocation.generation), held);
                (allocation.allocated_at, text)
            }
            LedgerFact::Renewed { network, generation, requested_at, .. } => {
                let key = (network.clone(), *generation);
                let held = self.live.get(&key).or_else(|| self.lasting.get(&key)).cloned();
                let held = held.unwrap_or_else(|| format!("generation {generation}"));
                (*requested_at, format!("renewed    {held}"))
            }
            LedgerFact::Released { network, generation, at, reason } => {
                let key = (network.clone(), *generation);
                let held = self.live.remove(&key).or_else(|| self.lasting.remove(&key));
                // It was allocated before the log begins.
                let held = held.unwrap_or_else(|| format!("generation {generation}"));
                (*at, format!("released   {held} ({})", clean(reason)))
            }
            LedgerFact::Quarantined { network, subject, mark } => {
                let subject = self.subject(network, *subject);
                (mark.since, format!("quarantine {subject} ({})", clean(&mark.reason)))
            }
            LedgerFact::QuarantineLifted { network, subject, at, reason } => {
                (*at, format!("lifted     {} ({})", self.subject(network, *subject), clean(reason)))
            }
        }
    }
}

fn defined(network: &Network) -> String {
    let pools: Vec<_> = network.pools.iter().map(|pool| format!("{} ({})", pool.name, pool.supply)).collect();
    format!("{:<10} pools {} by {}", "defined", pools.join(", "), network.defined_by.name())
}

/// A fact that this version does not know.
fn unknown(ChapterLine { chapter, version, json, .. }: &ChapterLine) -> String {
    format!(
        "{:<10} chapter {}, version {version}: {}",
        "unknown",
        clean(chapter),
        clean(&String::from_utf8_lossy(json))
    )
}

fn held(allocation: &Allocation) -> String {
    let addresses: Vec<_> =
        allocation.addresses.iter().map(|assigned| assigned.address.to_string()).collect();
    let pod = allocation
        .pod()
        .map_or_else(String::new, |pod| format!("{}/{} ", clean(&pod.namespace), clean(&pod.name)));
    let owner = match &allocation.owner {
        Owner::Attachment { container, interface } => {
            format!("{}/{}", short(container.as_str()), clean(interface.as_str()))
        }
        claim @ Owner::Claim { .. } => clean(&claim.to_string()),
        Owner::Unknown { .. } => "unknown".to_owned(),
    };
    let origin = allocation.origin.as_ref().map_or_else(String::new, |origin| match origin.why.as_str() {
        "" => format!(" (from {})", clean(&origin.source)),
        why => format!(" (from {}: {})", clean(&origin.source), clean(why)),
    });
    format!("{} {pod}{owner}{origin}", addresses.join(", "))
}

/// The recorded wall-clock time, in UTC.
fn time(moment: Moment) -> String {
    let at = i64::try_from(moment.wall_ms).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    at.map_or_else(|| "-".to_owned(), |at| format!("{at:.3}"))
}

#[cfg(test)]
mod tests;
