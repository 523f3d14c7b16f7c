//! A socket while a part listens on it: reports problems with it, and removes it when the part stops.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::Stream;
use tenure_conditions::Report;
use tenure_rpc::door::{Access, Door, Told};
use tenure_rpc::server::UnderWay;
use tenure_supervise::{beat, idle_beat};
use tokio::net::UnixStream;

use super::folder::FolderWatch;

/// How often to check the socket's file; on an idle node, only this long after a file of its folder was taken away, or once in a while.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// A socket on which the daemon cannot listen.
#[derive(Debug, thiserror::Error)]
#[error("socket {}", path.display())]
pub(crate) struct SocketUnusable {
    /// The socket.
    pub(crate) path: PathBuf,
    /// The system's error.
    #[source]
    pub(crate) source: io::Error,
}

/// A socket's file and the requests received on it, until the part stops.
pub(super) struct Listening<'part> {
    path: &'part Path,
    under_way: &'part UnderWay,
}

impl<'part> Listening<'part> {
    /// Listens, and reports when the socket is missing.
    pub(super) fn at(
        path: &'part Path,
        under_way: &'part UnderWay,
        report: Report,
    ) -> Result<(Self, impl Stream<Item = io::Result<UnixStream>> + Send + use<>), SocketUnusable> {
        Self::open_to(path, Access::OWNER, under_way, report)
    }

    /// As [`at`](Self::at), for others as well.
    pub(super) fn open_to(
        path: &'part Path,
        access: Access,
        under_way: &'part UnderWay,
        report: Report,
    ) -> Result<(Self, impl Stream<Item = io::Result<UnixStream>> + Send + use<>), SocketUnusable> {
        let door = Door::open_to(path.to_owned(), access);
        let door = door.map_err(|source| SocketUnusable { path: path.to_owned(), source })?;
        let watched = path.to_owned();
        let connections = door.connections(
            move || time_to_look(watched.clone()),
            move |told: Told<'_>| match told {
                Ok(()) => report.well(),
                Err(message) => report.wrong(message),
            },
        );
        Ok((Self { path, under_way }, connections))
    }
}

/// Waits until a socket's file is to be checked.
async fn time_to_look(path: PathBuf) {
    let watch = path.parent().and_then(|folder| FolderWatch::on_losses(folder).ok());
    let lost = async move {
        // Without a watch, only looking helps.
        if let Some(mut watch) = watch {
            _ = watch.changed().await;
        }
    };
    tokio::select! {
        () = idle_beat(LOOK_AGAIN) => return,
        () = lost => {}
    }
    beat(LOOK_AGAIN).await;
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        let requests = self.under_way.count();
        if requests > 0 {
            let socket = self.path.display();
            tracing::warn!(%socket, requests, "cutting off requests that are still in flight after limits.drain_seconds");
        }
        // It may already be gone.
        let _ = std::fs::remove_file(self.path);
    }
}
