//! File systems that a test fills up or crashes, in a mount namespace that only the test's thread and its children see.
//!
//! Dropping one unmounts it. If the test process dies, the kernel unmounts it with the namespace and releases its loop device.

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
/// The file system discards everything that was not synced, including the pending part of its own journal.
const WITHOUT_FLUSH: u32 = 2;

/// A file system that can be crashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// ext4.
    Ext4,
    /// The file system XFS.
    Xfs,
}

impl Kind {
    /// Creates a file system in a new image. The image is sparse: only written blocks take space.
    ///
    /// # Errors
    /// When mkfs fails.
    pub fn make(self, image: &Path) -> anyhow::Result<()> {
        let (program, words, bytes): (_, &[&str], _) = match self {
            // The block size of larger disks.
            Self::Ext4 => ("mkfs.ext4", &["-b", "4096"], 64 << 20),
            // The minimum for XFS.
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
    // Only this thread: its mounts must not affect other tests.
    #[expect(
        unsafe_code,
        reason = "a thread in another mount namespace; no file descriptor table is unshared"
    )]
    // SAFETY: the flags do not include FILES, so the descriptor table stays shared and no descriptor is closed.
    unsafe {
        rustix::thread::unshare_unsafe(UnshareFlags::NEWNS)?;
    }
    Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

/// A mounted file system; dropping it unmounts it.
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

    /// Mounts an image through a loop device, which is released with the mount.
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

    /// Limits writes to the disk of an image to one block each, so that a block is lost or not: a loop device reports a longer
    /// write as successful even if it was cut short.
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

    /// A handle that crashes it later, from any thread.
    ///
    /// # Errors
    /// When the file system cannot be opened.
    pub fn switch(&self) -> anyhow::Result<Switch> {
        Ok(Switch(File::open(self.directory.path())?))
    }

    /// Fills the file system, except for some spare bytes, with a file of this name.
    ///
    /// # Errors
    /// When the free space cannot be determined or allocated.
    pub fn fill(&self, name: &str, spare: u64) -> anyhow::Result<()> {
        let space = rustix::fs::statvfs(self.directory.path())?;
        let room = (space.f_bavail * space.f_frsize).saturating_sub(spare);
        let file = File::create(self.path(name))?;
        Ok(rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, room.max(1))?)
    }

    /// Unmounts it. Fails if it is in use.
    ///
    /// # Errors
    /// When it cannot be unmounted.
    pub fn unmount(self) -> anyhow::Result<()> {
        // The kernel closes a killed process's last file a moment after the process has exited.
        wait::until("the file system to be unused", Duration::from_secs(10), || {
            Ok(run(Command::new("umount").arg(self.directory.path())).ok())
        })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Fails if it is already unmounted. Lazily, so that it disappears even if it is still in use.
        let _ = Command::new("umount").args(["--lazy", "--quiet"]).arg(self.directory.path()).output();
    }
}

/// A disk whose writes are limited to one block. Dropping this restores the setting, since the device outlives its image.
#[derive(Debug)]
pub struct BlockByBlock {
    setting: PathBuf,
    before: String,
}

impl Drop for BlockByBlock {
    fn drop(&mut self) {
        // If this fails, the next user of the device is only slower.
        let _ = std::fs::write(&self.setting, &self.before);
    }
}

/// Crashes a file system.
#[derive(Debug)]
pub struct Switch(File);

impl Switch {
    /// Crashes it: everything that was not synced is lost, and every later access fails.
    ///
    /// # Errors
    /// When the file system cannot be crashed.
    pub fn crash(self) -> anyhow::Result<()> {
        #[expect(unsafe_code, reason = "this ioctl has no safe wrapper")]
        // SAFETY: for this request the kernel reads one u32 and nothing else.
        unsafe {
            let request = Setter::<SHUTDOWN, u32>::new(WITHOUT_FLUSH);
            ioctl(self.0.as_fd(), request).context("shutting the file system down")
        }
    }
}

/// Runs a system program, which must succeed.
///
/// # Errors
/// When it fails; the error contains its output.
pub fn run(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}: {said}", output.status);
    Ok(())
}
