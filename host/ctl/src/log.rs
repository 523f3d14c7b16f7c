//! `tenurectl log`: the checkpoint's own lines, read without the daemon.

mod line;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tenure_checkpoint::{FileDisk, LogReader};
use tenure_rpc::v1;
use tenure_types::{Error, ErrorCode};

use crate::arguments::Output;
use crate::daemon::Daemon;

/// Where the checkpoint lies unless somebody says otherwise.
const STATE_DIR: &str = "/var/lib/tenure";

/// How soon a follower looks again.
const AGAIN: Duration = Duration::from_millis(200);

/// Where a daemon keeps its checkpoint; the usual place while it cannot be asked.
async fn directory_of(daemon: &Daemon) -> PathBuf {
    match daemon.call(async |mut admin| admin.get_status(v1::GetStatusRequest {}).await).await {
        Ok(status) => status.state_dir.into(),
        Err(_) => STATE_DIR.into(),
    }
}

/// Prints the log, and what comes after it when it is followed.
pub(crate) async fn print(
    daemon: &Daemon,
    state_dir: Option<PathBuf>,
    follow: bool,
    output: Output,
) -> Result<(), Error> {
    let directory = match state_dir {
        Some(directory) => directory,
        None => directory_of(daemon).await,
    };
    let unreadable = |error: &dyn std::fmt::Display| {
        Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", directory.display()))
    };
    std::fs::read_dir(&directory).map_err(|error| unreadable(&error))?;
    let mut log = LogReader::new(Arc::new(FileDisk::existing(&directory)));
    let mut lines = line::Lines::default();
    let mut out = io::BufWriter::new(io::stdout());
    loop {
        let item = log.next_item().map_err(|error| unreadable(&error))?;
        let ended = item.is_none();
        let written = match item {
            Some(item) => match output {
                Output::Table => out.write_all(lines.text(&item).as_bytes()),
                Output::Json => out.write_all(lines.json(&item).as_bytes()),
            },
            None => out.flush(),
        };
        match written {
            // Whoever read has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => {
                return Err(Error::new(ErrorCode::InputOutput, format_args!("standard output: {error}")));
            }
            Ok(()) if ended && !follow => return Ok(()),
            Ok(()) if ended => tokio::time::sleep(AGAIN).await,
            Ok(()) => {}
        }
    }
}
