//! The way of intents that began without a plan to the loop that carries them out.

use std::sync::{Arc, Mutex};

use tenure_ledger::Intent;
use tenure_types::hold;
use tokio::sync::Notify;

/// Intents that were begun and are durable, until the loop takes them. Behind a `std::sync::Mutex`, held to add and to take.
#[derive(Debug, Default)]
pub(crate) struct BegunIntents {
    intents: Mutex<Vec<Arc<Intent>>>,
    added: Notify,
}

impl BegunIntents {
    /// Adds intents.
    pub(crate) fn add(&self, intents: &[Arc<Intent>]) {
        hold(&self.intents).extend(intents.iter().cloned());
        self.added.notify_one();
    }

    /// Waits until there are some, and takes them.
    pub(crate) async fn taken(&self) -> Vec<Arc<Intent>> {
        self.added.notified().await;
        std::mem::take(&mut *hold(&self.intents))
    }
}
