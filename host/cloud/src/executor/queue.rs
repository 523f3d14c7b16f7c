//! The intents that are to be carried out: on the same interface one after the other, but what is released together.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tenure_ledger::{Book, Intent};
use tenure_types::EffectKind;

use super::core::Core;
use crate::names;
use crate::steps::range;

/// An intent, whether it was open at the start, and the interface that it changes.
type Entry = (Arc<Intent>, bool, Option<String>);

/// The intents that wait, and the interfaces that are being changed.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<Entry>,
    /// How many intents change an interface now; more than one only if all of them release something.
    busy: BTreeMap<String, (bool, usize)>,
}

impl Queue {
    /// Takes those that may begin: on the same interface in their order, and releases together.
    pub(super) fn ready(&mut self) -> Vec<Entry> {
        let (mut ready, mut rest) = (Vec::new(), VecDeque::new());
        let mut behind = BTreeSet::new();
        for entry in self.waiting.drain(..) {
            let Some(key) = entry.2.clone() else {
                ready.push(entry);
                continue;
            };
            let releases = matches!(entry.0.kind, EffectKind::ReleaseAddress | EffectKind::ReleasePrefix);
            let (of_busy, count) = self.busy.get(&key).copied().unwrap_or((releases, 0));
            if behind.contains(&key) || (count > 0 && !(releases && of_busy)) {
                behind.insert(key);
                rest.push_back(entry);
            } else {
                self.busy.insert(key, (releases, count + 1));
                ready.push(entry);
            }
        }
        self.waiting = rest;
        ready
    }

    /// An intent ended.
    pub(super) fn ended(&mut self, key: Option<&str>) {
        let Some((key, (_, count))) = key.and_then(|key| Some((key, self.busy.get_mut(key)?))) else {
            return;
        };
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.busy.remove(key);
        }
    }
}

impl Core {
    /// Adds intents to a queue.
    pub(super) async fn queue(&self, queue: &mut Queue, intents: Vec<Arc<Intent>>, are_resumed: bool) {
        if intents.is_empty() {
            return;
        }
        let book = self.book().await;
        for intent in intents {
            let key = interface_of(&intent, book.as_deref());
            queue.waiting.push_back((intent, are_resumed, key));
        }
    }
}

/// The interface that an intent changes; `None` if it makes one.
fn interface_of(intent: &Intent, book: Option<&Book>) -> Option<String> {
    let named = intent.attributes.get(names::INTERFACE);
    let released = || {
        let range = range(book?, intent.attributes.get(names::RANGE)?)?;
        range.attributes().get(names::INTERFACE)
    };
    named.or_else(released).map(str::to_owned)
}
