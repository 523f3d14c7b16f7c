//! Watching claims: a stream for each watch, which holds at most one response for a reader that does not read.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, stream};
use tenure_engine::{Changes, Engine, Watching};
use tenure_types::{AgentName, Error, ErrorCode, Result};
use tokio::sync::{mpsc, watch};
use tonic::Status;

use super::{claim, shown};
use crate::status::to_status;
use crate::v1;

/// The answer to a watch.
pub(super) type WatchStream = Pin<Box<dyn Stream<Item = Result<v1::WatchClaimsResponse, Status>> + Send>>;

/// The most watches that an agent may have open.
const MOST_WATCHES: usize = 256;

/// How long a reader may leave a response unread before it is cut off.
const READ_WITHIN: Duration = Duration::from_secs(30);

/// How often to look, besides whenever a claim changes: a response that could not be made durable is tried again.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

type Responses = mpsc::Sender<Result<v1::WatchClaimsResponse, Status>>;

/// Begins a watch, which is followed in a task of its own until its reader goes away or `stop` is true.
pub(super) fn begin(
    engine: Arc<Engine>,
    agent: AgentName,
    version: String,
    stop: watch::Receiver<bool>,
) -> Result<WatchStream> {
    let watching = engine.watching(&agent);
    if engine.open_watches(&agent) > MOST_WATCHES {
        let cause = format_args!("agent {agent} has {MOST_WATCHES} watches open");
        return Err(Error::new(ErrorCode::Overloaded, cause));
    }
    let (responses, unread) = mpsc::channel(1);
    tokio::spawn(follow(engine, agent, version, responses, stop, watching));
    Ok(Box::pin(stream::unfold(unread, |mut unread| async { Some((unread.recv().await?, unread)) })))
}

async fn follow(
    engine: Arc<Engine>,
    agent: AgentName,
    version: String,
    responses: Responses,
    mut stop: watch::Receiver<bool>,
    _watching: Watching,
) {
    let mut changed = engine.claim_changes();
    let mut version = Some(version).filter(|version| !version.is_empty());
    let mut is_first = true;
    loop {
        changed.mark_unchanged();
        match engine.changes(&agent, version.as_deref()).await {
            Ok(changes) => {
                let is_news = is_first || !changes.claims.is_empty() || !changes.released.is_empty();
                version = Some(changes.version.clone());
                if is_news && !sent(&responses, Ok(response(&engine, changes))).await {
                    return;
                }
                is_first = false;
            }
            Err(error) => {
                sent(&responses, Err(to_status(&error))).await;
                return;
            }
        }
        tokio::select! {
            _ = changed.changed() => {}
            () = tokio::time::sleep(LOOK_AGAIN) => {}
            () = responses.closed() => return,
            () = async { _ = stop.wait_for(|stop| *stop).await } => {
                let error = Error::new(ErrorCode::NotReady, "the daemon is stopping");
                sent(&responses, Err(to_status(&error))).await;
                return;
            }
        }
    }
}

/// Whether the reader has room for a response, or makes some soon.
async fn sent(responses: &Responses, response: Result<v1::WatchClaimsResponse, Status>) -> bool {
    responses.send_timeout(response, READ_WITHIN).await.is_ok()
}

fn response(engine: &Engine, changes: Changes) -> v1::WatchClaimsResponse {
    let now = engine.now();
    let ended = changes
        .released
        .iter()
        .map(|(key, reason)| v1::EndedClaim { claim: Some(shown::id(key)), reason: reason.to_string() });
    v1::WatchClaimsResponse {
        version: changes.version,
        is_all: changes.is_all,
        claims: changes.claims.iter().map(|claimed| claim(claimed, now)).collect(),
        ended: ended.collect(),
    }
}
