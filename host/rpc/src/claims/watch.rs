//! Watching claims: a stream for each watch, which holds at most one response for a reader that does not read.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _, stream};
use tenure_engine::{Changes, ClaimFilter, Engine};
use tenure_types::{AgentName, Error, ErrorCode, Result};
use tokio::sync::{mpsc, oneshot, watch};
use tonic::Status;

use super::Agents;
use super::shown::{self, ShownClaims};
use super::told_claims::ToldClaims;
use crate::admission::AgentLink;
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

type Responses = mpsc::Sender<v1::WatchClaimsResponse>;

/// A watch of an agent's claims.
pub(super) struct ClaimWatch {
    pub(super) engine: Arc<Engine>,
    pub(super) agents: Arc<dyn Agents>,
    /// The agent that its caller was when it began.
    pub(super) agent: AgentName,
    /// The claims that it is about.
    pub(super) filter: ClaimFilter,
    pub(super) link: Arc<AgentLink>,
    pub(super) routes_apart: bool,
    pub(super) stop: watch::Receiver<bool>,
}

/// Begins a watch, which is followed in a task of its own until its reader goes away, is no longer the agent, or `stop` is true.
pub(super) fn begin(watch: ClaimWatch, version: String) -> Result<WatchStream> {
    let (engine, agent) = (&watch.engine, &watch.agent);
    let watching = engine.watching(agent, watch.filter.clone());
    if engine.open_watches(agent) > MOST_WATCHES {
        let cause = format_args!("agent {agent} has {MOST_WATCHES} watches open");
        return Err(Error::new(ErrorCode::Overloaded, cause));
    }
    let (responses, unread) = mpsc::channel(1);
    let (ends, end) = oneshot::channel();
    tokio::spawn(async move {
        let ended = watch.follow(version, &responses).await;
        drop(watching);
        // The status comes after the responses that are on their way, for a reader that returns to them.
        let _ = ends.send(ended);
    });
    let responses = stream::unfold(unread, |mut unread| async { Some((Ok(unread.recv().await?), unread)) });
    let end = async { end.await.ok().map(|error| Err(to_status(&error))) };
    Ok(Box::pin(responses.chain(stream::once(end).filter_map(std::future::ready))))
}

impl ClaimWatch {
    /// Sends responses until the watch has to end; returns why.
    async fn follow(mut self, version: String, responses: &Responses) -> Error {
        let mut changed = self.engine.claim_changes(&self.agent);
        let mut version = Some(version).filter(|version| !version.is_empty());
        let mut is_first = true;
        let mut told = ToldClaims::default();
        loop {
            changed.mark_unchanged();
            let reload = self.agents.next_reload();
            if let Err(error) = self.is_still_the_agent().await {
                return error;
            }
            match self.engine.changes(&self.agent, version.as_deref()).await {
                Ok(mut changes) => {
                    told.narrow(&self.filter, &mut changes);
                    let is_news = is_first || !changes.claims.is_empty() || !changes.released.is_empty();
                    version = Some(changes.version.clone());
                    if is_news && !sent(responses, response(&self.engine, changes, self.routes_apart)).await {
                        tracing::info!(agent = %self.agent, "cut off a watch that is not read");
                        let seconds = READ_WITHIN.as_secs();
                        let cause = format_args!(
                            "a response was left unread for {seconds} s: watch again from the last version"
                        );
                        return Error::new(ErrorCode::DeadlineExceeded, cause);
                    }
                    is_first = false;
                }
                Err(error) => return error,
            }
            tokio::select! {
                _ = changed.changed() => {}
                () = reload => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
                () = responses.closed() => return Error::new(ErrorCode::DeadlineExceeded, "the caller has gone away"),
                _ = self.stop.wait_for(|stop| *stop) => {
                    return Error::new(ErrorCode::NotReady, "the daemon is stopping");
                }
            }
        }
    }

    /// Refuses to go on once the configuration says that the caller is another agent, or none.
    async fn is_still_the_agent(&self) -> Result<()> {
        let now = self.agents.rights(self.link.peer()).await?.name;
        if now == self.agent {
            return Ok(());
        }
        let cause = format_args!("the caller is now agent {now}, and was agent {}", self.agent);
        Err(Error::new(ErrorCode::AgentUnknown, cause))
    }
}

/// Whether the reader has room for a response, or makes some soon.
async fn sent(responses: &Responses, response: v1::WatchClaimsResponse) -> bool {
    responses.send_timeout(response, READ_WITHIN).await.is_ok()
}

fn response(engine: &Engine, changes: Changes, routes_apart: bool) -> v1::WatchClaimsResponse {
    let mut shown = ShownClaims::new(engine.now(), routes_apart);
    let ended = changes
        .released
        .iter()
        .map(|(key, reason)| v1::EndedClaim { claim: Some(shown::id(key)), reason: reason.to_string() });
    v1::WatchClaimsResponse {
        version: changes.version,
        is_all: changes.is_all,
        claims: shown.all(&changes.claims),
        ended: ended.collect(),
        routes: shown.routes(),
    }
}
