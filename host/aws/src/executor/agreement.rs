//! Agreement of the metadata service with what is known of EC2. Pure.
//!
//! ```text
//! the service says one thing ─▶ as known? ──▶ it agrees: the next look at EC2 has time
//!                                  │ no
//!                                  ▼
//!                     explained by a change of this node? ──▶ the service lags: nothing follows
//!                                  │ no
//!                                  ▼
//!                     new since EC2 was asked because of it? ──▶ EC2 is asked at once
//! ```
//!
//! Only EC2's word changes what is known. Agreement makes the looks rarer, as long as the service has said so of all parts a short while ago.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;

use crate::metadata::{CarriedField, ShownPart};
use crate::seen::{Evidence, SeenInterface, SeenNode};

/// The parts that the metadata service has shown, and how they compare with what is known.
#[derive(Debug, Default)]
pub(super) struct MetadataAgreement {
    /// The last time at which each part agreed, unless it has differed since.
    agreed: BTreeMap<PartName, Duration>,
    /// The differences because of which EC2 was asked, by part.
    asked: BTreeMap<PartName, BTreeSet<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum PartName {
    Interfaces,
    /// A field of the interface with this hardware address.
    Field(String, CarriedField),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Same,
    /// The answer may show the time before a change of this node, or a change that is just being made.
    MayLag,
    Other,
}

impl MetadataAgreement {
    /// Takes in a part; returns whether EC2 should be asked because of it. `is_changing` is whether this node changes something just now.
    pub(super) fn heard(
        &mut self,
        shown: &ShownPart,
        seen: &SeenNode,
        is_changing: bool,
        now: Duration,
    ) -> bool {
        let (name, values, comparison) = match shown {
            ShownPart::Interfaces(macs) => (PartName::Interfaces, macs, interfaces(macs, seen, now)),
            ShownPart::Field { mac, field, values } => {
                (PartName::Field(mac.clone(), *field), values, carried(mac, *field, values, seen, now))
            }
        };
        match comparison {
            Comparison::Same => {
                self.asked.remove(&name);
                self.agreed.insert(name, now);
                false
            }
            Comparison::Other if !is_changing => {
                self.agreed.remove(&name);
                self.asked.insert(name, values.clone()).as_ref() != Some(values)
            }
            // What a change of this node explains says nothing against what was heard before it.
            Comparison::MayLag => false,
            Comparison::Other => {
                self.agreed.remove(&name);
                false
            }
        }
    }

    /// The time since which the service has agreed with all that is known; `None` if it has not said so of a part. An interface that calls of
    /// this node have brought is as EC2's answers had it until its parts have had their turn.
    pub(super) fn since(&self, seen: &SeenNode) -> Option<Duration> {
        let mut since = *self.agreed.get(&PartName::Interfaces)?;
        for (_, known) in seen.interfaces() {
            let mac = &known.facts.as_ref()?.mac;
            let brought = Some(known.fact.at).filter(|_| known.fact.by == Evidence::Answered);
            for field in CarriedField::ALL {
                let agreed = self.agreed.get(&PartName::Field(mac.clone(), field)).copied();
                since = since.min(agreed.or(brought)?);
            }
        }
        Some(since)
    }
}

fn interfaces(macs: &BTreeSet<String>, seen: &SeenNode, now: Duration) -> Comparison {
    let facts = seen.interfaces().filter_map(|(_, known)| known.facts.as_ref());
    let known: BTreeSet<&String> = facts.map(|facts| &facts.mac).collect();
    match macs.iter().collect::<BTreeSet<_>>() == known {
        true => Comparison::Same,
        false if seen.has_moved(now) => Comparison::MayLag,
        false => Comparison::Other,
    }
}

fn carried(
    mac: &str,
    field: CarriedField,
    values: &BTreeSet<String>,
    seen: &SeenNode,
    now: Duration,
) -> Comparison {
    let of_mac =
        |(_, known): &(&str, &SeenInterface)| known.facts.as_ref().is_some_and(|facts| facts.mac == mac);
    // The list of interfaces says that there is another one.
    let Some((id, known)) = seen.interfaces().find(of_mac) else { return Comparison::MayLag };
    let shown: Option<BTreeSet<IpNet>> = values.iter().map(|value| net_of(value)).collect();
    let Some(shown) = shown else { return Comparison::Other };
    let is_meant = |net: &IpNet| match field {
        CarriedField::Addresses => net.addr().is_ipv4() && net.prefix_len() == 32,
        CarriedField::Prefixes => net.addr().is_ipv4() && net.prefix_len() < 32,
        CarriedField::Ipv6Prefixes => net.addr().is_ipv6(),
    };
    let own = known.facts.as_ref().and_then(|facts| facts.primary_address).map(IpNet::from);
    let expected: BTreeSet<IpNet> = known.carries.keys().copied().chain(own).filter(is_meant).collect();
    let taken: BTreeSet<IpNet> = seen.just_taken(id, now).collect();
    let may_lag = |net: &IpNet| taken.contains(net) || seen.has_just_come(id, *net, now);
    match expected == shown {
        true => Comparison::Same,
        false if expected.symmetric_difference(&shown).all(may_lag) => Comparison::MayLag,
        false => Comparison::Other,
    }
}

/// An address of full length, or a prefix.
fn net_of(text: &str) -> Option<IpNet> {
    text.parse::<IpAddr>().map(IpNet::from).or_else(|_| text.parse()).ok()
}
