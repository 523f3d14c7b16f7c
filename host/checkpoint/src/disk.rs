//! The disk seam: the checkpoint accesses the disk only through [`Disk`] and [`File`].
//!
//! A state directory is flat, so a name identifies a file. [`FileDisk`] is the real disk; `sim::SimDisk` loses, tears
//! and refuses operations on purpose. Bytes are durable only after [`File::sync_data`], names only after
//! [`Disk::sync_dir`].

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, FallocateFlags, fadvise};

use crate::place::Opened;

/// A flat directory of files.
pub trait Disk: Send + Sync + 'static {
    /// The names of the files.
    ///
    /// # Errors
    /// Any I/O error.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Opens a file for reading from an offset.
    ///
    /// # Errors
    /// `NotFound`, or any other I/O error.
    fn read(&self, name: &str, offset: u64) -> io::Result<Box<dyn Read + Send>>;

    /// Creates a file, or truncates an existing one, for appending.
    ///
    /// # Errors
    /// Any I/O error.
    fn create(&self, name: &str) -> io::Result<Box<dyn File>>;

    /// Opens an existing file for appending.
    ///
    /// # Errors
    /// `NotFound`, or any other I/O error.
    fn open(&self, name: &str) -> io::Result<Box<dyn File>>;

    /// Makes a file's bytes durable and drops them from the page cache, so that the next read returns what is on the
    /// disk.
    ///
    /// After a failed sync, the page cache has bytes that the disk lacks and marks them as clean: another sync writes
    /// nothing and reports success.
    ///
    /// # Errors
    /// `NotFound`, or any other I/O error.
    fn sync_and_forget(&self, name: &str) -> io::Result<()>;

    /// Renames a file, replacing one with the new name.
    ///
    /// # Errors
    /// Any I/O error.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// Any I/O error.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes the names durable.
    ///
    /// # Errors
    /// Any I/O error; also if the directory is no longer the one that was opened for writing.
    fn sync_dir(&self) -> io::Result<()>;
}

/// A file open for appending.
pub trait File: Send {
    /// Appends bytes. After an error, any part of them may be in the file.
    ///
    /// # Errors
    /// Any I/O error.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes the bytes durable. After an error it is unknown which of them are, and a retry could report success
    /// wrongly.
    ///
    /// # Errors
    /// Any I/O error.
    fn sync_data(&mut self) -> io::Result<()>;

    /// Checks that a start would find this file under its name. A sync does not say that.
    ///
    /// # Errors
    /// If the directory, or the file in it, was removed, renamed or replaced, or the file system cannot say.
    fn is_in_place(&self, _name: &str) -> io::Result<()> {
        Ok(())
    }

    /// Truncates the file, and releases the room reserved behind its end.
    ///
    /// # Errors
    /// Any I/O error.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Reserves room up to an offset without extending the file.
    ///
    /// # Errors
    /// `StorageFull` if there is no room, `Unsupported` if the file system cannot reserve room.
    fn reserve(&mut self, up_to: u64) -> io::Result<()>;
}

/// Whether an error means that the disk, or the quota, is full.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// A directory of the real file system.
#[derive(Debug, Clone)]
pub struct FileDisk {
    directory: PathBuf,
    /// The directory that was opened for writing; `None` for readers, to whom any will do.
    opened: Option<Opened>,
}

impl FileDisk {
    /// Creates the directory, accessible only to its owner, unless it exists, and makes its name durable.
    ///
    /// # Errors
    /// If the directory cannot be created, or its name cannot be made durable.
    pub fn create(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = directory.into();
        let levels = || directory.ancestors().filter(|level| !level.as_os_str().is_empty());
        let missing = levels().take_while(|level| !level.exists()).count();
        // From the top, each name made durable before the next directory is created. One more level than is missing:
        // an earlier start may have been killed after creating that one, before its name was durable.
        let mut levels: Vec<_> = levels().take(missing + 1).collect();
        while let Some(level) = levels.pop() {
            make_durable(level)?;
        }
        let opened = Some(Opened::of(&fs::metadata(&directory)?));
        Ok(Self { directory, opened })
    }

    /// An existing directory, for readers.
    #[must_use]
    pub fn existing(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), opened: None }
    }

    /// The path of the directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Checks that the directory is still the one that was opened.
    fn check(&self) -> io::Result<()> {
        self.opened.map_or(Ok(()), |opened| opened.is_at(&self.directory))
    }
}

/// Creates a directory unless it exists, and makes its name durable.
fn make_durable(directory: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => {}
        made => made?,
    }
    match directory.parent() {
        // The root.
        None => Ok(()),
        Some(above) if above.as_os_str().is_empty() => fs::File::open(".")?.sync_all(),
        Some(above) => fs::File::open(above)?.sync_all(),
    }
}

impl Disk for FileDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            // A name that is not UTF-8 is not ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn read(&self, name: &str, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        let mut file = fs::File::open(self.directory.join(name))?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(Box::new(file))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        // Nothing is begun in another directory: what is in it may be another state, or nothing that a start would read.
        self.check()?;
        let path = self.directory.join(name);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        // `append` and `truncate` exclude each other at open, so the file is opened twice.
        drop(options.open(&path)?);
        self.open(name)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        let file = OpenOptions::new().append(true).open(self.directory.join(name))?;
        let (directory, opened) = (self.directory.clone(), Opened::of(&file.metadata()?));
        Ok(Box::new(PlacedFile { file, directory, opened }))
    }

    fn sync_and_forget(&self, name: &str) -> io::Result<()> {
        let file = fs::File::open(self.directory.join(name))?;
        file.sync_data()?;
        // For the whole file: an offset inside a page would keep that page cached.
        Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.check()?;
        fs::rename(self.directory.join(from), self.directory.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.directory.join(name))
    }

    fn sync_dir(&self) -> io::Result<()> {
        fs::File::open(&self.directory)?.sync_all()?;
        self.check()
    }
}

/// A file with the directory in which it was opened.
struct PlacedFile {
    file: fs::File,
    directory: PathBuf,
    opened: Opened,
}

impl File for PlacedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn is_in_place(&self, name: &str) -> io::Result<()> {
        self.opened.is_at(&self.directory.join(name))
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn reserve(&mut self, up_to: u64) -> io::Result<()> {
        Ok(rustix::fs::fallocate(&self.file, FallocateFlags::KEEP_SIZE, 0, up_to)?)
    }
}
