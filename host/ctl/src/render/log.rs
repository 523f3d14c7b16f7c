//! A line of the log, for people and for programs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use tenure_checkpoint::{LogHeader, LogItem};
use tenure_types::{Allocation, End, Generation, Moment, Network, NetworkName, Record};

use super::parts::{clean, short};

/// Makes lines. It remembers live allocations, since a release names one by its generation only, and a boot ends them all without
/// a record of each.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    live: BTreeMap<(NetworkName, Generation), String>,
    /// The boot that the last segment was of.
    boot: Option<String>,
}

impl Lines {
    /// An item's line; empty for a segment that goes on in the same boot.
    pub(crate) fn text(&mut self, item: &LogItem) -> String {
        match item {
            LogItem::Segment(header) => self.segment(header),
            LogItem::Record { place, record, .. } => {
                let (at, what) = self.record(record);
                let at = at.map_or_else(|| "-".to_owned(), time);
                format!("{at:<24}  #{place:<6} {:<12} {what}\n", clean(record.network().as_str()))
            }
        }
    }

    fn segment(&mut self, header: &LogHeader) -> String {
        let Some(ended) = self.enter(header) else { return String::new() };
        let (at, node, boot) = (time(header.opened), clean(&header.node), clean(&header.boot.0));
        let mut text = format!("{at:<24}  node {node}, boot {boot}\n");
        for ((network, _), held) in ended {
            let what = format!("released   {held} ({})", End::Reboot.reason());
            text.push_str(&format!("{at:<24}  {:<7} {:<12} {what}\n", "-", clean(network.as_str())));
        }
        text
    }

    /// Goes on in a segment: what its boot has ended, of that which the log has told of; `None` where it is the same boot.
    fn enter(&mut self, header: &LogHeader) -> Option<BTreeMap<(NetworkName, Generation), String>> {
        let before = self.boot.replace(header.boot.0.clone());
        (before.as_ref() != Some(&header.boot.0)).then(|| std::mem::take(&mut self.live))
    }

    /// An item as the checkpoint has it, with a record's place; a line each. What a boot has ended is a release without a place.
    pub(crate) fn json(&mut self, item: &LogItem) -> String {
        match item {
            LogItem::Segment(header) => {
                let mut text = format!("{}\n", json!({ "log": header }));
                for (network, generation) in self.enter(header).unwrap_or_default().into_keys() {
                    let reason = End::Reboot.reason().to_owned();
                    let ended = Record::Release { network, generation, at: header.opened, reason };
                    text.push_str(&format!("{}\n", json!({ "record": keyed(&ended) })));
                }
                text
            }
            LogItem::Record { place, group, record } => {
                self.record(record);
                format!("{}\n", json!({ "place": place, "group": group, "record": keyed(record) }))
            }
        }
    }

    fn record(&mut self, record: &Record) -> (Option<Moment>, String) {
        match record {
            Record::Network(network) => (network.changed_at, defined(network)),
            Record::Allocate(allocation) => {
                let held = held(allocation);
                let text = format!("allocated  {held}");
                self.live.insert((allocation.network.clone(), allocation.generation), held);
                (Some(allocation.allocated_at), text)
            }
            Record::Renew { network, generation, requested_at, .. } => {
                let held = self.live.get(&(network.clone(), *generation)).cloned();
                let held = held.unwrap_or_else(|| format!("generation {generation}"));
                (Some(*requested_at), format!("renewed    {held}"))
            }
            Record::Release { network, generation, at, reason } => {
                let held = self.live.remove(&(network.clone(), *generation));
                // It was allocated before the log's first line.
                let held = held.unwrap_or_else(|| format!("generation {generation}"));
                (Some(*at), format!("released   {held} ({})", clean(reason)))
            }
        }
    }
}

fn defined(network: &Network) -> String {
    let ranges = network.definition.pools.iter().flat_map(|pool| &pool.ranges).map(ToString::to_string);
    let by = if network.activated { "activated" } else { "defined" };
    format!("{by:<10} {} by {}", ranges.collect::<Vec<_>>().join(", "), network.policy)
}

fn held(allocation: &Allocation) -> String {
    let addresses: Vec<_> =
        allocation.addresses.iter().map(|assigned| assigned.address.to_string()).collect();
    let pod = allocation
        .pod
        .as_ref()
        .map_or_else(String::new, |pod| format!("{}/{} ", clean(&pod.namespace), clean(&pod.name)));
    let owner = match allocation.owner.attachment() {
        Some((container, interface)) => {
            format!("{}/{}", short(container.as_str()), clean(interface.as_str()))
        }
        None => "unknown".to_owned(),
    };
    let origin = allocation.origin.as_ref().map_or_else(String::new, |origin| match origin.why.as_str() {
        "" => format!(" (from {})", clean(&origin.source)),
        why => format!(" (from {}: {})", clean(&origin.source), clean(why)),
    });
    format!("{} {pod}{owner}{origin}", addresses.join(", "))
}

/// The wall clock's time as it was written down, in UTC.
fn time(moment: Moment) -> String {
    let at = i64::try_from(moment.wall_ms).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    at.map_or_else(|| "-".to_owned(), |at| format!("{at:.3}"))
}

/// A record with its kind as the key, which is how the file has it.
fn keyed(record: &Record) -> Value {
    match record {
        Record::Network(network) => json!({ "network": network }),
        Record::Allocate(allocation) => json!({ "allocate": allocation }),
        Record::Renew { network, generation, requested_at, netns, netns_seen } => {
            json!({ "renew": {
                "network": network, "generation": generation, "requested_at": requested_at,
                "netns": netns, "netns_seen": netns_seen,
            } })
        }
        Record::Release { network, generation, at, reason } => {
            json!({ "release": { "network": network, "generation": generation, "at": at, "reason": reason } })
        }
    }
}

#[cfg(test)]
mod tests;
