//! The DELs that the daemon has served in this boot, recorded in the run directory for the next daemon.
//!
//! A DEL may overtake its ADD, which then has to be refused, also by a daemon that was started in between. So each DEL is written
//! to `<run-dir>/dels` before it is answered: one line, which need not be synced, because a reboot ends every ADD. The first line
//! says since when every DEL is in the file. After as long as an ADD may last, or at a bound, the file becomes `dels.before`, and
//! another one begins: both together always reach back far enough.
//!
//! ```text
//! no file, first daemon of this boot ──▶ all DELs are known: earlier ones are in the spool
//! files of this boot, by the daemon  ──▶ all DELs since the older one began are known
//! before this one
//! anything else                      ──▶ only DELs from now on are known
//! ```
//!
//! The file is behind a `std::sync::Mutex`, held for one write of a line.

mod daemon;
mod file;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tenure_engine::ports::{DELS_REMEMBERED, DelRecord, ServedDel};
use tenure_types::{BootId, Moment, NetworkName, Owner, hold};

pub(crate) use self::daemon::{LockTime, LockTimes};
use self::file::{DelsHeader, StoredDels};

/// The most DELs of a file.
const MOST: usize = 50_000;

/// The DELs that earlier daemons have served.
#[derive(Debug)]
pub(crate) struct KnownDels {
    /// All DELs that began at this time or later are known.
    pub(crate) since: Moment,
    /// In the order in which they were served.
    pub(crate) served: Vec<ServedDel>,
}

/// Records DELs in the run directory.
#[derive(Debug)]
pub(crate) struct DelFile {
    path: PathBuf,
    boot: BootId,
    most: usize,
    written: Mutex<OpenDelFile>,
}

/// The file that is being written; `None` after a failure.
#[derive(Debug, Default)]
struct OpenDelFile {
    file: Option<File>,
    /// Time at which the file was begun.
    since: Moment,
    lines: usize,
    /// Whether the last failure was logged.
    told: bool,
}

impl DelFile {
    /// Reads the record, and continues it. `is_first` says that no other daemon has served in this boot.
    pub(crate) fn open(
        run_dir: &Path,
        times: LockTimes,
        boot: &BootId,
        now: Moment,
        is_first: bool,
    ) -> (KnownDels, Arc<Self>) {
        Self::with_most((run_dir, times), boot, now, is_first, MOST)
    }

    fn with_most(
        (run_dir, times): (&Path, LockTimes),
        boot: &BootId,
        now: Moment,
        is_first: bool,
        most: usize,
    ) -> (KnownDels, Arc<Self>) {
        let path = run_dir.join("dels");
        let record = Self { path, boot: boot.clone(), most, written: Mutex::default() };
        if !is_first && !times.continue_from(run_dir) {
            record.forget();
        }
        let read = |path: &Path| {
            file::read(path, boot).inspect_err(|error| {
                let path = path.display();
                tracing::warn!(%path, %error, "cannot use the record of served DELs; ADDs that began before this start are refused");
            })
        };
        let unknown = KnownDels { since: now, served: Vec::new() };
        let known = match (read(&record.before()), read(&record.path)) {
            (Ok(before), Ok(Some(found))) => {
                let (since, lines) = (found.since, found.served.len());
                match record.resume(&found) {
                    Ok(file) => record.set(OpenDelFile { file: Some(file), since, lines, told: false }),
                    Err(error) => record.failed(&mut OpenDelFile::default(), &error),
                }
                joined(before, Some(found), unknown)
            }
            (Ok(before), Ok(None)) => {
                let nothing = KnownDels { since: Moment::default(), served: Vec::new() };
                joined(before, None, if is_first { nothing } else { unknown })
            }
            _ => unknown,
        };
        if record.lock().file.is_none() {
            record.begin_again(&known);
        }
        if let Err(error) = times.note(run_dir) {
            record.failed(&mut record.lock(), &error);
        }
        (known, Arc::new(record))
    }

