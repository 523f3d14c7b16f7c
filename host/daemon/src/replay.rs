//! Replaying the DELs that the CNI plugin spooled while no daemon was there.

use std::sync::Arc;
use std::time::Duration;

use tenure_observe::Metrics;
use tenure_rpc::cni_service::CniService;
use tenure_rpc::spool::Spool;

/// How often the spool is looked at: a plugin may write to it just as the daemon starts to listen.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Replays what is spooled, once.
pub(crate) async fn once(spool: &Spool, cni: &CniService, metrics: &Metrics) {
    let (waiting, unreadable) = match spool.read() {
        Ok(found) => found,
        Err(error) => {
            tracing::error!(%error, "the spool of DELs cannot be read; it is tried again");
            return;
        }
    };
    for path in unreadable {
        tracing::error!(path = %path.display(), "a spooled DEL cannot be read and was set aside");
        metrics.spool_set_aside();
    }
    let mut replayed = 0;
    for spooled in waiting {
        match cni.release(&spooled.invocation).await {
            Ok(()) => {
                replayed += 1;
                if let Err(error) = spool.settle(&spooled) {
                    tracing::warn!(%error, "a replayed DEL stays in the spool; doing it again does no harm");
                }
            }
            Err(error) => {
                tracing::warn!(code = error.code.name(), cause = error.cause, "a spooled DEL waits on");
            }
        }
    }
    if replayed > 0 {
        tracing::info!(replayed, "replayed DELs that were spooled while the daemon was away");
        metrics.spool_replayed(replayed);
    }
}

/// Looks at the spool for as long as the daemon serves.
pub(crate) async fn keep_looking(spool: Spool, cni: CniService, metrics: Arc<Metrics>) {
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        once(&spool, &cni, &metrics).await;
    }
}
