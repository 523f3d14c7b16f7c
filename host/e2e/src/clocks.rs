//! A daemon whose clocks a test sets, while the machine's own go on.
//!
//! The wall clock is the C library's, replaced by libfaketime; the two that count from the boot are a time namespace's, which
//! can only be chosen at a start.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::scratch;

/// A day, in seconds.
pub const DAY: i64 = 86_400;

/// The clocks that a daemon is started with.
#[derive(Debug)]
pub struct Clocks {
    directory: TempDir,
    /// How far ahead of the machine's, in seconds.
    boottime: i64,
    monotonic: i64,
}

impl Clocks {
    /// The machine's.
    ///
    /// # Errors
    /// When there is no place for the file that the wall clock is set by.
    pub fn new() -> anyhow::Result<Self> {
        let clocks = Self { directory: scratch::directory()?, boottime: 0, monotonic: 0 };
        clocks.set_wall(0)?;
        Ok(clocks)
    }

    /// Sets the wall clock so many seconds ahead, also of a daemon that runs.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn set_wall(&self, ahead: i64) -> anyhow::Result<()> {
        // Never read half written.
        let draft = self.directory.path().join("draft");
        fs::write(&draft, format!("{ahead:+}"))?;
        Ok(fs::rename(draft, self.wall())?)
    }

    fn wall(&self) -> PathBuf {
        self.directory.path().join("wall")
    }

    /// Lets the next start see so many seconds of suspend and of running time more than there were.
    pub fn set(&mut self, boottime: i64, monotonic: i64) {
        (self.boottime, self.monotonic) = (boottime, monotonic);
    }

    /// The words that start a daemon with these clocks.
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
