//! Calls that are held: they have arrived, and wait to be applied or to be answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use tokio::sync::Notify;

use crate::state::Time;

/// A call that is held.
#[derive(Debug, Clone, Serialize)]
pub struct Held {
    /// The call's number among all held calls.
    pub number: u64,
    /// An action, or a path.
    pub call: String,
    /// Whether it was applied, and only its answer is held.
    pub is_applied: bool,
    /// Since when it is held.
    pub since: Time,
    /// Lets it go on.
    #[serde(skip)]
    gate: Arc<Notify>,
}

/// The calls that are held, by their numbers.
#[derive(Debug, Default)]
pub struct Holds {
    calls: BTreeMap<u64, Held>,
    last: u64,
}

impl Holds {
    /// The calls that are held now.
    pub fn all(&self) -> impl Iterator<Item = &Held> {
        self.calls.values()
    }

    /// Lets a call go on; `false` if there is none of that number.
    pub fn release(&self, number: u64) -> bool {
        let held = self.calls.get(&number);
        held.inspect(|held| held.gate.notify_one()).is_some()
    }

    /// Begins to hold a call, and returns its number and what lets it go on.
    pub(crate) fn begin(&mut self, call: &str, is_applied: bool, since: Time) -> (u64, Arc<Notify>) {
        self.last += 1;
        let gate = Arc::new(Notify::new());
        let held =
            Held { number: self.last, call: call.to_owned(), is_applied, since, gate: Arc::clone(&gate) };
        self.calls.insert(self.last, held);
        (self.last, gate)
    }

    /// Ends to hold a call.
    pub(crate) fn end(&mut self, number: u64) {
        self.calls.remove(&number);
    }
}
