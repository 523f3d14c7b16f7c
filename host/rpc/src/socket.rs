//! Unix sockets: creating them with the right mode, replacing those of a crashed daemon, and checking peer credentials.
//!
//! File modes keep other users out; peer credentials are checked as well, because a socket's mode is easily changed and a
//! directory easily mounted into a container.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, chownat, fstat, openat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use tokio::net::{UnixListener, UnixStream};

use crate::run_dir;

/// The users that may connect to a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The mode of its file.
    pub mode: u32,
    /// The group of its file; `None` for the daemon's own.
    pub group: Option<u32>,
    /// Whether users other than root and the daemon's own are served, once the file lets them in.
    pub anybody: bool,
}

impl Access {
    /// Only the owner may connect.
    pub const OWNER: Self = Self { mode: 0o600, group: None, anybody: false };
}

/// How long to wait after a failed accept, for example when the process is out of file descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Creates a socket and listens on it. Needs a tokio runtime.
///
/// The socket is renamed to its final name after its mode is set, which also replaces a dead daemon's socket: no caller ever sees
/// a socket with the wrong mode, or none.
///
/// Returns the identity of the file, too, since another one may be in its place by then: a container may write to the directory.
///
/// # Errors
/// `AddrInUse` if another process listens there; `AlreadyExists` if the path is not a socket.
pub(crate) fn listen(path: &Path, access: Access) -> io::Result<(UnixListener, SocketInode)> {
    if let Some(directory) = path.parent() {
        run_dir::create(directory)?;
    }
    check_unused(path)?;
    let draft = draft_name(path);
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&draft)?;
    let file = open_up(&draft, access)?;
    fs::rename(&draft, path)?;
    Ok((listener, file))
}

/// A file's identity. The listener keeps its inode from being freed, so no other file can have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SocketInode {
    device: u64,
    inode: u64,
}

impl SocketInode {
    /// The file at a path.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let metadata = fs::symlink_metadata(path)?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino() })
    }
}

/// Gives a socket its group and mode; returns which file it is.
///
/// A container may write to the directory, and may have put something else in the socket's place, such as a link to a file of the host's. So
/// what is there is held by a descriptor, checked, and changed by that descriptor; not by its path.
fn open_up(path: &Path, access: Access) -> io::Result<SocketInode> {
    let socket = openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let found = fstat(&socket)?;
    if !FileType::from_raw_mode(found.st_mode).is_socket() {
        return Err(io::Error::new(
            ErrorKind::AlreadyExists,
            format!("{} was replaced by something that is not a socket", path.display()),
        ));
    }
    if let Some(group) = access.group {
        chownat(&socket, "", None, Some(Gid::from_raw(group)), AtFlags::EMPTY_PATH)?;
    }
    // A descriptor without access to the content cannot be changed by the call for descriptors.
    let held = format!("/proc/self/fd/{}", socket.as_raw_fd());
    fs::set_permissions(held, Permissions::from_mode(access.mode))?;
    Ok(SocketInode { device: found.st_dev, inode: found.st_ino })
}

/// The next connection; unless anybody may connect, one from root or from the daemon's own user, and others are closed unread.
/// Cancel-safe: dropping the future loses no connection.
pub(crate) async fn accept(listener: &UnixListener, access: Access) -> UnixStream {
    let own = rustix::process::geteuid().as_raw();
    loop {
        match listener.accept().await.and_then(|(stream, _)| Ok((stream.peer_cred()?, stream))) {
            Ok((peer, stream)) if access.anybody || is_trusted(peer.uid(), own) => return stream,
            Ok((peer, _)) => {
                tracing::warn!(uid = peer.uid(), pid = peer.pid(), "closed a connection from another user");
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

fn is_trusted(uid: u32, own: u32) -> bool {
    uid == 0 || uid == own
}

fn check_unused(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            return Err(io::Error::new(
                ErrorKind::AlreadyExists,
                format!("{} is not a socket", path.display()),
            ));
        }
        Ok(_) => {}
    }
    match try_connect(path) {
        // Who never accepts has a full queue of connections, and listens all the same.
        Ok(()) | Err(Errno::AGAIN) => Err(io::Error::new(
            ErrorKind::AddrInUse,
            format!("another process already listens on {}", path.display()),
        )),
        // No process listens on it any more.
        Err(Errno::CONNREFUSED | Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Connects, and waits for nobody: a container may listen here, and the daemon must not wait for it.
fn try_connect(path: &Path) -> rustix::io::Result<()> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)
}

fn draft_name(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.new"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream as BlockingStream;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[tokio::test]
    async fn a_socket_is_for_its_owner_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run/cni.sock");
        let _listener = listen(&path, Access::OWNER).unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o750);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_live_socket_is_kept_and_a_dead_one_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cni.sock");
        let first = listen(&path, Access::OWNER).unwrap();
        assert_eq!(listen(&path, Access::OWNER).unwrap_err().kind(), ErrorKind::AddrInUse);
        BlockingStream::connect(&path).unwrap();

        drop(first);
        assert_eq!(BlockingStream::connect(&path).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        let _second = listen(&path, Access::OWNER).unwrap();
        BlockingStream::connect(&path).unwrap();
    }

    #[test]
    fn one_that_never_accepts_is_waited_for_by_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("agent.sock");
        let stranger =
            socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        rustix::net::bind(&stranger, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        rustix::net::listen(&stranger, 0).unwrap();
        let full = (0..64).any(|_| try_connect(&path) == Err(Errno::AGAIN));
        assert!(full, "its queue is never full");
        assert_eq!(check_unused(&path).unwrap_err().kind(), ErrorKind::AddrInUse);
    }

    #[tokio::test]
    async fn what_is_not_a_socket_is_never_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cni.sock");
        fs::write(&path, "precious").unwrap();
        assert_eq!(listen(&path, Access::OWNER).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn what_a_container_put_in_the_place_of_a_socket_keeps_its_mode() {
        let directory = tempfile::tempdir().unwrap();
        let (precious, link) = (directory.path().join("shadow"), directory.path().join(".agent.sock.new"));
        fs::write(&precious, "").unwrap();
        fs::set_permissions(&precious, Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&precious, &link).unwrap();
        let access = Access { mode: 0o666, group: None, anybody: true };
        for place in [&link, &precious] {
            assert_eq!(open_up(place, access).unwrap_err().kind(), ErrorKind::AlreadyExists);
        }
        assert_eq!(mode(&precious), 0o600);
    }

    #[test]
    fn root_and_oneself_are_trusted() {
        assert!(is_trusted(0, 1000) && is_trusted(1000, 1000) && is_trusted(0, 0));
        assert!(!is_trusted(1000, 0) && !is_trusted(1001, 1000));
    }
}
