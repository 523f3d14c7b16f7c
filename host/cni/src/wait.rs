//! A minimal executor: one task, one socket, one deadline.
//!
//! The HTTP/2 client is a future, but a process with one socket needs no async runtime. [`drive`] polls the future whenever the
//! socket is ready, and gives up at the deadline.

use std::cell::Cell;
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::deadline::Deadline;

/// The outcome of a wait.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WaitOutcome {
    Ready,
    Late,
}

/// Waits until a descriptor is ready, broken or closed, or the deadline passes.
pub(crate) fn until(
    descriptor: &impl AsFd,
    events: PollFlags,
    deadline: Deadline,
) -> io::Result<WaitOutcome> {
    loop {
        let Some(remaining) = deadline.remaining() else { return Ok(WaitOutcome::Late) };
        match poll(&mut [PollFd::new(descriptor, events)], Some(&timespec(remaining))) {
            // The loop checks the clock again.
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(WaitOutcome::Ready),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The pauses between attempts to reach a daemon: short at first, and never so long that a pod feels it.
///
/// The run directory is not watched: with hundreds of waiting pods, the kernel's limit of inotify instances would be reached.
pub(crate) struct Pauses {
    next: Duration,
    end: Deadline,
}

impl Pauses {
    const FIRST: Duration = Duration::from_millis(5);
    const LONGEST: Duration = Duration::from_millis(100);

    /// Pauses until a deadline.
    pub(crate) fn until(end: Deadline) -> Self {
        Self { next: Self::FIRST, end }
    }

    /// Pauses; returns whether to make another attempt.
    pub(crate) fn pause(&mut self) -> bool {
        let Some(remaining) = self.end.remaining() else { return false };
        // A signal only shortens it.
        let _ = poll(&mut [], Some(&timespec(self.next.min(remaining))));
        self.next = (self.next * 2).min(Self::LONGEST);
        true
    }
}

/// Runs a future that reads and writes one socket; `None` if the deadline passes first.
pub(crate) fn drive<F: Future>(
    socket: &WaitSocket,
    deadline: Deadline,
    future: F,
) -> io::Result<Option<F::Output>> {
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Ok(Some(output));
        }
        // Parts of the future may wake each other; then poll again before waiting for the socket.
        if woken.0.swap(false, Ordering::Relaxed) {
            continue;
        }
        let events = if socket.send() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
        if until(socket, events, deadline)? == WaitOutcome::Late {
            return Ok(None);
        }
    }
}

/// A connected, non-blocking socket. It registers no waker: only [`drive`] may run a future that uses it.
///
/// Writes are buffered and sent when the future is waiting, so that the whole request is sent at once and wakes the daemon once.
/// Flow control bounds the buffer.
#[derive(Clone)]
pub(crate) struct WaitSocket {
    shared: Rc<SocketBuffer>,
}

struct SocketBuffer {
    stream: UnixStream,
    outgoing: Cell<Vec<u8>>,
}

impl WaitSocket {
    pub(crate) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { shared: Rc::new(SocketBuffer { stream, outgoing: Cell::default() }) })
    }

    /// Sends the buffered bytes; returns whether all of them were sent.
    fn send(&self) -> bool {
        let mut outgoing = self.shared.outgoing.take();
        while !outgoing.is_empty() {
            match (&self.shared.stream).write(&outgoing) {
                Ok(sent) => drop(outgoing.drain(..sent)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The peer is gone. Reading reports that too, after returning what the peer has still sent.
                Err(_) => outgoing.clear(),
            }
        }
        let all = outgoing.is_empty();
        self.shared.outgoing.set(outgoing);
        all
    }

    fn push(&self, bytes: &[u8]) {
        let mut outgoing = self.shared.outgoing.take();
        outgoing.extend_from_slice(bytes);
        self.shared.outgoing.set(outgoing);
    }
}

impl AsFd for WaitSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.stream.as_fd()
    }
}

impl AsyncRead for WaitSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match (&self.shared.stream).read(buffer.initialize_unfilled()) {
            Ok(length) => {
                buffer.advance(length);
                Poll::Ready(Ok(()))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl AsyncWrite for WaitSocket {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.push(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.shared.stream.shutdown(Shutdown::Write))
    }
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn timespec(duration: Duration) -> Timespec {
    let tv_sec = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    Timespec { tv_sec, tv_nsec: i64::from(duration.subsec_nanos()) }
}
