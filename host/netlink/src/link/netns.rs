//! A pod's network namespace.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::step::step;
use super::turn::LinkTurn;
use crate::error::Error;

/// The file system of namespaces (NSFS_MAGIC).
const NSFS: u64 = 0x6e73_6673;
/// The calling thread's own network namespace.
const OWN: &str = "/proc/thread-self/ns/net";

/// A network namespace that is held open, so that it is the same one from the first step to the last.
#[derive(Debug)]
pub struct Netns {
    file: OwnedFd,
    path: PathBuf,
    /// The turn at the link that the work inside is for.
    turn: Option<LinkTurn>,
}

impl Netns {
    /// Opens the network namespace at a path.
    ///
    /// # Errors
    /// When there is none, or it is the calling thread's own, which would be set up in the pod's place.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        // Never waits, as for a pipe that has this name.
        let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())
            .map_err(|error| {
                // Whose process it is, only one who may trace it may know.
                let forbidden = error == Errno::ACCESS && path.starts_with("/proc");
                let without = if forbidden { " without CAP_SYS_PTRACE" } else { "" };
                Error::Io { what: format!("open {}{without}", path.display()), source: error.into() }
            })?;
        Self::new(file, path)
    }

    /// Opens the network namespace at a path for somebody who has the turn at a link. It is opened on a thread of its own, with a
    /// limit in time: the path may be of a file system that does not answer.
    ///
    /// # Errors
    /// As [`open`](Self::open), and when it takes too long.
    pub async fn open_in_turn(path: impl AsRef<Path>, turn: &LinkTurn) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        let what = format!("open {}", path.display());
        let netns = step(what, Some(turn.clone()), move || Self::open(path)).await?;
        Ok(Self { turn: Some(turn.clone()), ..netns })
    }

    fn new(file: OwnedFd, path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Io { what: format!("look at {}", path.display()), source };
        let system = rustix::fs::fstatfs(&file).map_err(|error| failed(error.into()))?;
        if u64::try_from(system.f_type).ok() != Some(NSFS) {
            return Err(Error::NotNamespace(path.to_owned()));
        }
        let own = File::open(OWN).map_err(failed)?;
        let identity = |file: BorrowedFd<'_>| {
            rustix::fs::fstat(file)
                .map(|status| (status.st_dev, status.st_ino))
                .map_err(|error| failed(error.into()))
        };
        if identity(file.as_fd())? == identity(own.as_fd())? {
            return Err(Error::OwnNamespace(path.to_owned()));
        }
        Ok(Self { file, path: path.to_owned(), turn: None })
    }

    /// Another handle on the same namespace.
    pub(super) fn again(&self) -> Result<Self, Error> {
        let file = self
            .file
            .try_clone()
            .map_err(|source| Error::Io { what: format!("hold {} open", self.path.display()), source })?;
        Ok(Self { file, path: self.path.clone(), turn: self.turn.clone() })
    }

    /// The turn that each thread inside keeps.
    pub(super) fn turn(&self) -> Option<LinkTurn> {
        self.turn.clone()
    }

    /// The namespace's path, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl AsFd for Netns {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
