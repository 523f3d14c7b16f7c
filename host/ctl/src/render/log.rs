//! The lines of the log, for people and for programs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use tenure_checkpoint::{Line, LogHeader, LogItem};
use tenure_ledger::{
    ChoiceFact, ClaimFact, Component, ComponentFact, Delegation, DelegationFact, EffectFact, Fact, Intent,
    LedgerFact, Move, MoveEnd, MoveFact, PolicyState, Presence, StateFact, Step,
};
use tenure_types::{Allocation, End, Generation, Moment, Network, NetworkName, Object, Owner};

use super::parts::{clean, short};

/// Allocations, as they are shown.
type Live = BTreeMap<(NetworkName, Generation), String>;

/// Formats lines. It keeps the live allocations, because a release names only a generation, and a reboot ends attachments
/// without a record for each.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    live: Live,
    /// Those that a reboot does not end.
    lasting: Live,
    /// The boot of the last segment.
    boot: Option<String>,
}

impl Lines {
    /// An item's lines; empty for a further segment of the same boot.
    pub(crate) fn text(&mut self, item: &LogItem) -> String {
        match item {
            LogItem::Segment(header) => self.segment(header),
            LogItem::Fact { place, fact: Some(fact), .. } => {
                let (at, what) = self.fact(fact);
                format!(
                    "{:<24}  #{place:<6} {:<12} {what}\n",
                    time(at),
                    fact.network().map_or_else(|| "-".to_owned(), |network| clean(network.as_str()))
                )
            }
            LogItem::Fact { place, fact: None, line, .. } => {
                format!("{:<24}  #{place:<6} {:<12} {}\n", "-", "-", unknown(line))
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
                let mut text = format!("{}\n", json!({ "log": header }));
                for (network, generation) in self.enter(header).unwrap_or_default().into_keys() {
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
                if let Some(fact) = fact {
                    self.fact(fact);
                }
                let Line { chapter, version, json, .. } = line;
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
            Fact::Choices(ChoiceFact::Chosen { choice, .. }) => {
                let why =
                    if choice.why.is_empty() { String::new() } else { format!(": {}", clean(&choice.why)) };
                (choice.at, format!("{:<10} {} by {}{why}", "chosen", choice.policy, choice.by.name()))
            }
            Fact::Choices(ChoiceFact::Noted { step: Step { kind, policy, at, why }, .. }) => {
                let why = if why.is_empty() { String::new() } else { format!(": {}", clean(why)) };
                (*at, format!("{:<10} {policy}{why}", kind.name()))
            }
            Fact::Components(ComponentFact::Loaded(Component { policy, source, at, .. })) => {
                (*at, format!("{:<10} {policy} from {}", "loaded", clean(source)))
            }
            Fact::Components(ComponentFact::Unloaded { policy, at }) => {
                (*at, format!("{:<10} {policy}", "unloaded"))
            }
            Fact::Claims(fact) => claim(fact),
            Fact::States(StateFact::Kept { state, .. }) => (state.at, states("kept", state)),
            Fact::States(StateFact::Undone { state, .. }) => (state.at, states("undone", state)),
            Fact::Delegations(fact) => delegation(fact),
            Fact::Effects(fact) => effect(fact),
            Fact::Moves(fact) => moved(fact),
            Fact::States(StateFact::Forgotten { at, .. }) => (*at, format!("{:<10} the states", "forgotten")),
            Fact::Choices(ChoiceFact::Undone { choice, at, .. }) => {
                (*at, format!("{:<10} the exchange; {} serves again", "undone", choice.policy))
            }
            Fact::Choices(ChoiceFact::Forgotten { at, .. }) => {
                (*at, format!("{:<10} the policy", "forgotten"))
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
        }
    }
}

fn effect(fact: &EffectFact) -> (Moment, String) {
    match fact {
        EffectFact::Intended(Intent { id, pool, kind, attributes, since, .. }) => {
            let what = format!("{} for pool {pool} ({attributes})", kind.name());
            (*since, format!("{:<10} {} as {id}", "intended", clean(&what)))
        }
        EffectFact::Reached { id, reached, at, .. } => {
            (*at, format!("{:<10} {id}: {}", "reached", clean(&reached.to_string())))
        }
        EffectFact::Done { id, at, .. } => (*at, format!("{:<10} {id}", "done")),
        EffectFact::Undone { id, why, at, .. } => (*at, format!("{:<10} {id}: {}", "undone", clean(why))),
        EffectFact::Seen { object: Object { kind, name, attributes }, at } => {
            let object = format!("{kind} {name} ({attributes})");
            (*at, format!("{:<10} {}", "seen", clean(&object)))
        }
        EffectFact::Gone { kind, name, at } => {
            (*at, format!("{:<10} {} {}", "gone", clean(kind), clean(name)))
        }
    }
}

fn moved(fact: &MoveFact) -> (Moment, String) {
    match fact {
        MoveFact::Begun(Move { source, by, entries, at, .. }) => {
            let by = if by.is_empty() { String::new() } else { format!(", by {}", clean(by)) };
            (*at, format!("{:<10} an import from {}{by}: {entries} entries", "began", clean(source)))
        }
        MoveFact::Reached { source, reached, at, .. } => {
            (*at, format!("{:<10} entry {reached} of {}", "reached", clean(source)))
        }
        MoveFact::Ended { source, end, why, at, .. } => {
            let why = if why.is_empty() { String::new() } else { format!(": {}", clean(why)) };
            let what = match end {
                MoveEnd::Finished => "ended",
                MoveEnd::Abandoned => "abandoned",
            };
            (*at, format!("{what:<10} the import from {}{why}", clean(source)))
        }
        MoveFact::Deleted { owner, at, .. } => {
            (*at, format!("{:<10} {}, which has no addresses here", "deleted", clean(&owner.to_string())))
        }
        MoveFact::Forgotten { at, .. } => (*at, format!("{:<10} where the addresses came from", "forgotten")),
    }
}

fn delegation(fact: &DelegationFact) -> (Moment, String) {
    let owner = clean(&fact.owner().to_string());
    match fact {
        DelegationFact::Asked(Delegation { delegate, since, .. }) => {
            (*since, format!("{:<10} delegate {delegate} for {owner}", "asked"))
        }
        DelegationFact::Given { given, at, .. } => {
            let addresses: Vec<_> = given.addresses.iter().map(ToString::to_string).collect();
            (*at, format!("{:<10} {} to {owner} by its delegate", "given", addresses.join(", ")))
        }
        DelegationFact::Ended { at, .. } => {
            (*at, format!("{:<10} the delegate has nothing for {owner} any more", "ended"))
        }
    }
}

fn claim(fact: &ClaimFact) -> (Moment, String) {
    let of = |what: &str| format!("{what:<10} claim {} of {}", fact.key().name, fact.key().agent);
    match fact {
        ClaimFact::Claimed(claim) => {
            let (Presence::Here(at) | Presence::Reserved(at)) = claim.presence;
            let lease = claim.wish.lease.map(|lease| format!(", lease {} s", lease.as_secs()));
            (at, format!("{}{}", of("claimed"), lease.unwrap_or_default()))
        }
        ClaimFact::Confirmed { at, .. } => (*at, of("confirmed")),
        ClaimFact::Released { at, reason, .. } => (*at, format!("{} ({})", of("unclaimed"), clean(reason))),
    }
}

fn defined(network: &Network) -> String {
    let pools: Vec<_> = network.pools.iter().map(|pool| format!("{} ({})", pool.name, pool.supply)).collect();
    format!("{:<10} pools {} by {}", "defined", pools.join(", "), network.defined_by.name())
}

/// A fact that this version does not know.
fn unknown(Line { chapter, version, json, .. }: &Line) -> String {
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

/// A state that is in force from now on.
fn states(verb: &str, state: &PolicyState) -> String {
    format!("{verb:<10} state version {} of {}, {} B", state.version, state.policy, state.bytes.len())
}

#[cfg(test)]
mod tests;
