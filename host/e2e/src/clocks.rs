//! Sets a daemon's clocks without touching those of the machine.
//!
//! libfaketime replaces the C library's wall clock. The two clocks that count from the boot come from a time namespace, which
//! can be chosen only when the process starts.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::scratch;

/// A day, in seconds.
pub const DAY: i64 = 86_400;

/// The clocks of a daemon.
#[derive(Debug)]
pub struct Clocks {
    directory: TempDir,
    /// Seconds ahead of the machine's clock.
    boottime: i64,
    monotonic: i64,
}

impl Clocks {
    /// The machine's clocks.
    ///
    /// # Errors
    /// When the file that controls the wall clock cannot be created.
    pub fn new() -> anyhow::Result<Self> {
        let clocks = Self { directory: scratch::directory()?, boottime: 0, monotonic: 0 };
        clocks.set_wall(0)?;
        Ok(clocks)
    }

    /// Sets the wall clock some seconds ahead, also for a running daemon.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn set_wall(&self, ahead: i64) -> anyhow::Result<()> {
        // Write and rename, so that a reader never sees a partial file.
        let draft = self.directory.path().join("draft");
        fs::write(&draft, format!("{ahead:+}"))?;
        Ok(fs::rename(draft, self.wall())?)
    }

    fn wall(&self) -> PathBuf {
        self.directory.path().join("wall")
    }

    /// Sets the boot clock and the monotonic clock some seconds ahead for the next start.
    pub fn set(&mut self, boottime: i64, monotonic: i64) {
        (self.boottime, self.monotonic) = (boottime, monotonic);
    }

    /// The command line that starts a daemon with these clocks.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words = vec!["env".to_owned()];
        // The loader replaces `$LIB`.
        words.push("LD_PRELOAD=/usr/$LIB/faketime/libfaketime.so.1".to_owned());
        words.push(format!("FAKETIME_TIMESTAMP_FILE={}", self.wall().display()));
        words.push("FAKETIME_NO_CACHE=1".to_owned());
        words.push("FAKETIME_DONT_FAKE_MONOTONIC=1".to_owned());
        if (self.boottime, self.monotonic) != (0, 0) {
            words.extend(["unshare", "--time", "--boottime"].map(str::to_owned));
            words.push(self.boottime.to_string());
            words.push("--monotonic".to_owned());
            words.push(self.monotonic.to_string());
        }
        words
    }
}
