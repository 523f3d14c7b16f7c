//! Replaying the DELs that the CNI plugin spooled while no daemon was running, and the DELs and GCs that the daemon
//! [deferred](crate::deferral) while the state was lost.
//!
//! Each waits for its own key, network and link alone: one that hangs keeps neither the others nor the sockets waiting. A DEL is in
//! its key's line from the start, so that an ADD of the same key that comes later is served after it.
//!
//! Nothing is replayed while the state is lost: the runtime was told that these succeeded, and the state that they apply to
//! may come back.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tenure_observe::Metrics;
use tenure_rpc::cni::CniService;
use tenure_rpc::status::{GrpcCode, grpc_code};
use tenure_spool::{Aside, Spool, Verb};
use tenure_types::Result;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::state_seen::StateSeen;

/// How many DELs are under way at once.
const AT_ONCE: usize = 32;

/// How long the DELs of one pass are waited for; those that take longer go on.
const PATIENCE: Duration = Duration::from_secs(5);

/// The spool, and the service that processes its DELs.
pub(crate) struct SpoolReplay {
    spool: Spool,
    cni: CniService,
    metrics: Arc<Metrics>,
    state_seen: Arc<StateSeen>,
    /// Files that could not even be set aside, which are logged once.
    told: HashSet<PathBuf>,
    /// The DELs that have begun and not ended, each of which answers with its file.
    under_way: JoinSet<(PathBuf, Result<()>)>,
    /// Files of the recordings begun.
    begun: HashSet<PathBuf>,
}

impl SpoolReplay {
    pub(crate) fn new(
        spool: Spool,
        cni: CniService,
        metrics: Arc<Metrics>,
        state_seen: Arc<StateSeen>,
    ) -> Self {
        let (told, begun) = (HashSet::new(), HashSet::new());
        Self { spool, cni, metrics, state_seen, told, under_way: JoinSet::new(), begun }
    }

    /// Replays the spool once: begins each DEL that is not under way, and waits for those that end soon. Few files at a time are in
    /// memory, and a bad file does not stop the others.
    pub(crate) async fn once(&mut self) {
        if self.state_seen.is_lost() {
            return;
        }
        let waiting = match self.spool.waiting() {
            Ok(waiting) => waiting,
            Err(error) => {
                tracing::error!(%error, "cannot read the spool; will retry");
                return;
            }
        };
        self.told.retain(|path| waiting.contains(path));
        let mut replayed = 0;
        let pass = async {
            for path in waiting {
                while self.under_way.len() >= AT_ONCE {
                    replayed += u64::from(self.ended().await);
                }
                if !self.begun.contains(&path) {
                    replayed += u64::from(self.begin(path));
                }
            }
            while !self.under_way.is_empty() {
                replayed += u64::from(self.ended().await);
            }
        };
        if timeout(PATIENCE, pass).await.is_err() {
            let left = self.under_way.len();
            tracing::warn!(left, "spooled DELs take long; going on without waiting for them");
        }
        if replayed > 0 {
            tracing::info!(
                replayed,
                "replayed what was spooled while the daemon was down or the state was lost"
            );
            self.metrics.spool_replayed(replayed);
        }
    }

    /// Begins a file's DEL or GC; returns whether it is done already.
    fn begin(&mut self, path: PathBuf) -> bool {
        let invocation = match self.spool.read(&path) {
            Ok(invocation) => invocation,
            Err(error)
                if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::PermissionDenied) =>
            {
                self.set_aside(&path, Aside::Unreadable, &error);
                return false;
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot read a spooled DEL; will retry");
                return false;
            }
        };
        let (cni, verb) = (self.cni.clone(), Verb::of(&path));
        let mut served = Box::pin(async move {
            match verb {
                Some(Verb::Gc) => cni.gc(&invocation).await,
                _ => cni.del(&invocation).await,
            }
        });
        // Polled here for the first time, it stands in its key's line before anything that comes later.
        if let Some(done) = served.as_mut().now_or_never() {
            return self.settle(&path, done);
        }
        self.begun.insert(path.clone());
        self.under_way.spawn(async move { (path, served.await) });
        false
    }

    /// Waits until one has ended; returns whether it is done.
    async fn ended(&mut self) -> bool {
        match self.under_way.join_next().await {
            Some(Ok((path, done))) => {
                self.begun.remove(&path);
                self.settle(&path, done)
            }
            // It panicked: whichever it was is begun again.
            Some(Err(error)) => {
                tracing::error!(%error, "a spooled DEL failed; will retry");
                self.under_way.abort_all();
                self.begun.clear();
                false
            }
            None => false,
        }
    }

    /// Treats a file as the outcome of its call demands; returns whether that is done.
    fn settle(&mut self, path: &Path, done: Result<()>) -> bool {
        match done {
            Ok(()) => {
                if let Err(error) = self.spool.settle(path) {
                    tracing::warn!(%error, "cannot remove a replayed DEL from the spool; replaying it again is harmless");
                }
                true
            }
            // The request is invalid in any state of the node, so retrying does not help.
            Err(error) if grpc_code(error.code) == GrpcCode::InvalidArgument => {
                self.set_aside(path, Aside::Refused, &error);
                false
            }
            Err(error) => {
                tracing::warn!(
                    code = error.code.name(),
                    cause = error.cause,
                    "a spooled DEL failed; will retry"
                );
                false
            }
        }
    }

    /// Sets aside a DEL that can never succeed. If that fails, the file stays in the spool and is logged once.
    fn set_aside(&mut self, path: &Path, why: Aside, cause: &dyn std::fmt::Display) {
        match self.spool.set_aside(path, why) {
            Ok(aside) => {
                tracing::error!(path = %aside.display(), %cause, "set aside a spooled DEL that cannot succeed");
            }
            Err(error) if self.told.insert(path.to_owned()) => {
                tracing::error!(path = %path.display(), %cause, %error, "cannot set aside a spooled DEL that cannot succeed; skipping it");
            }
            Err(_) => return,
        }
        self.metrics.spool_set_aside();
    }
}

#[cfg(test)]
mod tests;