    /// Removes what does not say everything, because a daemon has served that recorded nothing.
    fn forget(&self) {
        let removed = [self.before(), self.path.clone()].map(|path| fs::remove_file(path).is_ok());
        if removed.contains(&true) {
            tracing::warn!(
                "an older daemon has served since DELs were last recorded; ADDs that began before this start are refused"
            );
        }
    }

    fn before(&self) -> PathBuf {
        self.path.with_extension("before")
    }

    /// Opens the file behind its last whole line.
    fn resume(&self, found: &StoredDels) -> io::Result<File> {
        let file = File::options().append(true).open(&self.path)?;
        file.set_len(found.length)?;
        Ok(file)
    }

    /// Begins a file that reaches back as far as what is known.
    fn begin_again(&self, known: &KnownDels) {
        let mut written = self.lock();
        let begun = self.begin(&mut written, known.since).and_then(|()| {
            known.served.iter().try_for_each(|del| {
                let line = file::line(&del.network, &del.owner, del.began, del.served);
                self.append(&mut written, &line)
            })
        });
        if let Err(error) = begun {
            self.failed(&mut written, &error);
        }
    }

    fn begin(&self, written: &mut OpenDelFile, since: Moment) -> io::Result<()> {
        let header = DelsHeader { boot: self.boot.0.clone(), since: since.boot_ns };
        // Renamed into place, so that a file is never without its first line.
        let draft = self.path.with_extension("draft");
        fs::write(&draft, file::header(&header))?;
        fs::rename(&draft, &self.path)?;
        let file = File::options().append(true).open(&self.path)?;
        *written = OpenDelFile { file: Some(file), since, lines: 0, told: written.told };
        Ok(())
    }

    fn append(&self, written: &mut OpenDelFile, line: &[u8]) -> io::Result<()> {
        let file = written.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        file.write_all(line)?;
        written.lines += 1;
        Ok(())
    }

    fn record(&self, written: &mut OpenDelFile, line: &[u8], now: Moment) -> io::Result<()> {
        if written.file.is_none() {
            self.begin(written, now)?;
        } else if written.lines >= self.most || now.since(written.since) >= DELS_REMEMBERED {
            fs::rename(&self.path, self.before())?;
            self.begin(written, now)?;
        }
        self.append(written, line)?;
        written.told = false;
        Ok(())
    }

    /// Gives up the files: without this DEL, they would say something that is not so.
    fn failed(&self, written: &mut OpenDelFile, error: &io::Error) {
        // In this order, so that the older one is never alone, unless it has just been renamed.
        let _ = fs::remove_file(self.before());
        let _ = fs::remove_file(&self.path);
        if !written.told {
            let path = self.path.display();
            tracing::warn!(%path, %error, "cannot record a served DEL; after a restart, ADDs that began before it are refused");
        }
        *written = OpenDelFile { told: true, ..OpenDelFile::default() };
    }

    fn set(&self, written: OpenDelFile) {
        *self.lock() = written;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, OpenDelFile> {
        hold(&self.written)
    }
}

impl DelRecord for DelFile {
    fn served(&self, network: &NetworkName, owner: &Owner, began: Moment, now: Moment) {
        let line = file::line(network, owner, began, now);
        let mut written = self.lock();
        if let Err(error) = self.record(&mut written, &line, now) {
            self.failed(&mut written, &error);
        }
    }
}

/// Combines both files; `otherwise` if there is neither.
fn joined(before: Option<StoredDels>, current: Option<StoredDels>, otherwise: KnownDels) -> KnownDels {
    let found = [before, current].into_iter().flatten();
    let joined = found.reduce(|older, newer| StoredDels {
        since: older.since.min(newer.since),
        served: older.served.into_iter().chain(newer.served).collect(),
        length: newer.length,
    });
    joined.map_or(otherwise, |found| KnownDels { since: found.since, served: found.served })
}

#[cfg(test)]
mod tests;
