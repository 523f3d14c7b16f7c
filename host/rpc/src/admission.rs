//! Admission to the agents' socket: who asks is known before a place is given.
//!
//! ```text
//! accepted ─▶ peer (kernel) ─▶ agent? ─┬─ yes, and it has a place left ──▶ served
//!                                      ├─ not known yet: the runtime is asked, within a few places of its own
//!                                      ├─ no ──▶ refused in words for some seconds, within a few places of its own
//!                                      └─ no place left anywhere ──▶ closed unread
//! ```
//!
//! An agent's places are its own: neither strangers nor other agents can take them.

mod answer;
mod authority;
mod connection;
mod places;
mod refusal;
mod share;

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{FutureExt as _, Stream, StreamExt as _, stream};
use tenure_types::{AgentName, Error, ErrorCode, Result, hold};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::time::Instant;

pub(crate) use self::answer::OpenAnswer;
use self::connection::Connection;
pub(crate) use self::connection::Cut;
use self::places::{ConnectionPlace, Places};
pub use self::share::AgentLink;
use self::share::{Share, Shares};
use crate::claims::{Agents, Rights};
use crate::peer::Peer;

/// The most connections of one agent.
const MOST_OF_AGENT: usize = 128;

/// The most connections of callers about whom the runtime is asked: of one pod, or of one user outside of pods, and of all.
const MOST_UNIDENTIFIED: [usize; 2] = [8, 64];

/// The most connections of refused callers: of one user, and of all.
const MOST_REFUSED: [usize; 2] = [8, 32];

/// How often to log that callers were refused, with their number.
const LOG_AGAIN: Duration = Duration::from_secs(60);

/// A connection of an agent.
pub(crate) type AgentConnection = Connection<ConnectionPlace<AgentName>>;

/// A caller about whom the runtime is asked. A pod has as many users as it likes, and no more places for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Unidentified {
    /// A pod, by its uid.
    Pod(String),
    /// A user outside of pods.
    User(u32),
}

/// Decides on connections.
struct AgentAdmission {
    agents: Arc<dyn Agents>,
    shares: Shares,
    of_agents: Places<AgentName>,
    unidentified: Places<Unidentified>,
    refused: Places<u32>,
    strangers: Arc<Share>,
    refusals: Refusals,
    cut: Cut,
}

/// The connections of agents among all that were accepted. All of them end once `cut` resolves.
pub(crate) fn admitted(
    incoming: impl Stream<Item = io::Result<UnixStream>>,
    agents: Arc<dyn Agents>,
    cut: Cut,
) -> impl Stream<Item = io::Result<AgentConnection>> {
    let ([of_pod, of_pods], [of_user, of_users]) = (MOST_UNIDENTIFIED, MOST_REFUSED);
    let admission = Arc::new(AgentAdmission {
        agents,
        shares: Shares::default(),
        of_agents: Places::new(MOST_OF_AGENT, usize::MAX),
        unidentified: Places::new(of_pod, of_pods),
        refused: Places::new(of_user, of_users),
        strangers: Arc::default(),
        refusals: Refusals::default(),
        cut,
    });
    let (identified, later) = mpsc::channel(1);
    let at_once = incoming.filter_map(move |stream| {
        let connection = stream.and_then(|stream| admission.consider(stream, &identified));
        std::future::ready(connection.transpose())
    });
    let later = stream::unfold(later, |mut later| async { Some((Ok(later.recv().await?), later)) });
    stream::select(at_once, later)
}

impl AgentAdmission {
    /// The connection, if its maker is known to be an agent. One whose pod is not known yet comes later.
    fn consider(
        self: &Arc<Self>,
        stream: UnixStream,
        later: &mpsc::Sender<AgentConnection>,
    ) -> io::Result<Option<AgentConnection>> {
        let peer = Peer::of(&stream)?;
        let (agents, of) = (Arc::clone(&self.agents), peer.clone());
        let mut identifying = Box::pin(async move { agents.rights(&of).await });
        if let Some(rights) = identifying.as_mut().now_or_never() {
            return Ok(self.decide(stream, peer, rights));
        }
        let caller = peer.pod_uid.clone().map_or(Unidentified::User(peer.uid), Unidentified::Pod);
        let Some(place) = self.unidentified.take(caller) else {
            self.refusals.note(&peer, "too many callers of this pod are not identified yet");
            return Ok(None);
        };
        let (admission, later) = (Arc::clone(self), later.clone());
        tokio::spawn(async move {
            let rights = identifying.await;
            if let Some(connection) = admission.decide(stream, peer, rights) {
                // It fails only if the server has stopped.
                let _ = later.send(connection).await;
            }
            drop(place);
        });
        Ok(None)
    }

    fn decide(&self, stream: UnixStream, peer: Peer, rights: Result<Rights>) -> Option<AgentConnection> {
        let error = match rights {
            Ok(Rights { name, .. }) => {
                let share = self.shares.of(&name);
                let Some(place) = self.of_agents.take(name.clone()) else {
                    let why = format_args!("agent {name} has {MOST_OF_AGENT} connections open");
                    self.refusals.note(&peer, why);
                    return None;
                };
                return Some(Connection::new(stream, AgentLink::new(peer, share), place, self.cut.clone()));
            }
            Err(error) => error,
        };
        self.refusals.note(&peer, &error.cause);
        self.refuse(stream, peer, error);
        None
    }

    /// Says why, if there is a place for that.
    fn refuse(&self, stream: UnixStream, peer: Peer, error: Error) {
        let Some(place) = self.refused.take(peer.uid) else { return };
        let link = AgentLink::new(peer, Arc::clone(&self.strangers));
        refusal::refuse(Connection::new(stream, link, place, self.cut.clone()), error);
    }
}

/// Callers that were refused since the last line in the log.
#[derive(Debug, Default)]
struct Refusals(Mutex<(Option<Instant>, u64)>);

impl Refusals {
    fn note(&self, peer: &Peer, why: impl std::fmt::Display) {
        let mut state = hold(&self.0);
        let (last, refused) = &mut *state;
        *refused += 1;
        let now = Instant::now();
        if last.is_some_and(|last| now < last + LOG_AGAIN) {
            return;
        }
        let pod = peer.pod_uid.as_deref().unwrap_or_default();
        tracing::warn!(uid = peer.uid, gid = peer.gid, pod, %why, refused, "refused a connection to the agents' socket");
        (*last, *refused) = (Some(now), 0);
    }
}

/// The connection of a request.
///
/// # Errors
/// `AgentUnknown` if the request did not come over the agents' socket.
pub(crate) fn link<T>(request: &tonic::Request<T>) -> Result<&Arc<AgentLink>> {
    let unknown = || Error::new(ErrorCode::AgentUnknown, "the caller is not known");
    request.extensions().get::<Arc<AgentLink>>().ok_or_else(unknown)
}
