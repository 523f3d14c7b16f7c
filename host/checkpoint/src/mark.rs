//! The mark in the run directory: what was last durable in this boot, recorded outside the state directory.
//!
//! `<run-dir>/state-seen` is one line, `crc32c boot word fact log length group checksum`, overwritten in place by a single
//! write after each sync of the log. It need not be synced itself, because a reboot clears it anyway. A second line, which older daemons neither
//! write nor read, says [where the boot's id comes from](BootSource).

#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use tenure_types::BootId;

use crate::{BootSource, Durable, RecoveryReport};

const NAME: &str = "state-seen";
const SEEN: &str = "seen";
const LOST: &str = "lost";

/// The content of the mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// There is no mark, or it is from another boot: a reboot has ended every pod since.
    None,
    /// The latest durable state; `None` if an older daemon recorded only that there is one.
    Seen(Option<Durable>),
    /// The previous state is lost, and facts have been written since without anyone confirming that the state is complete.
    Lost,
    /// The mark cannot be decoded, so it may be from this boot.
    Unreadable,
}

impl Mark {
    /// Reads the mark.
    ///
    /// # Errors
    /// If there is a mark and its file cannot be read.
    pub fn read(run_dir: &Path, boot: &BootId) -> io::Result<Self> {
        match fs::read(run_dir.join(NAME)) {
            Ok(bytes) => Ok(Self::parse(&String::from_utf8_lossy(&bytes), boot)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::None),
            Err(error) => Err(error),
        }
    }

    /// Reads which boot the mark is from; `None` if there is none that can be decoded.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn boot(run_dir: &Path) -> io::Result<Option<BootId>> {
        match fs::read(run_dir.join(NAME)) {
            Ok(bytes) => {
                Ok(read_line(&String::from_utf8_lossy(&bytes)).map(|(boot, _)| BootId(boot.to_owned())))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The boot that runs: the one that the source names, or that of the mark if the source stands for the same boot. The id of another file is not a
    /// reboot while the kernel is the same; the next change in that file is one.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn running_boot(run_dir: &Path, source: &BootSource) -> io::Result<BootId> {
        let text = match fs::read(run_dir.join(NAME)) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let before = text.lines().nth(1).and_then(BootSource::parse);
        let marked = read_line(&text).filter(|_| before.is_some_and(|before| before.goes_on_as(source)));
        Ok(marked.map_or_else(|| source.id.clone(), |(boot, _)| BootId(boot.to_owned())))
    }

    fn parse(text: &str, boot: &BootId) -> Self {
        let (of, mark) = read_line(text).unwrap_or((boot.0.as_str(), Self::Unreadable));
        if of == boot.0 { mark } else { Self::None }
    }

    /// Returns the facts that a complete state must contain, if that is known.
    #[must_use]
    pub fn durable(&self) -> Option<&Durable> {
        match self {
            Self::Seen(durable) => durable.as_ref(),
            Self::None | Self::Lost | Self::Unreadable => None,
        }
    }

    /// Whether the state was lost, in whole or in part, and nobody has confirmed it since: by this mark, and by the report of a recovery
    /// [after](crate::recover_after) what it says was durable.
    #[must_use]
    pub fn is_lost(&self, report: &RecoveryReport) -> bool {
        match self {
            Self::None => false,
            Self::Seen(Some(_)) => report.lost,
            Self::Seen(None) => report.last == 0,
            Self::Lost | Self::Unreadable => true,
        }
    }
}

/// The boot that the first line is from, and the mark.
fn read_line(text: &str) -> Option<(&str, Mark)> {
    let line = text.lines().next().unwrap_or_default();
    match *line.split(' ').collect::<Vec<_>>() {
        // The format of older daemons.
        [of, SEEN] => Some((of, Mark::Seen(None))),
        [of, LOST] => Some((of, Mark::Lost)),
        _ => decode(line),
    }
}

/// The same for the present format.
fn decode(line: &str) -> Option<(&str, Mark)> {
    let (checksum, body) = line.split_once(' ')?;
    if u32::from_str_radix(checksum, 16) != Ok(crc32c::crc32c(body.as_bytes())) {
        return None;
    }
    let [boot, word, fact, log, length, group, checksum] = *body.split(' ').collect::<Vec<_>>() else {
        return None;
    };
    let number = |text: &str| text.parse::<u64>().ok();
    let durable = Durable {
        fact: number(fact)?,
        log: number(log)?,
        length: number(length)?,
        group: number(group)?,
        checksum: u32::from_str_radix(checksum, 16).ok()?,
    };
    match word {
        LOST => Some((boot, Mark::Lost)),
        SEEN => Some((boot, Mark::Seen(Some(durable)))),
        _ => None,
    }
}

/// The mark's line, which always has the same length in a boot.
fn line(boot: &BootId, lost: bool, durable: &Durable) -> String {
    let Durable { fact, log, length, group, checksum } = durable;
    let word = if lost { LOST } else { SEEN };
    let body = format!("{} {word} {fact:020} {log:020} {length:020} {group:020} {checksum:08x}", boot.0);
    format!("{:08x} {body}\n", crc32c::crc32c(body.as_bytes()))
}

/// The device and the inode of a file.
type FileIdentity = (u64, u64);

/// Writes the mark.
#[derive(Debug)]
pub struct Pen {
    path: PathBuf,
    boot: BootId,
    source: Option<BootSource>,
    /// The mark's file with its device and inode, once this daemon has created it.
    file: Option<(File, FileIdentity)>,
}

impl Pen {
    /// Writes the mark of this boot in a run directory.
    #[must_use]
    pub fn new(run_dir: &Path, boot: &BootId) -> Self {
        Self { path: run_dir.join(NAME), boot: boot.clone(), source: None, file: None }
    }

    /// Has each mark say where the boot's id comes from.
    #[must_use]
    pub fn with_source(self, source: BootSource) -> Self {
        Self { source: Some(source), ..self }
    }

    /// The mark's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records what is durable, and whether the previous state is lost. A file that is no longer in its place, such as one whose directory was
    /// deleted, is made again: no start would read it.
    ///
    /// # Errors
    /// If the mark cannot be written; it is then unchanged or unreadable.
    pub fn write(&mut self, lost: bool, durable: &Durable) -> io::Result<()> {
        let mut text = line(&self.boot, lost, durable);
        text.extend(self.source.iter().map(BootSource::line));
        let present = self.file.as_ref().filter(|(_, identity)| self.identity() == Some(*identity));
        let written = match present {
            // In effect a single call: if the daemon is killed, the text is either written or not.
            Some((file, _)) => file.write_all_at(text.as_bytes(), 0),
            None => self.replace(text.as_bytes()).map(|file| self.file = Some(file)),
        };
        if written.is_err() {
            self.file = None;
        }
        written
    }

    /// The file that a start would read.
    fn identity(&self) -> Option<FileIdentity> {
        fs::symlink_metadata(&self.path).ok().map(|of| (of.dev(), of.ino()))
    }

    /// Creates the mark's file, replacing the existing one, if any.
    fn replace(&self, text: &[u8]) -> io::Result<(File, FileIdentity)> {
        let draft = self.path.with_extension("tmp");
        let file = File::create(&draft)?;
        file.write_all_at(text, 0)?;
        let of = file.metadata()?;
        fs::rename(draft, &self.path)?;
        Ok((file, (of.dev(), of.ino())))
    }
}
