//! A line of the log, for people and for programs.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use tenure_checkpoint::{LogHeader, LogItem};
use tenure_types::{Allocation, Generation, Moment, Network, NetworkName, Owner, Record};

use crate::render::{clean, short};

/// Makes lines for people. It remembers live allocations, since a release names one by its generation only.
#[derive(Debug, Default)]
pub(super) struct Lines {
    live: HashMap<(NetworkName, Generation), String>,
    /// The boot that the last segment was of.
    boot: Option<String>,
}

impl Lines {
    /// An item's line; empty for a segment that goes on in the same boot.
    pub(super) fn text(&mut self, item: &LogItem) -> String {
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
        let boot = header.boot.0.clone();
        if self.boot.as_ref() == Some(&boot) {
            return String::new();
        }
        let text =
            format!("{:<24}  node {}, boot {}\n", time(header.opened), clean(&header.node), clean(&boot));
        self.boot = Some(boot);
        text
    }

    fn record(&mut self, record: &Record) -> (Option<Moment>, String) {
        match record {
            Record::Network(network) => (None, defined(network)),
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
    let Owner::Attachment { container, interface } = &allocation.owner;
    let pod = allocation
        .pod
        .as_ref()
        .map_or_else(String::new, |pod| format!("{}/{} ", clean(&pod.namespace), clean(&pod.name)));
    format!("{} {pod}{}/{}", addresses.join(", "), short(container.as_str()), clean(interface.as_str()))
}

/// The wall clock's time as it was written down, in UTC.
fn time(moment: Moment) -> String {
    let at = i64::try_from(moment.wall_ms).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    at.map_or_else(|| "-".to_owned(), |at| format!("{at:.3}"))
}

/// An item as the checkpoint has it, with a record's place; one line.
pub(super) fn json(item: &LogItem) -> String {
    let value = match item {
        LogItem::Segment(header) => json!({ "log": header }),
        LogItem::Record { place, group, record } => {
            json!({ "place": place, "group": group, "record": keyed(record) })
        }
    };
    format!("{value}\n")
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
