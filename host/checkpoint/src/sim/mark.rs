//! A witness in memory, which a crash of the disk does not affect.

use std::sync::{Mutex, PoisonError};

use crate::{Durable, Witness};

/// Remembers the last durable end that the checkpoint reported.
#[derive(Debug, Default)]
pub struct Mark(Mutex<Option<Durable>>);

impl Mark {
    /// The last durable end.
    #[must_use]
    pub fn last(&self) -> Option<Durable> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Witness for Mark {
    fn durable(&self, durable: &Durable) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(*durable);
    }
}
