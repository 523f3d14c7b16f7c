//! The intents that are to be carried out: on the same interface one after the other.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use tenure_ledger::Intent;

use crate::names;

/// The intents that wait, and the interfaces that are being changed.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<(Arc<Intent>, bool)>,
    busy: BTreeSet<String>,
}

impl Queue {
    /// Adds intents, each with whether it was open at the start.
    pub(super) fn add(&mut self, intents: impl IntoIterator<Item = (Arc<Intent>, bool)>) {
        self.waiting.extend(intents);
    }

    /// Takes those whose interface nobody changes.
    pub(super) fn ready(&mut self) -> Vec<(Arc<Intent>, bool)> {
        let (mut ready, mut rest) = (Vec::new(), VecDeque::new());
        for (intent, is_resumed) in self.waiting.drain(..) {
            match Self::key(&intent) {
                Some(key) if self.busy.contains(&key) => rest.push_back((intent, is_resumed)),
                key => {
                    self.busy.extend(key);
                    ready.push((intent, is_resumed));
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

    /// The interface that an intent changes. Releases name a range: they wait for each other, which costs little.
    pub(super) fn key(intent: &Intent) -> Option<String> {
        let named = intent.attributes.get(names::INTERFACE);
        let released = || intent.attributes.get(names::RANGE).map(|_| "releases");
        named.or_else(released).map(str::to_owned)
    }
}
