//! A file in the run directory that remembers since when sandboxes have been gone, or doubtful, so that a daemon that is restarted again
//! and again still frees their addresses, or puts them into quarantine.
//!
//! The first line is the boot's id, each other one `network generation boot_ns wall_ms since_ns`: an allocation, by its last
//! request, and the reading of `CLOCK_MONOTONIC` at the first look that found its sandbox gone. The file is replaced whenever that
//! changes, and need not be synced. A file that cannot be read means only that the grace periods begin again.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::time::Duration;

use tenure_types::{BootId, Generation, Moment, NetworkName};

/// Since when each allocation's sandbox has been gone.
pub(crate) type GoneSince = HashMap<GoneKey, Duration>;

/// An allocation, by its last request.
pub(crate) type GoneKey = (NetworkName, Generation, Moment);

/// The file.
#[derive(Debug)]
pub(crate) struct GoneFile {
    path: PathBuf,
    boot: BootId,
    /// Whether the last write failed, which is logged once.
    failed: bool,
}

impl GoneFile {
    pub(crate) fn new(path: PathBuf, boot: BootId) -> Self {
        Self { path, boot, failed: false }
    }

    /// Reads the sandboxes that were found gone before `now` in this boot.
    pub(crate) fn read(&self, now: Duration) -> GoneSince {
        match fs::read_to_string(&self.path) {
            Ok(text) => self.parse(&text, now),
            Err(error) => {
                if error.kind() != ErrorKind::NotFound {
                    let path = self.path.display();
                    tracing::warn!(%path, %error, "cannot read since when sandboxes have been missing; their periods begin again");
                }
                GoneSince::new()
            }
        }
    }

    fn parse(&self, text: &str, now: Duration) -> GoneSince {
        let mut lines = text.lines();
        if lines.next() != Some(self.boot.0.as_str()) {
            return GoneSince::new();
        }
        lines.filter_map(entry).filter(|(_, since)| *since <= now).collect()
    }

    /// Replaces the file.
    pub(crate) fn write(&mut self, gone: &GoneSince) {
        let written = self.replace(gone);
        if let Err(error) = &written
            && !self.failed
        {
            let path = self.path.display();
            tracing::warn!(%path, %error, "cannot record since when sandboxes have been missing; a restart begins their periods again");
        }
        self.failed = written.is_err();
    }

    fn replace(&self, gone: &GoneSince) -> io::Result<()> {
        let mut text = format!("{}\n", self.boot.0);
        for ((network, generation, requested_at), since) in gone {
            let Moment { boot_ns, wall_ms } = requested_at;
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{network} {generation} {boot_ns} {wall_ms} {}", since.as_nanos());
        }
        let draft = self.path.with_extension("draft");
        fs::write(&draft, text)?;
        fs::rename(&draft, &self.path)
    }
}

fn entry(line: &str) -> Option<(GoneKey, Duration)> {
    let [network, generation, boot_ns, wall_ms, since] = *line.split(' ').collect::<Vec<_>>() else {
        return None;
    };
    let number = |text: &str| text.parse::<u64>().ok();
    let requested_at = Moment { boot_ns: number(boot_ns)?, wall_ms: number(wall_ms)? };
    let key = (NetworkName::new(network).ok()?, Generation(number(generation)?), requested_at);
    Some((key, Duration::from_nanos(number(since)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_was_written_in_its_boot() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gone");
        let file = |boot: &str| GoneFile::new(path.clone(), BootId(boot.to_owned()));
        let key = |number| {
            let requested_at = Moment { boot_ns: number, wall_ms: 5 };
            (NetworkName::new("net").unwrap(), Generation(number), requested_at)
        };
        let gone = GoneSince::from([(key(1), Duration::from_nanos(7)), (key(2), Duration::from_secs(9))]);
        let later = Duration::from_secs(10);
        assert_eq!(file("a").read(later), GoneSince::new());
        file("a").write(&gone);
        assert_eq!(file("a").read(later), gone);
        assert_eq!(file("b").read(later), GoneSince::new(), "another boot");
        assert_eq!(file("a").read(Duration::from_secs(1)).len(), 1, "nothing is gone since later");
        fs::write(&path, "a\nnet 1 1 5\nnonsense\nnet 1 1 5 7\n").unwrap();
        assert_eq!(file("a").read(later).len(), 1);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no draft is left");
    }
}
