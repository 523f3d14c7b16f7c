//! File systems that a test fills up or crashes, in a mount namespace that only the test's thread and what it starts see.
//!
//! They go when they are dropped; when the test process dies in whatever way, the kernel unmounts them with the namespace and
//! lets their loop devices go.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::ioctl::{Setter, ioctl};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::UnshareFlags;
use tempfile::TempDir;

use crate::{scratch, wait};

/// `FS_IOC_SHUTDOWN`, which XFS calls `XFS_IOC_GOINGDOWN`.
const SHUTDOWN: rustix::ioctl::Opcode = 0x8004_587d;
/// The file system forgets what was not synced, its own journal's pending part included.
const WITHOUT_FLUSH: u32 = 2;

/// A file system that can be crashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
}

impl Kind {
    /// Makes a file system in a new image. It is sparse: only what is written takes room.
    ///
    /// # Errors
    /// When mkfs fails.
    pub fn make(self, image: &Path) -> anyhow::Result<()> {
        let (program, words, bytes): (_, &[&str], _) = match self {
            // Blocks as on larger disks.
            Self::Ext4 => ("mkfs.ext4", &["-b", "4096"], 64 << 20),
            // No less will do.
            Self::Xfs => ("mkfs.xfs", &[], 320 << 20),
        };
        File::create(image)?.set_len(bytes)?;
        run(Command::new(program).arg("-q").args(words).arg(image))
    }
}

/// Gives the thread a mount namespace of its own.
///
/// # Errors
/// Without root.
pub fn private_namespace() -> anyhow::Result<()> {
    // Only this thread: what it makes is no business of the tests beside it.
    #[expect(
        unsafe_code,
        reason = "a thread in another mount namespace; no file descriptor table is unshared"
    )]
    // SAFETY: the flags do not include FILES, so no descriptor is closed behind anybody's back.
    unsafe {
        rustix::thread::unshare_unsafe(UnshareFlags::NEWNS)?;
    }
    Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

/// A file system that is mounted as long as this lives.
#[derive(Debug)]
pub struct Mount {
    directory: TempDir,
}

impl Mount {
    /// A tmpfs of a size.
    ///
    /// # Errors
    /// When it cannot be mounted.
    pub fn tmpfs(bytes: u64) -> anyhow::Result<Self> {
        let size = format!("size={bytes}");
        Self::with(&["-t", "tmpfs", "-o", &size, "tmpfs"])
    }

    /// An image, by way of a loop device that goes when it is unmounted.
    ///
    /// # Errors
    /// When it cannot be mounted.
    pub fn image(image: &Path) -> anyhow::Result<Self> {
        Self::with(&["-o", "loop", &image.display().to_string()])
    }

    fn with(words: &[&str]) -> anyhow::Result<Self> {
        let directory = scratch::directory()?;
        run(Command::new("mount").args(words).arg(directory.path()))?;
        Ok(Self { directory })
    }

    /// Lets the disk of an image take one block at a time, so that each is lost or not: a loop device calls a longer write
    /// that ended early a success.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn block_by_block(&self) -> anyhow::Result<BlockByBlock> {
        let device = rustix::fs::stat(self.directory.path())?.st_dev;
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let setting = format!("/sys/dev/block/{major}:{minor}/queue/max_sectors_kb").into();
        let limit = BlockByBlock { before: std::fs::read_to_string(&setting)?, setting };
        std::fs::write(&limit.setting, "4")?;
        Ok(limit)
    }

    /// A path on the file system.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A handle by which it can be crashed later, from any thread.
    ///
    /// # Errors
    /// When the file system cannot be opened.
    pub fn switch(&self) -> anyhow::Result<Switch> {
        Ok(Switch(File::open(self.directory.path())?))
    }

    /// Takes whatever room is left, but for so many bytes, with a file of this name.
    ///
    /// # Errors
    /// When the file system does not say how much that is, or refuses for another reason than being full.
    pub fn fill(&self, name: &str, spare: u64) -> anyhow::Result<()> {
        let space = rustix::fs::statvfs(self.directory.path())?;
        let room = (space.f_bavail * space.f_frsize).saturating_sub(spare);
        let file = File::create(self.path(name))?;
        Ok(rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, room.max(1))?)
    }

    /// Unmounts it, and fails when somebody uses it.
    ///
    /// # Errors
    /// When it cannot be unmounted.
    pub fn unmount(self) -> anyhow::Result<()> {
        // The last file of a killed process is closed a moment after its end.
        wait::until("the file system to be unused", Duration::from_secs(10), || {
            Ok(run(Command::new("umount").arg(self.directory.path())).ok())
        })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Fails when it was unmounted already. Lazily, so that it goes from sight whoever still uses it.
        let _ = Command::new("umount").args(["--lazy", "--quiet"]).arg(self.directory.path()).output();
    }
}

/// A disk that takes one block at a time as long as this lives. The device outlives its image, so it is put back.
#[derive(Debug)]
pub struct BlockByBlock {
    setting: PathBuf,
    before: String,
}

impl Drop for BlockByBlock {
    fn drop(&mut self) {
        // Whoever has the device next is only slower.
        let _ = std::fs::write(&self.setting, &self.before);
    }
}

/// Crashes a file system.
#[derive(Debug)]
pub struct Switch(File);

impl Switch {
    /// Crashes it: what was not synced is lost, and whoever uses it gets an error from now on.
    ///
    /// # Errors
    /// When the file system cannot be crashed.
    pub fn crash(self) -> anyhow::Result<()> {
        #[expect(unsafe_code, reason = "this ioctl has no safe wrapper")]
        // SAFETY: the kernel reads one u32 by this number, and takes nothing else.
        unsafe {
            let request = Setter::<SHUTDOWN, u32>::new(WITHOUT_FLUSH);
            ioctl(self.0.as_fd(), request).context("shutting the file system down")
        }
    }
}

/// Runs a program of the system that must succeed.
///
/// # Errors
/// When it does not; the error has what it said.
pub fn run(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}: {said}", output.status);
    Ok(())
}
