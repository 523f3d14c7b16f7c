//! The intents that are to be carried out: on the same interface one after the other.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use tenure_ledger::{Book, Intent};

use super::core::Core;
use crate::names;
use crate::steps::range;

/// An intent, whether it was open at the start, and the interface that it changes.
type Entry = (Arc<Intent>, bool, Option<String>);

/// The intents that wait, and the interfaces that are being changed.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<Entry>,
    busy: BTreeSet<String>,
}

impl Queue {
    /// Takes those whose interface nobody changes.
    pub(super) fn ready(&mut self) -> Vec<Entry> {
        let (mut ready, mut rest) = (Vec::new(), VecDeque::new());
        for (intent, is_resumed, key) in self.waiting.drain(..) {
            match key {
                Some(key) if self.busy.contains(&key) => rest.push_back((intent, is_resumed, Some(key))),
                key => {
                    self.busy.extend(key.clone());
                    ready.push((intent, is_resumed, key));
                }
            }
        }
        self.waiting = rest;
        ready
    }

    /// An intent ended.
    pub(super) fn ended(&mut self, key: Option<&str>) {
        if let Some(key) = key {
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
