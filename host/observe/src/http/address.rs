//! The addresses that may serve metrics and health: loopback or a unix socket.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use serde::{Deserialize, Serialize};
use tokio::net::{UnixListener, UnixStream};

/// An address that only this node can reach: `127.0.0.1:9464`, `[::1]:9464` or `unix:/run/tenure/metrics.sock`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ListenAddress {
    /// A loopback address and port.
    Tcp(SocketAddr),
    /// The path of a unix socket.
    Unix(PathBuf),
}

/// Why an address is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The address can be reached from other nodes, or from pods.
    #[error("{0} is not a loopback address: metrics are served only on 127.0.0.0/8, [::1] or unix:PATH")]
    NotLoopback(SocketAddr),
    /// The text is neither `IP:PORT` nor `unix:PATH` with an absolute path.
    #[error("{0:?} is neither a loopback IP:PORT nor unix:/ABSOLUTE/PATH")]
    Malformed(String),
}

impl FromStr for ListenAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let malformed = || AddressError::Malformed(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            return if path.is_absolute() { Ok(Self::Unix(path)) } else { Err(malformed()) };
        }
        let address: SocketAddr = text.parse().map_err(|_| malformed())?;
        if address.ip().to_canonical().is_loopback() {
            Ok(Self::Tcp(address))
        } else {
            Err(AddressError::NotLoopback(address))
        }
    }
}

impl TryFrom<String> for ListenAddress {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl From<ListenAddress> for String {
    fn from(address: ListenAddress) -> Self {
        address.to_string()
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(formatter),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

/// The file of a listening socket. The listener keeps its inode allocated, so no other file has the same inode
/// number.
#[derive(Debug, Clone)]
pub(super) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let found = std::fs::symlink_metadata(path)?;
        Ok(Self { path: path.to_owned(), device: found.dev(), inode: found.ino() })
    }

    pub(super) fn is_there(&self) -> bool {
        Self::at(&self.path).is_ok_and(|found| (found.device, found.inode) == (self.device, self.inode))
    }
}

/// Binds a socket file that its owner and group can use, replacing one that a dead process left behind.
pub(super) async fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket
        && UnixStream::connect(path)
            .await
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    // A scraper's container may write to the directory: by its path, a link in the socket's place would be followed.
    let socket = openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if !FileType::from_raw_mode(fstat(&socket)?.st_mode).is_socket() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let held = format!("/proc/self/fd/{}", socket.as_raw_fd());
    std::fs::set_permissions(held, std::fs::Permissions::from_mode(0o660))?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        text.parse::<ListenAddress>().unwrap_err().to_string()
    }

    #[test]
    fn loopback_and_sockets_are_taken_and_read_back_the_same() {
        for text in ["127.0.0.1:9464", "127.1.2.3:0", "[::1]:9464", "unix:/run/tenure/metrics.sock"] {
            assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_others_can_reach_is_refused_by_name() {
        insta::assert_snapshot!(refusal("0.0.0.0:9464"), @"0.0.0.0:9464 is not a loopback address: metrics are served only on 127.0.0.0/8, [::1] or unix:PATH");
        for text in
            ["[::]:9464", "10.0.0.1:9464", "169.254.20.10:9464", "[fe80::1]:9464", "[::ffff:10.0.0.1]:1"]
        {
            assert!(matches!(text.parse::<ListenAddress>(), Err(AddressError::NotLoopback(_))), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_as_such() {
        insta::assert_snapshot!(refusal("localhost:9464"), @r#""localhost:9464" is neither a loopback IP:PORT nor unix:/ABSOLUTE/PATH"#);
        for text in ["", "9464", "127.0.0.1", "unix:", "unix:metrics.sock", "/run/tenure/metrics.sock"] {
            assert!(matches!(text.parse::<ListenAddress>(), Err(AddressError::Malformed(_))), "{text}");
        }
    }

    #[tokio::test]
    async fn a_socket_left_behind_is_replaced_and_one_in_use_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("metrics.sock");
        let first = bind_unix(&path).await.unwrap();
        assert_eq!(bind_unix(&path).await.unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(first);
        bind_unix(&path).await.unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o660);
    }

    #[tokio::test]
    async fn a_file_that_is_no_socket_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("metrics.sock");
        std::fs::write(&path, "precious").unwrap();
        assert_eq!(bind_unix(&path).await.unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    }
}
