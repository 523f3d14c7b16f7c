//! Waiting: one task, one socket, one deadline.
//!
//! HTTP/2 is driven as a future, but a runtime is more than a process with one socket needs. [`drive`] polls the
//! future again whenever the socket is ready, and gives up at the deadline.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::deadline::Deadline;

/// How a wait has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    Ready,
    Late,
}

/// Waits until a descriptor is ready, broken or closed, or the deadline is over.
pub(crate) fn until(descriptor: &impl AsFd, events: PollFlags, deadline: Deadline) -> io::Result<Readiness> {
    loop {
        let Some(remaining) = deadline.remaining() else { return Ok(Readiness::Late) };
        match poll(&mut [PollFd::new(descriptor, events)], Some(&timespec(remaining))) {
            // The clock says whether it is over.
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(Readiness::Ready),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Runs a future that reads and writes one socket; `None` when the deadline came first.
pub(crate) fn drive<F: Future>(
    socket: &Socket,
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
        // Parts of the future wake each other: then there is something to do before the socket moves.
        if woken.0.swap(false, Ordering::Relaxed) {
            continue;
        }
        let full = socket.shared.full.swap(false, Ordering::Relaxed);
        let events = if full { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        if until(socket, events, deadline)? == Readiness::Late {
            return Ok(None);
        }
    }
}

/// A connected socket that never blocks. It registers no waker: only [`drive`] may run what uses it.
#[derive(Debug, Clone)]
pub(crate) struct Socket {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    stream: UnixStream,
    /// The last write found no room. An atomic only because futures of the HTTP/2 library are `Send`.
    full: AtomicBool,
}

impl Socket {
    pub(crate) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { shared: Arc::new(Shared { stream, full: AtomicBool::new(false) }) })
    }

    fn written(&self, result: io::Result<usize>) -> Poll<io::Result<usize>> {
        let result = pending(result);
        if result.is_pending() {
            self.shared.full.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.stream.as_fd()
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = (&self.shared.stream).read(buffer.initialize_unfilled());
        pending(read).map_ok(|length| buffer.advance(length))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.written((&self.shared.stream).write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.written((&self.shared.stream).write_vectored(parts))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.shared.stream.shutdown(std::net::Shutdown::Write))
    }
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn pending(result: io::Result<usize>) -> Poll<io::Result<usize>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
        result => Poll::Ready(result),
    }
}

fn timespec(duration: Duration) -> Timespec {
    let tv_sec = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    Timespec { tv_sec, tv_nsec: i64::from(duration.subsec_nanos()) }
}
