//! The chapter `effects`: what the host has begun to do outside the ledger, and what it knows of the outside.
//!
//! An effect begins with an intent, which is durable before anything is done, and ends when it is done, together with
//! what it brought to a pool's supply, or when it is undone. In between, each answer from the outside that a later step
//! needs is a fact: after a crash the host compares what it sees with the intent, and goes on or undoes.
//!
//! ```text
//!        intended           reached, as often as it needs          ended (with the ranges that it brought or took)
//!  none ──────────▶ open ───────────────▶ open ───────────────────────────────────▶ none
//! ```
//!
//! Intents and objects outlive a boot, as what they are about does.

mod fact;
mod intent;

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_types::{IntentId, NetworkName, Object};

pub use self::fact::EffectFact;
pub use self::intent::{Intent, IntentOrigin, Taken};

/// The key of an object: its kind and its name.
type ObjectKey = (String, String);

/// All open intents and known objects of a node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Effects {
    through: u64,
    open: BTreeMap<IntentId, Arc<Intent>>,
    objects: BTreeMap<ObjectKey, Arc<Object>>,
}

impl Effects {
    /// Restores the state of a snapshot, which is current as of a place in the log.
    #[must_use]
    pub fn restore(
        through: u64,
        open: impl IntoIterator<Item = Intent>,
        objects: impl IntoIterator<Item = Object>,
    ) -> Self {
        let mut effects = Self { through, ..Self::default() };
        open.into_iter().for_each(|intent| effects.begin(intent));
        objects.into_iter().for_each(|object| effects.see(object));
        effects
    }

    /// The place in the log that the state is current as of.
    #[must_use]
    pub fn through(&self) -> u64 {
        self.through
    }

    /// The open intents, by id.
    pub fn open(&self) -> impl Iterator<Item = &Arc<Intent>> {
        self.open.values()
    }

    /// The open intents of a network, the oldest first.
    #[must_use]
    pub fn of(&self, network: &NetworkName) -> Vec<Arc<Intent>> {
        let mut of: Vec<_> =
            self.open.values().filter(|intent| intent.network == *network).cloned().collect();
        of.sort_by_key(|intent| intent.since.wall_ms);
        of
    }

    /// An open intent.
    #[must_use]
    pub fn get(&self, id: &IntentId) -> Option<&Arc<Intent>> {
        self.open.get(id)
    }

    /// Lists the known objects outside, by kind and name.
    pub fn objects(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.objects.values()
    }

    /// Applies a fact. A fact applied before, judging by its place in the log, changes nothing.
    pub fn apply(&mut self, place: u64, fact: &EffectFact) {
        if place <= self.through {
            return;
        }
        self.through = place;
        match fact {
            EffectFact::Intended(intent) => self.begin(intent.clone()),
            EffectFact::Reached { id, reached, .. } => {
                if let Some(intent) = self.open.get_mut(id) {
                    Arc::make_mut(intent).reached = reached.clone();
                }
            }
            EffectFact::Done { id, .. } | EffectFact::Undone { id, .. } => _ = self.open.remove(id),
            EffectFact::Seen { object, .. } => self.see(object.clone()),
            EffectFact::Gone { kind, name, .. } => _ = self.objects.remove(&(kind.clone(), name.clone())),
        }
    }

    fn begin(&mut self, intent: Intent) {
        self.open.insert(intent.id.clone(), Arc::new(intent));
    }

    fn see(&mut self, object: Object) {
        self.objects.insert((object.kind.clone(), object.name.clone()), Arc::new(object));
    }
}

#[cfg(test)]
mod tests;
