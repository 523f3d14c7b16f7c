//! DELs that were accepted while the daemon was away, and DELs and GCs that were accepted while its state was: the plugin writes
//! the former and the daemon the latter, and the daemon replays them all.
//!
//! Each is its own JSON file in `spool/` next to the socket. It is written under a name that starts with a dot,
//! synced and linked, so that a file with its final name is complete and durable. It contains the invocation with its
//! start time: a replayed DEL frees nothing that began after it. The directory is under /run, which a reboot clears
//! exactly when pods' allocations end; a file of another boot, in a directory that outlived it, is set aside. On a boot at which the daemon comes last, the plugin makes the daemon's default run
//! directory, where the daemon then finds it. Each file is read on its own: one that is not a DEL is set aside, never
//! deleted, and does not block the others.
//!
//! This crate does not interpret a DEL: the daemon replays it as if the plugin had just sent it.

mod file;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use tenure_rpc::v1::Invocation;
use tenure_rpc::{LONGEST_CONFIG, run_dir};

/// The extension of a spooled DEL.
const EXTENSION: &str = "json";

/// The extension of a spooled GC. A daemon that knows only DELs leaves it alone.
const GC_EXTENSION: &str = "gc";

/// The most files that wait: the runtime tries a DEL again that is refused, and `/run`, which holds these, is memory.
const MOST_WAITING: usize = 20_000;

/// How many files may have the same start time and process id.
const MOST_NAMESAKES: u32 = 64;

/// The most bytes of a file: JSON escapes make a string at most six times as long.
const LONGEST_FILE: u64 = LONGEST_CONFIG as u64 * 6 + (1 << 20);

/// The directory of spooled DELs and GCs. Any number of writers and one reader may use it at once.
#[derive(Debug, Clone)]
pub struct Spool {
    directory: PathBuf,
}

/// The verb of a spooled file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// A CNI DEL.
    Del,
    /// A CNI GC.
    Gc,
}

impl Verb {
    /// The verb of a file, by its name; `None` if it is not a spooled file.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let is_draft = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
        match path.extension() {
            _ if is_draft => None,
            Some(extension) if extension == EXTENSION => Some(Self::Del),
            Some(extension) if extension == GC_EXTENSION => Some(Self::Gc),
            _ => None,
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Del => EXTENSION,
            Self::Gc => GC_EXTENSION,
        }
    }
}

/// Why a file is set aside; the reason becomes the new extension of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aside {
    /// The file contains no readable DEL.
    Unreadable,
    /// The file's DEL can never succeed.
    Refused,
}

impl Aside {
    fn extension(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Refused => "refused",
        }
    }
}

impl Spool {
    /// The spool next to a daemon's socket.
    #[must_use]
    pub fn beside(socket: &Path) -> Self {
        Self { directory: socket.with_file_name("spool") }
    }

    /// Writes a DEL durably; when this returns, it will be carried out.
    ///
    /// The socket's directory must be one that a daemon would use: the default one, which is created if it is missing, or
    /// one that exists. Otherwise no daemon would ever find the DEL.
    ///
    /// # Errors
    /// Any error that kept it from being durable; `StorageFull` if too many wait.
    pub fn write(&self, invocation: &Invocation) -> io::Result<()> {
        self.write_verb(Verb::Del, invocation).map(drop)
    }

    /// As [`write`](Self::write), for any verb. Returns the file's path.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_verb(&self, verb: Verb, invocation: &Invocation) -> io::Result<PathBuf> {
        let bytes = file::bytes(invocation)?;
        self.make()?;
        self.has_room()?;
        // Two plugins in two PID namespaces may start in the same nanosecond with the same process id; neither may
        // replace the other's file.
        let started = invocation.started_at_boot_ns;
        for attempt in 0..MOST_NAMESAKES {
            let (process, extension) = (std::process::id(), verb.extension());
            let name = format!("{started:020}-{process}-{attempt}.{extension}");
            match self.write_as(&name, &bytes) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => return result.map(|()| self.directory.join(name)),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "all names are taken"))
    }

    fn has_room(&self) -> io::Result<()> {
        let entries = fs::read_dir(&self.directory)?.flatten();
        let waiting = entries.filter(|entry| Verb::of(Path::new(&entry.file_name())).is_some()).count();
        if waiting < MOST_WAITING {
            return Ok(());
        }
        let words =
            format!("{}: {waiting} DELs and GCs wait for the daemon already", self.directory.display());
        Err(io::Error::new(io::ErrorKind::StorageFull, words))
    }

    /// Writes a file under an unused name.
    fn write_as(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let draft = self.directory.join(format!(".{name}"));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        // A rename would replace an existing file; a link does not.
        let result = file
            .write_all(bytes)
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::hard_link(&draft, self.directory.join(name)));
        // The draft is no longer needed, complete or not.
        fs::remove_file(&draft).ok();
        result?;
        File::open(&self.directory)?.sync_all()
    }

    /// Creates the directory in a daemon's run directory, and nothing above that.
    fn make(&self) -> io::Result<()> {
        let run = self.directory.parent().unwrap_or(Path::new(""));
        let in_words = |error: io::Error, words: String| io::Error::new(error.kind(), words);
        let objection =
            run_dir::create_default(run).and_then(|()| run_dir::objection(run)).map_err(|error| {
                let hint = "tenured creates it when it starts; check `ipam.socket` if it is running";
                let words = format!("run directory {}: {error}; {hint}", run.display());
                in_words(error, words)
            })?;
        if let Some(objection) = objection {
            let words = format!("run directory {}: {objection}", run.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
        }
        match DirBuilder::new().mode(0o750).create(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made.map_err(|error| {
                let words = format!("{}: {error}", self.directory.display());
                in_words(error, words)
            }),
        }
    }

    /// The spooled files, oldest first.
    ///
    /// # Errors
    /// If the directory cannot be read; a missing directory is not an error.
    pub fn waiting(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        paths.retain(|path| Verb::of(path).is_some());
        // Names begin with the start time, zero-padded.
        paths.sort_unstable();
        Ok(paths)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// `InvalidData` or `PermissionDenied` for a file that is not a DEL and should be [set aside](Self::set_aside);
    /// other errors may be temporary.
    pub fn read(&self, path: &Path) -> io::Result<Invocation> {
        let metadata = fs::symlink_metadata(path)?;
        // Opening a FIFO would block, and opening a device may have any effect.
        if !metadata.is_file() {
            return Err(file::useless("it is not a regular file"));
        }
        if metadata.len() > LONGEST_FILE {
            return Err(file::useless("it is too long"));
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(LONGEST_FILE).read_to_end(&mut bytes)?;
        file::invocation(&bytes)
    }

    /// Renames a file to an unused name, so that it is not read again. Returns that name.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn set_aside(&self, path: &Path, why: Aside) -> io::Result<PathBuf> {
        let verb = Verb::of(path).unwrap_or(Verb::Del).extension();
        let name = |suffix: String| path.with_extension(format!("{verb}.{}{suffix}", why.extension()));
        let mut names = std::iter::once(String::new()).chain((2_u64..).map(|number| format!(".{number}")));
        let is_free = |name: &PathBuf| fs::symlink_metadata(name).is_err();
        let aside = names.by_ref().map(name).find(is_free).ok_or(io::ErrorKind::AlreadyExists)?;
        fs::rename(path, &aside)?;
        Ok(aside)
    }

    /// Removes a DEL that was carried out.
    ///
    /// # Errors
    /// If it cannot be removed; replaying it later does no harm.
    pub fn settle(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

#[cfg(test)]
mod tests;
