//! Locks a directory for one daemon: its state directory, and its run directory.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

/// How often a lock is tried that a dead process has taken, and the pause between two tries: two seconds in all.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// The lock of a directory. It is released when it is dropped or the process ends in any way.
#[derive(Debug)]
pub struct Lock {
    // The kernel holds the lock as long as this is open; nothing reads it.
    _file: fs::File,
}

/// Why a directory cannot be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another daemon has locked it.
    #[error(
        "{} is in use by process {holder}: stop that daemon, or start this one with another --run-dir and --state-dir",
        directory.display()
    )]
    Held {
        /// The directory.
        directory: PathBuf,
        /// The process that has locked it, according to the lock file.
        holder: String,
    },
    /// The lock file cannot be used.
    #[error("cannot use the lock file: {0}")]
    Io(#[from] io::Error),
}

impl Lock {
    /// The name of the lock file. The process that takes the lock writes to it.
    pub const FILE: &str = "lock";

    /// Locks an existing directory; fails immediately if another daemon has locked it.
    ///
    /// A child that a daemon has just started shares its lock until the child runs its own program. If the daemon was killed at that
    /// moment, the lock outlives it by milliseconds: a start right after it waits for that, and does not fail.
    ///
    /// # Errors
    /// [`LockError::Held`] names the process that has locked it.
    #[expect(
        clippy::disallowed_methods,
        reason = "the kernel tells nobody when a lock that was tried in vain becomes free"
    )]
    pub fn take(directory: &Path) -> Result<Self, LockError> {
        let path = directory.join(Self::FILE);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        let mut tries = 1;
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK) => {}
                Err(error) => return Err(LockError::Io(error.into())),
            }
            let holder = fs::read_to_string(&path).unwrap_or_default();
            let holder = if holder.trim().is_empty() { "unknown" } else { holder.trim() };
            if tries == TRIES || !is_dead(holder) {
                return Err(LockError::Held { directory: directory.to_owned(), holder: holder.to_owned() });
            }
            tries += 1;
            thread::sleep(PAUSE);
        }
        // A full disk must not prevent a start: the process id is only for people.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Self { _file: file })
    }
}

/// Whether this is the number of a process, and there is none of that number any more.
fn is_dead(holder: &str) -> bool {
    holder.parse::<u32>().is_ok_and(|process| !Path::new("/proc").join(process.to_string()).exists())
}

#[cfg(test)]
mod tests {
    use super::is_dead;

    #[test]
    fn only_the_number_of_no_process_is_that_of_a_dead_one() {
        assert!(!is_dead(&std::process::id().to_string()));
        assert!(!is_dead("unknown"), "nobody has written to the file yet");
        assert!(is_dead(&u32::MAX.to_string()), "no process has it");
    }
}
