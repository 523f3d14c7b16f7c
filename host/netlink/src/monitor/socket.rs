//! A netlink socket that listens to multicast groups.

use std::fmt;
use std::future::poll_fn;
use std::io;

use rtnetlink::sys::{AsyncSocket as _, SocketAddr, TokioSocket};
use rustix::io::Errno;

/// A socket.
pub(super) struct MonitorSocket(TokioSocket);

impl MonitorSocket {
    /// Opens a socket of a netlink protocol that listens to these groups.
    pub(super) fn open(protocol: isize, groups: &[u32]) -> io::Result<Self> {
        let mut socket = TokioSocket::new(protocol)?;
        let inner = socket.socket_mut();
        inner.bind(&SocketAddr::new(0, 0))?;
        for group in groups {
            inner.add_membership(*group)?;
        }
        Ok(Self(socket))
    }

    /// Waits for the next message; `None` if some were lost.
    pub(super) async fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        match poll_fn(|context| self.0.poll_recv_from_full(context)).await {
            Ok((bytes, _)) => Ok(Some(bytes)),
            Err(error) if error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error()) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl fmt::Debug for MonitorSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Socket")
    }
}
