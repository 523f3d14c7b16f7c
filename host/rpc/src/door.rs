//! A socket that restores itself: if its file is deleted or replaced, it is created again.
//!
//! Accepted connections are not affected by the file; pending connections are accepted before the socket is recreated.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;

use futures_util::{FutureExt as _, Stream};
use tokio::net::{UnixListener, UnixStream};

pub use crate::socket::Access;
use crate::socket::{self, SocketInode};

/// A listening socket, and the identity of its file.
#[derive(Debug)]
pub struct Door {
    path: PathBuf,
    access: Access,
    listener: UnixListener,
    file: SocketInode,
}

/// The most connections that are accepted, while others wait, before the file is looked at.
const MOST_IN_A_ROW: u32 = 64;

/// A report about a socket: `Err` with the problem, and `Ok` once the socket is back.
pub type Told<'a> = Result<(), &'a str>;

impl Door {
    /// Creates a socket that only its owner may use, and listens on it. Needs a tokio runtime.
    ///
    /// # Errors
    /// `AddrInUse` if another process listens there; `AlreadyExists` if the path is not a socket.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        Self::open_to(path, Access::OWNER)
    }

    /// As [`open`](Self::open), for others as well.
    ///
    /// # Errors
    /// As [`open`](Self::open); `PermissionDenied` if the daemon may not give it to the group.
    pub fn open_to(path: PathBuf, access: Access) -> io::Result<Self> {
        let (listener, file) = socket::listen(&path, access)?;
        Ok(Self { path, access, listener, file })
    }

    /// The stream of accepted connections. While it is polled, the socket's file is checked whenever `pause` ends; `tell` is called when
    /// it is gone and when it is back.
    pub fn connections<P: Future<Output = ()>>(
        self,
        pause: impl Fn() -> P,
        tell: impl Fn(Told<'_>),
    ) -> impl Stream<Item = io::Result<UnixStream>> {
        self.watched(pause, tell, crate::peer::forks::note)
    }

    /// As [`connections`](Self::connections); `note` is called where nobody waits at a socket that anybody may use.
    fn watched<P: Future<Output = ()>>(
        self,
        pause: impl Fn() -> P,
        tell: impl Fn(Told<'_>),
        note: impl Fn(),
    ) -> impl Stream<Item = io::Result<UnixStream>> {
        let paused = Box::pin(pause());
        let state = WatchedDoor { door: self, pause, paused, in_a_row: 0, is_gone: false, tell, note };
        futures_util::stream::unfold(state, |mut state| async move {
            let stream = state.next().await;
            Some((Ok(stream), state))
        })
    }

    fn is_there(&self) -> bool {
        SocketInode::at(&self.path).is_ok_and(|found| found == self.file)
    }
}

/// A door under watch.
struct WatchedDoor<F, P, T, N> {
    door: Door,
    pause: P,
    /// The present pause. Connections do not prolong it.
    paused: Pin<Box<F>>,
    /// Connections that were accepted since the last look.
    in_a_row: u32,
    is_gone: bool,
    tell: T,
    note: N,
}

impl<F: Future<Output = ()>, P: Fn() -> F, T: Fn(Told<'_>), N: Fn()> WatchedDoor<F, P, T, N> {
    async fn next(&mut self) -> UnixStream {
        // Who connects again and again does not keep the daemon from looking.
        if self.in_a_row >= MOST_IN_A_ROW && self.paused.as_mut().now_or_never().is_some() {
            self.pause_is_over();
        }
        loop {
            tokio::select! {
                // Connections that wait are accepted before the socket is created again.
                biased;
                stream = socket::accept(&self.door.listener, self.door.access) => {
                    self.in_a_row = self.in_a_row.saturating_add(1);
                    return stream;
                }
                () = &mut self.paused => {
                    // Only here: a connection that waits was made before the note.
                    if self.door.access.anybody {
                        (self.note)();
                    }
                    self.pause_is_over();
                }
            }
        }
    }

    fn pause_is_over(&mut self) {
        self.in_a_row = 0;
        self.paused.set((self.pause)());
        self.look();
    }

    /// Creates the socket again if its file was deleted or replaced.
    fn look(&mut self) {
        if self.door.is_there() {
            return;
        }
        let path = self.door.path.clone();
        if !self.is_gone {
            (self.tell)(Err(&format!("{} was deleted or replaced", path.display())));
            self.is_gone = true;
        }
        match Door::open_to(path, self.door.access) {
            Ok(door) => {
                self.door = door;
                self.is_gone = false;
                (self.tell)(Ok(()));
            }
            Err(error) => {
                let path = self.door.path.display();
                (self.tell)(Err(&format!(
                    "{path} was deleted or replaced, and cannot be created again: {error}"
                )));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream as BlockingStream;
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::task::{Context, Poll};
    use std::time::Duration;

    use futures_util::StreamExt as _;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
    use tokio::time::sleep;

    use super::*;

    /// The time limit for any wait, on a busy machine.
    const LIMIT: Duration = Duration::from_secs(60);

    const SOON: Duration = Duration::from_millis(10);

    /// A door in a task of its own.
    struct Open {
        streams: UnboundedReceiver<UnixStream>,
        told: UnboundedReceiver<Result<(), String>>,
    }

    impl Open {
        fn at(path: &Path) -> Self {
            let (accepted, streams) = unbounded_channel();
            let (tell, told) = unbounded_channel();
            let door = Door::open(path.to_path_buf()).unwrap();
            tokio::spawn(async move {
                let told = move |what: Told<'_>| _ = tell.send(what.map_err(str::to_owned));
                let mut connections = std::pin::pin!(door.connections(|| sleep(SOON), told));
                while let Some(Ok(stream)) = connections.next().await {
                    let _ = accepted.send(stream);
                }
            });
            Self { streams, told }
        }

        async fn accepted(&mut self) -> UnixStream {
            tokio::time::timeout(LIMIT, self.streams.recv()).await.unwrap().unwrap()
        }

        async fn told(&mut self) -> Result<(), String> {
            tokio::time::timeout(LIMIT, self.told.recv()).await.unwrap().unwrap()
        }
    }

    #[tokio::test]
    async fn a_socket_that_was_deleted_is_recreated_and_its_connections_live() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cni.sock");
        let mut door = Open::at(&path);
        let before = BlockingStream::connect(&path).unwrap();
        let mut served = door.accepted().await;
        std::fs::remove_file(&path).unwrap();
        assert!(door.told().await.unwrap_err().contains("was deleted or replaced"));
        assert_eq!(door.told().await, Ok(()));
        BlockingStream::connect(&path).unwrap();
        door.accepted().await;
        tokio::io::AsyncWriteExt::write_all(&mut served, b"x").await.unwrap();
        let mut byte = [0];
        std::io::Read::read_exact(&mut &before, &mut byte).unwrap();
        assert_eq!(&byte, b"x");
    }

    #[tokio::test]
    async fn who_connects_again_and_again_does_not_keep_it_from_looking() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("agent.sock");
        let moved = directory.path().join("moved.sock");
        let door = Door::open(path.clone()).unwrap();
        let is_over = AtomicBool::new(false);
        let ends =
            |_: &mut Context<'_>| if is_over.swap(false, Relaxed) { Poll::Ready(()) } else { Poll::Pending };
        let (tell, mut told) = unbounded_channel();
        let connections =
            door.connections(|| std::future::poll_fn(ends), move |what| _ = tell.send(what.is_ok()));
        let mut connections = std::pin::pin!(connections);
        // One always waits.
        let mut waiting = vec![BlockingStream::connect(&path).unwrap()];
        waiting.push(BlockingStream::connect(&path).unwrap());
        connections.next().await.unwrap().unwrap();
        std::fs::rename(&path, &moved).unwrap();
        is_over.store(true, Relaxed);
        for _ in 0..=MOST_IN_A_ROW {
            assert!(told.try_recv().is_err(), "it looked although others waited");
            waiting.push(BlockingStream::connect(&moved).unwrap());
            // Nobody connects to the new one.
            if connections.next().now_or_never().is_none() {
                break;
            }
        }
        assert_eq!(told.try_recv(), Ok(false), "it has not looked");
        assert_eq!(told.try_recv(), Ok(true));
    }

    /// Regression: the count of processes was noted while others waited, who had connected before.
    #[tokio::test]
    async fn nothing_is_noted_while_others_wait() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("agent.sock");
        let door = Door::open_to(path.clone(), Access { anybody: true, ..Access::OWNER }).unwrap();
        let is_over = AtomicBool::new(false);
        let ends =
            |_: &mut Context<'_>| if is_over.swap(false, Relaxed) { Poll::Ready(()) } else { Poll::Pending };
        let notes = std::sync::atomic::AtomicU32::new(0);
        let note = || _ = notes.fetch_add(1, Relaxed);
        let connections = door.watched(|| std::future::poll_fn(ends), |_| {}, note);
        let mut connections = std::pin::pin!(connections);
        // One always waits.
        let mut waiting = Vec::from([(); 2].map(|()| BlockingStream::connect(&path).unwrap()));
        connections.next().await.unwrap().unwrap();
        is_over.store(true, Relaxed);
        for _ in 0..=MOST_IN_A_ROW {
            waiting.push(BlockingStream::connect(&path).unwrap());
            connections.next().await.unwrap().unwrap();
        }
        assert_eq!(
            (is_over.load(Relaxed), notes.load(Relaxed)),
            (false, 0),
            "it has looked, and noted nothing"
        );
        connections.next().await.unwrap().unwrap();
        is_over.store(true, Relaxed);
        assert!(connections.next().now_or_never().is_none(), "nobody waits");
        assert_eq!(notes.load(Relaxed), 1);
    }

    #[tokio::test]
    async fn what_took_its_place_is_left_alone_and_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cni.sock");
        let mut door = Open::at(&path);
        std::fs::write(directory.path().join("file"), "precious").unwrap();
        std::fs::rename(directory.path().join("file"), &path).unwrap();
        while !door.told().await.unwrap_err().contains("is not a socket") {}
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
        std::fs::remove_file(&path).unwrap();
        while door.told().await.is_err() {}
        BlockingStream::connect(&path).unwrap();
        door.accepted().await;
    }
}
