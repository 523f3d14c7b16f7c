//! `tenurectl log`: the checkpoint's own lines, read without the daemon.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tenure_checkpoint::{FileDisk, LogItem, LogReader};
use tenure_rpc::v1;
use tenure_types::Error;

use super::file::unreadable;
use crate::daemon::Daemon;

/// Where the checkpoint lies unless somebody says otherwise.
const STATE_DIR: &str = "/var/lib/tenure";

/// How soon a follower looks again.
const AGAIN: Duration = Duration::from_millis(200);

/// Hands over the log's items, and what comes after them when it is followed; for as long as they are wanted. Nothing is handed
/// over where that is all for now.
pub(crate) async fn log(
    daemon: &Daemon,
    state_dir: Option<PathBuf>,
    follow: bool,
    mut take: impl FnMut(Option<&LogItem>) -> Result<bool, Error>,
) -> Result<(), Error> {
    let directory = match state_dir {
        Some(directory) => directory,
        None => directory_of(daemon).await,
    };
    std::fs::read_dir(&directory).map_err(|error| unreadable(&directory, &error))?;
    let mut log = LogReader::new(Arc::new(FileDisk::existing(&directory)));
    loop {
        let item = log.next_item().map_err(|error| unreadable(&directory, &error))?;
        let ended = item.is_none();
        if !take(item.as_ref())? || (ended && !follow) {
            return Ok(());
        }
        if ended {
            tokio::time::sleep(AGAIN).await;
        }
    }
}

/// Where a daemon keeps its checkpoint; the usual place while it cannot be asked.
async fn directory_of(daemon: &Daemon) -> PathBuf {
    match daemon.call(async |mut admin| admin.get_status(v1::GetStatusRequest {}).await).await {
        Ok(status) => status.state_dir.into(),
        Err(_) => STATE_DIR.into(),
    }
}
