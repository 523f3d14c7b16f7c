//! The records that a start has read in the run directory if it found its state lost. Nothing there changes until something is recorded in that state, so
//! that the right one is recognised; what somebody deletes meanwhile is put back as it was.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::claims_seen;

/// The records of a state that is lost.
#[derive(Debug)]
pub(super) struct FoundRecords {
    /// The last fact of the state that was found instead.
    pub(super) last: u64,
    /// Each file that was there, with its content.
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl FoundRecords {
    /// Reads them. The mark comes last: without it, the next start would not look for the others.
    pub(super) fn read(mark: &Path, last: u64) -> Self {
        let paths = [mark.with_file_name(claims_seen::NAME), mark.to_owned()];
        let files = paths.into_iter().filter_map(|path| fs::read(&path).ok().map(|bytes| (path, bytes)));
        Self { last, files: files.collect() }
    }

    /// Puts back those that are gone.
    ///
    /// # Errors
    /// If one cannot be written.
    pub(super) fn put_back(&self) -> io::Result<()> {
        let gone = |path: &Path| fs::symlink_metadata(path).is_err();
        for (path, bytes) in self.files.iter().filter(|(path, _)| gone(path)) {
            let draft = path.with_extension("tmp");
            fs::write(&draft, bytes)?;
            fs::rename(draft, path)?;
        }
        Ok(())
    }
}
