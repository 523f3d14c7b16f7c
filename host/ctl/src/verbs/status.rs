//! `tenurectl status`, and waiting until the node serves ADD.

use std::time::Duration;

use tenure_rpc::v1;
use tenure_types::Error;

use crate::daemon::Daemon;
use crate::exit::Exit;
use crate::render::Report;

/// The polling interval of `--wait`.
const AGAIN: Duration = Duration::from_millis(100);

/// The minimum timeout of a call, however short the wait; a healthy daemon answers within it.
const SHORTEST: Duration = Duration::from_secs(1);

/// Asks once or, with `wait`, until the node serves ADD or the time is over. Returns the last answer.
pub(super) async fn status(daemon: &Daemon, wait: Option<Duration>) -> Result<Report, Error> {
    let Some(wait) = wait else { return once(daemon).await };
    let started = tokio::time::Instant::now();
    loop {
        let left = wait.saturating_sub(started.elapsed());
        let last = once(&daemon.within(left.max(SHORTEST))).await;
        let served = last.as_ref().is_ok_and(|report| report.exit() == Exit::Done);
        if served || started.elapsed() + AGAIN >= wait {
            return last;
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn once(daemon: &Daemon) -> Result<Report, Error> {
    daemon.call(async |mut admin| admin.get_status(v1::GetStatusRequest {}).await).await.map(Report::of)
}
