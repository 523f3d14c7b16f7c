//! Replaying the DELs that the CNI plugin spooled while no daemon was running, and the DELs and GCs that the daemon
//! [deferred](crate::deferral) while the state was lost.
//!
//! Nothing is replayed while the state is lost: the runtime was told that they succeeded, and the state that they apply to
//! may come back.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenure_observe::Metrics;
use tenure_rpc::cni::CniService;
use tenure_rpc::status::{GrpcCode, grpc_code};
use tenure_spool::{Aside, Spool, Verb};

use crate::state_seen::StateSeen;

/// The spool, and the service that processes its DELs.
pub(crate) struct Replay {
    spool: Spool,
    cni: CniService,
    metrics: Arc<Metrics>,
    state_seen: Arc<StateSeen>,
    /// Files that could not even be set aside, which are logged once.
    told: HashSet<PathBuf>,
}

impl Replay {
    pub(crate) fn new(
        spool: Spool,
        cni: CniService,
        metrics: Arc<Metrics>,
        state_seen: Arc<StateSeen>,
    ) -> Self {
        Self { spool, cni, metrics, state_seen, told: HashSet::new() }
    }

    /// Replays the spool once. Only one file at a time is in memory, and a bad file does not stop the others.
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
        for path in waiting {
            if self.replay(&path).await {
                replayed += 1;
            }
        }
        if replayed > 0 {
            tracing::info!(
                replayed,
                "replayed what was spooled while the daemon was down or the state was lost"
            );
            self.metrics.spool_replayed(replayed);
        }
    }

    /// Replays one file; returns whether it is done.
    async fn replay(&mut self, path: &Path) -> bool {
        let invocation = match self.spool.read(path) {
            Ok(invocation) => invocation,
            Err(error)
                if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::PermissionDenied) =>
            {
                self.set_aside(path, Aside::Unreadable, &error);
                return false;
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot read a spooled DEL; will retry");
                return false;
            }
        };
        let served = match Verb::of(path) {
            Some(Verb::Gc) => self.cni.gc(&invocation).await,
            _ => self.cni.del(&invocation).await,
        };
        match served {
            Ok(()) => {
                if let Err(error) = self.spool.settle(path) {
                    tracing::warn!(%error, "cannot remove a replayed DEL from the spool; replaying it again is harmless");
                }
                true
            }
            // The request is invalid whatever the state of the node, so retrying does not help.
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
