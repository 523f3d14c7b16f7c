//! Replaying the DELs that the CNI plugin spooled while no daemon was there.
//!
//! Not while the state is lost: whoever wrote them was told that they will be done, and the state that they are meant for may
//! come back.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenure_observe::Metrics;
use tenure_rpc::cni::CniService;
use tenure_rpc::status::{GrpcCode, grpc_code};
use tenure_spool::{Aside, Spool};

use crate::state_seen::StateSeen;

/// The spool, and who does what it holds.
pub(crate) struct Replay {
    spool: Spool,
    cni: CniService,
    metrics: Arc<Metrics>,
    state_seen: Arc<StateSeen>,
    /// What could not even be set aside, and was told once.
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

    /// Replays what is spooled, once. One file at a time is in memory, and none keeps the others from being done.
    pub(crate) async fn once(&mut self) {
        if self.state_seen.is_lost() {
            return;
        }
        let waiting = match self.spool.waiting() {
            Ok(waiting) => waiting,
            Err(error) => {
                tracing::error!(%error, "the spool of DELs cannot be read; it is tried again");
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
            tracing::info!(replayed, "replayed DELs that were spooled while the daemon was away");
            self.metrics.spool_replayed(replayed);
        }
    }

    /// Replays one; says whether it is done.
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
                tracing::warn!(path = %path.display(), %error, "a spooled DEL cannot be read yet");
                return false;
            }
        };
        match self.cni.del(&invocation).await {
            Ok(()) => {
                if let Err(error) = self.spool.settle(path) {
                    tracing::warn!(%error, "a replayed DEL stays in the spool; doing it again does no harm");
                }
                true
            }
            // What is asked is wrong whatever the state of the node, so asking again does not help.
            Err(error) if grpc_code(error.code) == GrpcCode::InvalidArgument => {
                self.set_aside(path, Aside::Refused, &error);
                false
            }
            Err(error) => {
                tracing::warn!(code = error.code.name(), cause = error.cause, "a spooled DEL waits on");
                false
            }
        }
    }

    /// Sets aside what can never be done; what cannot be set aside is skipped from now on, and told once.
    fn set_aside(&mut self, path: &Path, why: Aside, cause: &dyn std::fmt::Display) {
        match self.spool.set_aside(path, why) {
            Ok(aside) => {
                tracing::error!(path = %aside.display(), %cause, "a spooled DEL cannot be done and was set aside");
            }
            Err(error) if self.told.insert(path.to_owned()) => {
                tracing::error!(path = %path.display(), %cause, %error, "a spooled DEL cannot be done, nor be set aside; it is skipped");
            }
            Err(_) => return,
        }
        self.metrics.spool_set_aside();
    }
}
