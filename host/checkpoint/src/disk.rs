//! The disk seam: all that the checkpoint does to a disk goes through [`Disk`] and [`File`].
//!
//! A state directory is flat, so a file is named by its name alone. [`FileDisk`] is the real one;
//! `sim::SimDisk` loses, tears and refuses on purpose. Nothing is durable before [`File::sync_data`] for
//! bytes and [`Disk::sync_dir`] for names.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, FallocateFlags, fadvise};

/// One flat directory of files.
pub trait Disk: Send + Sync + 'static {
    /// The names of the files that there are.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Opens a file for reading from an offset on.
    ///
    /// # Errors
    /// `NotFound`, or whatever the disk says.
    fn read(&self, name: &str, offset: u64) -> io::Result<Box<dyn Read + Send>>;

    /// Makes a file, or empties the one there is, for appending.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn create(&self, name: &str) -> io::Result<Box<dyn File>>;

    /// Opens a file that exists for appending.
    ///
    /// # Errors
    /// `NotFound`, or whatever the disk says.
    fn open(&self, name: &str) -> io::Result<Box<dyn File>>;

    /// Makes a file's bytes durable and drops them from memory, so that what is read next is what the disk has.
    ///
    /// After a sync that failed, memory has bytes that the disk has not and calls them clean: another sync writes nothing, and
    /// says that all is well.
    ///
    /// # Errors
    /// `NotFound`, or whatever the disk says.
    fn sync_and_forget(&self, name: &str) -> io::Result<()>;

    /// Gives a file another name, in place of a file that may have it.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes the names durable.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn sync_dir(&self) -> io::Result<()>;
}

/// A file open for appending.
pub trait File: Send {
    /// Writes behind the last byte. After an error any part of it may be there.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes the bytes durable. After an error nobody knows which are, and asking again would lie.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn sync_data(&mut self) -> io::Result<()>;

    /// Cuts the file, and gives back what was reserved behind its end.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Reserves room up to an offset without making the file longer.
    ///
    /// # Errors
    /// `StorageFull` when there is no room, `Unsupported` where the file system cannot reserve.
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
}

impl FileDisk {
    /// A directory, made if need be for its owner alone, whose name is durable.
    ///
    /// # Errors
    /// When the directory cannot be made, or its name not be made durable.
    pub fn create(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = directory.into();
        let levels = || directory.ancestors().filter(|level| !level.as_os_str().is_empty());
        let missing = levels().take_while(|level| !level.exists()).count();
        // From the top, each name durable before the next is made. One more than is missing: a start that was killed in here may
        // have made that one and got no further.
        let mut levels: Vec<_> = levels().take(missing + 1).collect();
        while let Some(level) = levels.pop() {
            make_durable(level)?;
        }
        Ok(Self { directory })
    }

    /// A directory as it is, for readers.
    #[must_use]
    pub fn existing(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Where the files are.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Makes a directory unless there is one, and its name durable.
fn make_durable(directory: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => {}
        made => made?,
    }
    match directory.parent() {
        // It is the root.
        None => Ok(()),
        Some(above) if above.as_os_str().is_empty() => fs::File::open(".")?.sync_all(),
        Some(above) => fs::File::open(above)?.sync_all(),
    }
}

impl Disk for FileDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            // A name that is not text is none of ours.
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
        let path = self.directory.join(name);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        // `append` and `truncate` exclude each other at open, so the file is opened twice.
        drop(options.open(&path)?);
        self.open(name)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        Ok(Box::new(OpenOptions::new().append(true).open(self.directory.join(name))?))
    }

    fn sync_and_forget(&self, name: &str) -> io::Result<()> {
        let file = fs::File::open(self.directory.join(name))?;
        file.sync_data()?;
        // The whole file: what lies across the beginning of a part would be kept.
        Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.directory.join(from), self.directory.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.directory.join(name))
    }

    fn sync_dir(&self) -> io::Result<()> {
        fs::File::open(&self.directory)?.sync_all()
    }
}

impl File for fs::File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        fs::File::sync_data(self)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn reserve(&mut self, up_to: u64) -> io::Result<()> {
        Ok(rustix::fs::fallocate(&*self, FallocateFlags::KEEP_SIZE, 0, up_to)?)
    }
}
