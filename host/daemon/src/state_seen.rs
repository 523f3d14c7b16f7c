//! Tells a state that was lost, in whole or in part, from one that is all there was.
//!
//! The [mark](crate::mark) in the run directory says what was durable last; a boot clears it just when pods end. At a start:
//!
//! | mark of this boot | state | then |
//! |---|---|---|
//! | none, or nothing was recorded yet | any | it is the state; an empty one is a fresh node's |
//! | `seen` | has what the mark says | it is the state |
//! | `seen` | lacks any of that, or is another | lost |
//! | `lost`, or not to be read | any | lost |
//!
//! The mark stays as it is while the state is lost, so that the right state is known when it comes back. With the first record of
//! a state that nobody has confirmed it becomes `lost`: from then on no state has everything, and only somebody's word helps.

use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tenure_checkpoint::{Durable, Report, Witness};
use tenure_types::BootId;

use crate::mark::{Mark, Pen};

/// What is known of the state, and the mark that outlives the daemon.
#[derive(Debug)]
pub(crate) struct StateSeen {
    /// Held while the mark is written, which is once for each sync of the log.
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    pen: Pen,
    lost: bool,
    /// The last record that was found at the start.
    found: u64,
    /// What is durable now.
    durable: Option<Durable>,
    /// Whether the mark says so.
    marked: bool,
}

impl StateSeen {
    /// Compares what recovery found with the mark; the report says whether what the mark knows of is there.
    pub(crate) fn new(run_dir: &Path, boot: &BootId, mark: Mark, report: &Report) -> Self {
        let lost = match mark {
            Mark::None => false,
            Mark::Seen(Some(_)) => report.lost,
            Mark::Seen(None) => report.last == 0,
            Mark::Lost | Mark::Unreadable => true,
        };
        let pen = Pen::new(run_dir, boot);
        Self { known: Mutex::new(Known { pen, lost, found: report.last, durable: None, marked: true }) }
    }

    /// Whether the state was lost and nobody has confirmed what there is now.
    pub(crate) fn is_lost(&self) -> bool {
        self.known().lost
    }

    /// Takes the state for what it is. Says whether it was lost.
    ///
    /// # Errors
    /// When the mark cannot be changed; then nothing is.
    pub(crate) fn adopt(&self) -> io::Result<bool> {
        let mut known = self.known();
        if !known.lost {
            return Ok(false);
        }
        let durable = known.durable.ok_or_else(|| io::Error::other("nothing is durable yet"))?;
        known.pen.write(false, &durable)?;
        known.lost = false;
        Ok(true)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Witness for StateSeen {
    fn durable(&self, durable: &Durable) {
        let mut known = self.known();
        known.durable = Some(*durable);
        if known.lost && durable.fact <= known.found {
            return;
        }
        let lost = known.lost;
        let written = known.pen.write(lost, durable);
        // Told when it changes, not with each sync.
        match &written {
            Err(error) if known.marked => {
                let path = known.pen.path().display();
                tracing::warn!(%path, %error, "the mark of the state cannot be written; a later loss of state may go undetected");
            }
            _ => {}
        }
        known.marked = written.is_ok();
    }
}

#[cfg(test)]
mod tests;
