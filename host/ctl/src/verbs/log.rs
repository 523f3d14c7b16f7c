//! `tenurectl log`: prints the checkpoint's log, read directly from disk.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tenure_checkpoint::{FileDisk, LogItem, LogReader};
use tenure_rpc::v1;
use tenure_types::Error;

use super::file::unreadable;
use crate::daemon::Daemon;

/// The default directory of the checkpoint.
const STATE_DIR: &str = "/var/lib/tenure";

/// The polling interval of `--follow`.
const AGAIN: Duration = Duration::from_millis(200);

/// Passes each item of the log to `take` until it returns `false`; `None` means that there are no more items for now. With
/// `follow`, continues with items as they are appended.
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

/// The checkpoint's directory according to the daemon; the default while the daemon does not answer.
async fn directory_of(daemon: &Daemon) -> PathBuf {
    match daemon.call(async |mut admin| admin.get_status(v1::GetStatusRequest {}).await).await {
        Ok(status) => status.state_dir.into(),
        Err(_) => STATE_DIR.into(),
    }
}
