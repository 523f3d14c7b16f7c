//! A witness in memory, which a crash of the disk does not affect.

use std::sync::Mutex;

use tenure_types::hold;

use crate::{Durable, Witness};

/// Remembers the last durable end that the checkpoint reported.
#[derive(Debug, Default)]
pub struct Mark(Mutex<Option<Durable>>);

impl Mark {
    /// The last durable end.
    #[must_use]
    pub fn last(&self) -> Option<Durable> {
        *hold(&self.0)
    }
}

impl Witness for Mark {
    fn durable(&self, durable: &Durable) {
        *hold(&self.0) = Some(*durable);
    }
}
