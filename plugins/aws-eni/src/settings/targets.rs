//! The list `targets`: other warm targets where, and as long as, conditions hold.
//!
//! The first entry whose conditions all hold is in force, with a `warm` of its own instead of the network's. An entry that could never be
//! in force is refused.

mod conditions;
mod window;

use tenure_sdk::{ConfigError, Node};

use self::conditions::{CONDITIONS, TargetConditions};
use super::warm::{Warm, WarmTarget};
use crate::present::Present;

/// The key of an entry's own targets.
const WARM: &str = "warm";

/// The entries, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Targets(Vec<TargetEntry>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct TargetEntry {
    conditions: TargetConditions,
    warm: Warm,
}

/// The present warm target, and the entry that sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InForce {
    /// The warm target.
    pub warm: Warm,
    /// Which entry says so, for people; nothing if there are no entries.
    pub words: Option<String>,
}

impl Targets {
    /// Reads the list; `prefixes` is the network's setting.
    ///
    /// # Errors
    /// With the path of what is wrong.
    pub(super) fn read(list: Option<&Node>, prefixes: bool) -> Result<Self, ConfigError> {
        let mut entries: Vec<TargetEntry> = Vec::new();
        for node in list.map(Node::items).transpose()?.unwrap_or_default() {
            let entry = TargetEntry::read(&node, prefixes)?;
            let number = entries.len() + 1;
            let covers = |(_, before): &(usize, &TargetEntry)| before.conditions.cover(&entry.conditions);
            if let Some((before, _)) = (1..).zip(&entries).find(covers) {
                let message = format!(
                    "entry {number} is never in force, because entry {before} is whenever it could be"
                );
                return Err(node.wrong(message));
            }
            entries.push(entry);
        }
        Ok(Self(entries))
    }

    /// Finds the warm target in force at present; `usual` if no entry is.
    pub(super) fn in_force(&self, usual: Warm, present: &Present<'_>) -> InForce {
        let holds = |(_, entry): &(usize, &TargetEntry)| entry.conditions.hold(present);
        match (1..).zip(&self.0).find(holds) {
            Some((number, entry)) => {
                let words = format!("targets: entry {number} ({})", entry.conditions.words());
                InForce { warm: entry.warm, words: Some(words) }
            }
            None => {
                let words = (!self.0.is_empty()).then(|| "targets: no entry".to_owned());
                InForce { warm: usual, words }
            }
        }
    }
}

impl TargetEntry {
    fn read(node: &Node, prefixes: bool) -> Result<Self, ConfigError> {
        for (name, value) in node.entries()? {
            if !CONDITIONS.iter().chain(&[WARM]).any(|known| known.eq_ignore_ascii_case(&name)) {
                let message = format!(
                    "is not a condition; there are {}, and {WARM} for the targets",
                    CONDITIONS.join(", ")
                );
                return Err(value.wrong(message));
            }
        }
        let conditions = TargetConditions::read(node)?;
        let Some(table) = node.get(WARM)? else {
            return Err(node.wrong(format!("has no {WARM}, which says what should be free")));
        };
        let warm = Warm::read(&table)?;
        let only_prefixes = table.entries()?.iter().all(|(name, _)| name.eq_ignore_ascii_case("prefixes"));
        if only_prefixes && !prefixes {
            return Err(table.wrong("has only prefixes, which count with ipam.prefixes"));
        }
        if prefixes && warm.target(true) == WarmTarget::Prefixes(0) {
            let message = "with ipam.prefixes, needs one of prefixes, addresses and minimum above 0";
            return Err(table.wrong(message));
        }
        Ok(Self { conditions, warm })
    }
}
