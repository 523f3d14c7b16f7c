//! The container runtime's socket: whether something answers there that speaks HTTP/2, as gRPC does.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::node::{Location, NodePaths};
use crate::report::NodeCheck;

/// The sockets of containerd and CRI-O.
const KNOWN: [&str; 2] = ["/run/containerd/containerd.sock", "/run/crio/crio.sock"];

/// The longest that an answer may take.
const LIMIT: Duration = Duration::from_secs(5);

/// A client's beginning of HTTP/2: its preface, and a frame of settings without any.
const HELLO: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";

/// The length of a frame's head, and the type of a frame of settings, with which a server begins.
const HEAD: usize = 9;
const SETTINGS: u8 = 4;

/// Checks the socket that is given, or else the first that exists.
pub(super) fn socket(node: &NodePaths, given: Option<&Path>) -> NodeCheck {
    const NAME: &str = "runtime-socket";
    let known = || KNOWN.map(|known| node.at(Path::new(known))).into_iter().find(|at| at.real.exists());
    let Some(socket) = given.map(|given| node.at(without_scheme(given))).or_else(known) else {
        return NodeCheck::warning(
            NAME,
            format!("neither {} exists", KNOWN.join(" nor ")),
            "start the container runtime, or pass its socket with --runtime-socket",
        );
    };
    let named = socket.named.display();
    match answers(&socket) {
        Ok(()) => NodeCheck::fine(NAME, format!("{named} answers")),
        Err(error) => NodeCheck::problem(
            NAME,
            format!("{named}: {error}"),
            "start the container runtime; tenured learns from it which sandboxes exist",
        ),
    }
}

/// The path of a socket that is given as in tenured.toml.
fn without_scheme(given: &Path) -> &Path {
    let text = given.to_str().and_then(|text| text.strip_prefix("unix://"));
    text.map_or(given, Path::new)
}

fn answers(socket: &Location) -> io::Result<()> {
    let mut stream = connected(&socket.real, LIMIT)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    stream.write_all(HELLO)?;
    let mut head = [0; HEAD];
    stream.read_exact(&mut head).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => silent(LIMIT),
        io::ErrorKind::UnexpectedEof => io::Error::other("it closes the connection"),
        _ => error,
    })?;
    let [_, _, _, kind, ..] = head;
    if kind == SETTINGS { Ok(()) } else { Err(io::Error::other("it does not speak gRPC")) }
}

/// Connects, on a thread of its own: with a runtime that hangs, whose queue of connections is full, that waits for ever, and so does the thread, which
/// ends with this program.
fn connected(socket: &Path, limit: Duration) -> io::Result<UnixStream> {
    let ((sender, streams), socket) = (mpsc::channel(), socket.to_owned());
    thread::spawn(move || sender.send(UnixStream::connect(socket)));
    streams.recv_timeout(limit).unwrap_or_else(|_| Err(silent(limit)))
}

fn silent(limit: Duration) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("no answer in {} s", limit.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    /// Regression: the whole diagnosis waited for good.
    #[test]
    fn a_runtime_that_accepts_nothing_holds_up_no_diagnosis() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("containerd.sock");
        let listener = UnixListener::bind(&path).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let _queued = connected(&path, LIMIT).unwrap();
        let error = connected(&path, Duration::from_millis(100)).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (io::ErrorKind::TimedOut, "no answer in 0.1 s")
        );
    }
}
