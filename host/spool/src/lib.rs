//! DELs that were accepted while the daemon was away: the plugin writes them, the daemon replays them.
//!
//! Each is a JSON file of its own in `spool/` beside the socket. It is written under a name that starts with a dot, synced and
//! linked, so that a file under its own name is complete and durable. It holds the invocation with its start time: a replayed
//! DEL frees nothing that began after it. The directory is under /run, which a boot clears exactly when pods' allocations end.
//! Each file is read on its own: one that is not a DEL is set aside, never deleted, and does not hold up the others.
//!
//! What a DEL means is not known here: the daemon replays it as if the plugin had just sent it.

mod file;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use tenure_rpc::v1::Invocation;
use tenure_rpc::{LONGEST_CONFIG, run_dir};

/// What a spooled file's name ends with.
const EXTENSION: &str = "json";

/// How many files may have the same start time and process id.
const MOST_NAMESAKES: u32 = 64;

/// The most bytes that a file may have: JSON escapes make a text at most six times as long.
const LONGEST_FILE: u64 = LONGEST_CONFIG as u64 * 6 + (1 << 20);

/// The directory of spooled DELs. Any number of writers and one reader may use it at once.
#[derive(Debug, Clone)]
pub struct Spool {
    directory: PathBuf,
}

/// Why a file is set aside, which is what is put behind its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aside {
    /// It holds no DEL that can be read.
    Unreadable,
    /// Its DEL can never be done.
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
    /// The spool of a daemon's socket.
    #[must_use]
    pub fn beside(socket: &Path) -> Self {
        Self { directory: socket.with_file_name("spool") }
    }

    /// Writes a DEL so that it outlives the caller; when this returns, it will be done.
    ///
    /// The directory of the socket is the daemon's: it must be there, and be one that a daemon would use. Else nobody would ever
    /// look for the DEL.
    ///
    /// # Errors
    /// Whatever kept it from being durable.
    pub fn write(&self, invocation: &Invocation) -> io::Result<()> {
        let bytes = file::bytes(invocation)?;
        self.make()?;
        // Two plugins in two pid namespaces may start in the same nanosecond under the same id; neither replaces the other.
        let started = invocation.started_at_boot_ns;
        for attempt in 0..MOST_NAMESAKES {
            let name = format!("{started:020}-{}-{attempt}.{EXTENSION}", std::process::id());
            match self.write_as(&name, &bytes) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => return result,
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "every name is taken"))
    }

    /// Writes a file under a name that nobody has.
    fn write_as(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let draft = self.directory.join(format!(".{name}"));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        // A rename would replace; a link does not.
        let result = file
            .write_all(bytes)
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::hard_link(&draft, self.directory.join(name)));
        // The draft is no use to anyone now, whole or not.
        fs::remove_file(&draft).ok();
        result?;
        File::open(&self.directory)?.sync_all()
    }

    /// Makes the directory in the run directory of a daemon, and nothing above it.
    fn make(&self) -> io::Result<()> {
        let run = self.directory.parent().unwrap_or(Path::new(""));
        let in_words = |error: io::Error, words: String| io::Error::new(error.kind(), words);
        let objection = run_dir::objection(run).map_err(|error| {
            let hint = "tenured makes it when it starts";
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

    /// The files that wait, oldest first.
    ///
    /// # Errors
    /// When the directory cannot be read; that it does not exist is no error.
    pub fn waiting(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        paths.retain(|path| {
            let is_draft = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
            !is_draft && path.extension().is_some_and(|extension| extension == EXTENSION)
        });
        // Names begin with the start time, at a fixed width.
        paths.sort_unstable();
        Ok(paths)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// `InvalidData` or `PermissionDenied` for what is no DEL and is to be [set aside](Self::set_aside); anything else may pass.
    pub fn read(&self, path: &Path) -> io::Result<Invocation> {
        let metadata = fs::symlink_metadata(path)?;
        // A FIFO would not even be opened, and a device may do anything when it is.
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

    /// Gives whatever is under this name another one, which no file has, so that it is not met again. Returns that name.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn set_aside(&self, path: &Path, why: Aside) -> io::Result<PathBuf> {
        let name = |suffix: String| path.with_extension(format!("{EXTENSION}.{}{suffix}", why.extension()));
        let mut names = std::iter::once(String::new()).chain((2_u64..).map(|number| format!(".{number}")));
        let is_free = |name: &PathBuf| fs::symlink_metadata(name).is_err();
        let aside = names.by_ref().map(name).find(is_free).ok_or(io::ErrorKind::AlreadyExists)?;
        fs::rename(path, &aside)?;
        Ok(aside)
    }

    /// Removes a DEL that was done.
    ///
    /// # Errors
    /// When it cannot be removed; doing it again later does no harm.
    pub fn settle(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

#[cfg(test)]
mod tests;
