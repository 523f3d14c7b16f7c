//! Watching claims: a stream for each watch, which holds at most one response for a reader that does not read, and a long one only for a while.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _, stream};
use prost::Message as _;
use tenure_engine::{Changes, ClaimFilter, Engine};
use tenure_types::{AgentName, Error, ErrorCode, Result};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use tonic::Status;

use super::Agents;
use super::shown::{self, ShownClaims};
use super::told_claims::ToldClaims;
use crate::admission::{AgentLink, OpenAnswer};
use crate::status::to_status;
use crate::v1;

/// The answer to a watch.
pub(super) type WatchStream = Pin<Box<dyn Stream<Item = Result<v1::WatchClaimsResponse, Status>> + Send>>;

/// The most watches that an agent may have open.
const MOST_WATCHES: usize = 256;

/// How long a reader may leave a response unread before it is cut off.
const READ_WITHIN: Duration = Duration::from_secs(30);

/// The longest response, in bytes, that a reader may leave unread for longer, while nothing changes. In memory it is several times as long.
const LONGEST_UNREAD: usize = 8 << 10;

/// How often to look, besides whenever a claim changes: a response that could not be made durable is tried again.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// A response, and what is dropped once the reader has taken all of it.
type Handed = (v1::WatchClaimsResponse, oneshot::Sender<()>);

/// A watch of an agent's claims.
pub(super) struct ClaimWatch {
    pub(super) engine: Arc<Engine>,
    pub(super) agents: Arc<dyn Agents>,
    /// The agent that its caller was when it began.
    pub(super) agent: AgentName,
    /// The claims that it is about.
    pub(super) filter: ClaimFilter,
    pub(super) link: Arc<AgentLink>,
    pub(super) answer: Arc<OpenAnswer>,
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
    // Asked for the next one, the reader has taken all of the one before.
    let responses = stream::unfold((unread, None), |(mut unread, before)| async {
        drop::<Option<oneshot::Sender<()>>>(before);
        let (response, taken) = unread.recv().await?;
        Some((Ok(response), (unread, Some(taken))))
    });
    let end = async { end.await.ok().map(|error| Err(to_status(&error))) };
    Ok(Box::pin(responses.chain(stream::once(end).filter_map(std::future::ready))))
}

impl ClaimWatch {
    /// Sends responses until the watch has to end; returns why.
    async fn follow(self, version: String, responses: &mpsc::Sender<Handed>) -> Error {
        let mut changed = self.engine.claim_changes(&self.agent);
        let mut version = Some(version).filter(|version| !version.is_empty());
        let mut handing = Handing::default();
        let mut is_first = true;
        let mut told = ToldClaims::default();
        loop {
            let turn = tokio::select! {
                turn = self.link.changes() => turn,
                end = self.ends(responses) => return end,
            };
            // Only now: it may have waited for long.
            changed.mark_unchanged();
            let reload = self.agents.next_reload();
            if let Err(error) = self.is_still_the_agent().await {
                return error;
            }
            match self.engine.changes(&self.agent, version.as_deref()).await {
                Ok(changes) if has_news(&changes) && handing.is_unread() => {
                    // Its turn is another watch's meanwhile.
                    drop((turn, changes));
                    if !handing.is_taken().await {
                        return self.cut_off();
                    }
                    continue;
                }
                Ok(mut changes) => {
                    told.narrow(&self.filter, &mut changes);
                    version = Some(changes.version.clone());
                    if is_first || has_news(&changes) {
                        let response = response(&self.engine, changes, self.routes_apart);
                        if !handing.hand(response, responses).await {
                            return self.cut_off();
                        }
                    }
                    is_first = false;
                }
                Err(error) => return error,
            }
            drop(turn);
            tokio::select! {
                _ = changed.changed() => {}
                () = reload => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
                end = self.ends(responses) => return end,
            }
        }
    }

    /// Waits until the reader has gone away, or the daemon stops.
    async fn ends(&self, responses: &mpsc::Sender<Handed>) -> Error {
        let mut stop = self.stop.clone();
        tokio::select! {
            () = responses.closed() => Error::new(ErrorCode::DeadlineExceeded, "the caller has gone away"),
            _ = stop.wait_for(|stop| *stop) => Error::new(ErrorCode::NotReady, "the daemon is stopping"),
        }
    }

    /// Cuts a reader off that does not read, and returns why.
    fn cut_off(&self) -> Error {
        tracing::info!(agent = %self.agent, "cut off a watch that is not read");
        let seconds = READ_WITHIN.as_secs();
        let cause =
            format_args!("a response was left unread for {seconds} s: watch again from the last version");
        let error = Error::new(ErrorCode::DeadlineExceeded, cause);
        self.answer.cut(to_status(&error));
        error
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

fn has_news(changes: &Changes) -> bool {
    !changes.claims.is_empty() || !changes.released.is_empty()
}

/// The response that was handed over last.
#[derive(Default)]
struct Handing {
    /// Resolves once its reader has taken all of it, or has gone away.
    taken: Option<oneshot::Receiver<()>>,
}

impl Handing {
    /// Hands the next response over. The reader has to take a long one soon; returns whether it did.
    async fn hand(&mut self, response: v1::WatchClaimsResponse, to: &mpsc::Sender<Handed>) -> bool {
        let is_long = response.encoded_len() > LONGEST_UNREAD;
        let (dropped, taken) = oneshot::channel();
        self.taken = Some(taken);
        // There is room for it; a reader that has gone away is noticed next.
        let _ = to.send((response, dropped)).await;
        !is_long || self.is_taken().await
    }

    /// Whether the reader has not taken all of it yet.
    fn is_unread(&mut self) -> bool {
        self.taken.as_mut().is_some_and(|taken| taken.try_recv() == Err(TryRecvError::Empty))
    }

    /// Waits until the reader has taken it; returns whether it does so in time.
    async fn is_taken(&mut self) -> bool {
        match self.taken.take() {
            Some(taken) => timeout(READ_WITHIN, taken).await.is_ok(),
            None => true,
        }
    }
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
