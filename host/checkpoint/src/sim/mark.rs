//! A witness in memory, which no crash of the disk touches.

use std::sync::{Mutex, PoisonError};

use crate::{Durable, Witness};

/// Remembers how far the log was durable last, by the checkpoint's own word.
#[derive(Debug, Default)]
pub struct Mark(Mutex<Option<Durable>>);

impl Mark {
    /// What was durable last.
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
