//! The intents that are to be carried out: on the same target one after the other, but what shares it together.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tenure_ledger::Intent;
use tenure_types::IntentId;

/// The object outside that an intent changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    /// Name of the object; `None` if the intent makes a new one, which cannot conflict with another.
    pub name: Option<String>,
    /// Whether other intents that share the target may change it at the same time.
    pub shares: bool,
}

/// An intent, whether it was open at the start, and what it changes.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) intent: Arc<Intent>,
    pub(crate) is_resumed: bool,
    pub(crate) target: Target,
}

/// The intents that wait, and the targets that are being changed.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Entry>,
    /// The intents that wait or are being carried out.
    known: BTreeSet<IntentId>,
    /// How many intents change a target now; more than one only if all of them share it.
    busy: BTreeMap<String, (bool, usize)>,
}

impl Queue {
    /// Adds an intent, unless it is there already.
    pub(crate) fn push(&mut self, entry: Entry) {
        if self.known.insert(entry.intent.id.clone()) {
            self.waiting.push_back(entry);
        }
    }

    /// Takes those that may begin: on the same target in their order, and what shares it together.
    pub(crate) fn ready(&mut self) -> Vec<Entry> {
        let (mut ready, mut rest) = (Vec::new(), VecDeque::new());
        let mut behind = BTreeSet::new();
        for entry in self.waiting.drain(..) {
            let Some(key) = entry.target.name.clone() else {
                ready.push(entry);
                continue;
            };
            let shares = entry.target.shares;
            let (shared, count) = self.busy.get(&key).copied().unwrap_or((shares, 0));
            if behind.contains(&key) || (count > 0 && !(shares && shared)) {
                behind.insert(key);
                rest.push_back(entry);
            } else {
                self.busy.insert(key, (shares, count + 1));
                ready.push(entry);
            }
        }
        self.waiting = rest;
        ready
    }

    /// An intent on this target ended.
    pub(crate) fn ended(&mut self, id: &IntentId, target: &Target) {
        self.known.remove(id);
        let busy = target.name.as_ref().and_then(|key| Some((key, self.busy.get_mut(key)?)));
        let Some((key, (_, count))) = busy else { return };
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.busy.remove(key);
        }
    }
}
