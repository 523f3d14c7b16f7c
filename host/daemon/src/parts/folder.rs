//! Changes in a folder, as the kernel reports them.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;

/// The room for events that are read at once; which ones they are does not matter.
const ROOM: usize = 4096;

/// A watch on a folder. It says that something has changed, not what; it does not see where a link leads from outside of the folder.
#[derive(Debug)]
pub(super) struct FolderWatch(AsyncFd<OwnedFd>);

impl FolderWatch {
    /// Watches a folder and its files from now on.
    ///
    /// # Errors
    /// If the folder does not exist, or this user has as many watches as the kernel allows.
    pub(super) fn on(folder: &Path) -> io::Result<Self> {
        let of_files = WatchFlags::CREATE | WatchFlags::CLOSE_WRITE | WatchFlags::MODIFY | WatchFlags::ATTRIB;
        Self::of(folder, of_files)
    }

    /// Watches from now on which files of a folder are taken away or replaced, and not what they contain.
    ///
    /// # Errors
    /// As [`on`](Self::on).
    pub(super) fn on_losses(folder: &Path) -> io::Result<Self> {
        Self::of(folder, WatchFlags::empty())
    }

    #[expect(
        deprecated,
        reason = "its successor is unsafe code; this descriptor is owned, and open for as long as it is registered"
    )]
    fn of(folder: &Path, more: WatchFlags) -> io::Result<Self> {
        let inotify = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let of_names =
            WatchFlags::MOVE | WatchFlags::DELETE | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        add_watch(&inotify, folder, more | of_names | WatchFlags::ONLYDIR)?;
        Ok(Self(AsyncFd::new(inotify)?))
    }

    /// Waits for a change since the last call.
    ///
    /// # Errors
    /// If the kernel no longer reports changes.
    pub(super) async fn changed(&mut self) -> io::Result<()> {
        loop {
            let mut ready = self.0.readable().await?;
            if drained(ready.get_inner())? {
                return Ok(());
            }
            ready.clear_ready();
        }
    }
}

/// Reads all events; returns whether there were any.
fn drained(inotify: &OwnedFd) -> io::Result<bool> {
    let mut room = [MaybeUninit::uninit(); ROOM];
    let mut events = Reader::new(inotify, &mut room);
    let mut is_any = false;
    loop {
        match events.next() {
            Ok(_) => is_any = true,
            Err(Errno::WOULDBLOCK) => return Ok(is_any),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::future::Future as _;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    #[tokio::test]
    async fn each_kind_of_change_is_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut watch = FolderWatch::on(folder.path()).unwrap();
        let changes: [&dyn Fn() -> io::Result<()>; 5] = [
            &|| fs::write(at("a.conf"), "{"),
            &|| fs::write(at("a.conf"), "{}"),
            &|| fs::rename(at("a.conf"), at("b.conf")),
            &|| std::os::unix::fs::symlink("b.conf", at("c.conf")),
            &|| fs::remove_file(at("b.conf")),
        ];
        for change in changes {
            change().unwrap();
            watch.changed().await.unwrap();
            let again = pin!(watch.changed()).poll(&mut Context::from_waker(Waker::noop()));
            assert!(again.is_pending());
        }
        assert!(FolderWatch::on(&at("missing")).is_err());
    }

    #[tokio::test]
    async fn losses_are_reported_and_what_is_written_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("socket");
        let mut watch = FolderWatch::on_losses(folder.path()).unwrap();
        fs::write(&file, "a").unwrap();
        fs::write(&file, "b").unwrap();
        assert!(pin!(watch.changed()).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        fs::remove_file(&file).unwrap();
        watch.changed().await.unwrap();
    }
}
