//! Tells a state that was lost from one that never was.
//!
//! Once there is a state, `<run-dir>/state-seen` says so, with the boot's id; a boot clears /run just when pods end. At a start:
//!
//! | state | mark of this boot | then |
//! |---|---|---|
//! | something | any but `lost` | it is the state |
//! | nothing | none | there never was one: a fresh node |
//! | nothing | `seen` | it was lost; the mark says `lost` from now on |
//! | any | `lost` | it was lost, and nobody has confirmed what there is now |

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tenure_types::BootId;

const SEEN: &str = "seen";
const LOST: &str = "lost";

/// What is known of the state, and the mark that outlives the daemon.
#[derive(Debug)]
pub(crate) struct StateSeen {
    path: PathBuf,
    boot: BootId,
    /// Held while the mark is written, which is once or twice in a boot.
    known: Mutex<Known>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    /// Whether there is any record.
    records: bool,
    /// Whether the mark says all that it should.
    marked: bool,
    lost: bool,
}

impl StateSeen {
    /// Compares what recovery found with the mark, and keeps in mind what was lost.
    ///
    /// # Errors
    /// When the mark cannot be read, or cannot be written where it was.
    pub(crate) fn open(run_dir: &Path, boot: &BootId, records: bool) -> io::Result<Self> {
        let path = run_dir.join("state-seen");
        let mark = match std::fs::read_to_string(&path) {
            Ok(text) => {
                text.trim_end().strip_prefix(boot.0.as_str()).map(|mark| mark.trim_start().to_owned())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let lost = mark.as_deref() == Some(LOST) || (mark.is_some() && !records);
        let seen = Self {
            path,
            boot: boot.clone(),
            known: Mutex::new(Known { records, marked: mark.is_some(), lost }),
        };
        if lost {
            seen.mark(LOST)?;
        }
        Ok(seen)
    }

    /// Whether the state was lost and nobody has confirmed what there is now.
    pub(crate) fn is_lost(&self) -> bool {
        self.known().lost
    }

    /// Remembers that there is a state, if there is one by now. The run directory is there.
    pub(crate) fn remember(&self, records: bool) {
        let mut known = self.known();
        known.records |= records;
        if !known.records || known.marked {
            return;
        }
        match self.mark(SEEN) {
            Ok(()) => known.marked = true,
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "should the state get lost, that would not be noticed");
            }
        }
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
        if known.records {
            self.mark(SEEN)?;
        } else {
            std::fs::remove_file(&self.path)?;
        }
        *known = Known { marked: known.records, lost: false, ..*known };
        Ok(true)
    }

    fn mark(&self, mark: &str) -> io::Result<()> {
        // Never half a mark. A boot clears it, so it need not be synced.
        let draft = self.path.with_extension("tmp");
        std::fs::write(&draft, format!("{} {mark}\n", self.boot.0))?;
        std::fs::rename(draft, &self.path)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot(id: &str) -> BootId {
        BootId(id.to_owned())
    }

    #[test]
    fn an_empty_state_is_lost_only_where_one_was_seen() {
        let directory = tempfile::tempdir().unwrap();
        let start = |id: &str, records| StateSeen::open(directory.path(), &boot(id), records).unwrap();
        let fresh = start("a", false);
        assert!(!fresh.is_lost());
        fresh.remember(false);
        assert!(!start("a", false).is_lost(), "nothing was ever handed out");
        fresh.remember(true);
        assert!(!start("a", true).is_lost());
        assert!(!start("b", false).is_lost(), "a boot ends every pod, whatever was lost with it");
        assert!(start("a", false).is_lost());
        assert!(start("a", true).is_lost(), "what has come since does not bring back what was lost");
    }

    #[test]
    fn what_was_lost_stays_lost_until_it_is_confirmed() {
        let directory = tempfile::tempdir().unwrap();
        let start = |records| StateSeen::open(directory.path(), &boot("a"), records).unwrap();
        start(true).remember(false);
        let lost = start(false);
        assert!(lost.is_lost());
        assert!(lost.adopt().unwrap());
        assert!(!lost.adopt().unwrap(), "there is nothing left to confirm");
        assert!(!start(false).is_lost(), "it is confirmed to be empty");

        lost.remember(true);
        let imported = start(false);
        imported.remember(true);
        assert!(imported.is_lost() && imported.adopt().unwrap());
        assert!(!start(true).is_lost());
        assert!(start(false).is_lost(), "lost once more");
    }
}
