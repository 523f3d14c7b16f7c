//! The watch, as the API server serves it: a line for each change, late, interrupted or refused as the faults say.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::server::{ApiMode, ApiServer};
use super::status::{ConnectionError, error};

/// The API server ends a watch after this time.
const LONGEST: Duration = Duration::from_secs(290);

/// The pause in which it looks for changes.
const PAUSE: Duration = Duration::from_millis(500);

/// A watch in progress.
struct ServedWatch {
    server: Arc<ApiServer>,
    /// The version of the last change that it has reported.
    version: u64,
    epoch: u64,
    ends: Instant,
    is_over: bool,
}

/// The next part of a watch.
enum WatchPart {
    Line(serde_json::Value),
    Last(Option<Result<serde_json::Value, ConnectionError>>),
    NotYet,
}

/// The lines of a watch that begins after a version.
pub(super) fn watching(
    server: Arc<ApiServer>,
    version: u64,
) -> BoxStream<'static, Result<Bytes, ConnectionError>> {
    let epoch = server.state().epoch;
    let watching = ServedWatch { server, version, epoch, ends: Instant::now() + LONGEST, is_over: false };
    stream::unfold(watching, |mut watching| async move {
        let line = watching.line().await?;
        Some((line, watching))
    })
    .boxed()
}

impl ServedWatch {
    async fn line(&mut self) -> Option<Result<Bytes, ConnectionError>> {
        let line = |value: serde_json::Value| Bytes::from(format!("{value}\n"));
        while !self.is_over {
            match self.part() {
                WatchPart::Line(value) => return Some(Ok(line(value))),
                WatchPart::Last(last) => {
                    self.is_over = true;
                    return last.map(|last| last.map(line));
                }
                WatchPart::NotYet => sleep(PAUSE).await,
            }
        }
        None
    }

    fn part(&mut self) -> WatchPart {
        let mut state = self.server.state();
        if state.epoch != self.epoch || !matches!(state.mode, ApiMode::Serves | ApiMode::Fails(_)) {
            return WatchPart::Last(Some(Err("the connection is cut".into())));
        }
        if self.version < state.compacted {
            let expired = error(410, "Expired", &json!({}));
            return WatchPart::Last(Some(Ok(json!({ "type": "ERROR", "object": expired }))));
        }
        let now = Instant::now();
        if now < state.lags_until {
            return WatchPart::NotYet;
        }
        let next = state.changes.iter().find(|change| change.version > self.version).cloned();
        match next {
            Some(change) => {
                self.version = change.version;
                state.shows(&change);
                WatchPart::Line(json!({ "type": change.kind, "object": change.object }))
            }
            None if now >= self.ends => WatchPart::Last(None),
            None => WatchPart::NotYet,
        }
    }
}
