//! An address that leads to another, so that a service on loopback is also found elsewhere. Unlike a translation by the kernel, it is what a
//! unit's `IPAddressDeny=` looks at.

use std::net::SocketAddr;
use std::path::Path;
use std::thread::JoinHandle;

use anyhow::Context;
use tenure_e2e::traffic;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// An open door. Dropping it closes it, and ends every connection through it.
pub(crate) struct Door {
    closing: Option<oneshot::Sender<()>>,
    keeper: Option<JoinHandle<anyhow::Result<()>>>,
}

impl Door {
    /// Opens one in a network namespace.
    pub(crate) fn open(netns: &Path, door: &str, behind: &str) -> anyhow::Result<Self> {
        let (door, behind): (SocketAddr, SocketAddr) = (door.parse()?, behind.parse()?);
        let (closing, closed) = oneshot::channel();
        let (opening, opened) = std::sync::mpsc::channel();
        let netns = netns.to_owned();
        let keeper = std::thread::spawn(move || {
            traffic::inside(&netns, || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(async {
                    let listener = TcpListener::bind(door).await.with_context(|| door.to_string())?;
                    opening.send(())?;
                    tokio::select! {
                        never = lead(&listener, behind) => never,
                        _ = closed => Ok(()),
                    }
                })
            })
        });
        // If it cannot be opened, each caller gets an error.
        let _ = opened.recv();
        Ok(Self { closing: Some(closing), keeper: Some(keeper) })
    }
}

/// Lets everybody through.
async fn lead(listener: &TcpListener, behind: SocketAddr) -> anyhow::Result<()> {
    loop {
        let (mut outside, _) = listener.accept().await?;
        tokio::spawn(async move {
            // Either side may end it.
            let mut inside = TcpStream::connect(behind).await?;
            copy_bidirectional(&mut outside, &mut inside).await
        });
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        drop(self.closing.take());
        // Callers that found it closed have seen its failure.
        let _ = self.keeper.take().map(JoinHandle::join);
    }
}
