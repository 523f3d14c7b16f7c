//! Limits on one agent's share of the daemon's memory: over all of its connections, and of unread answers on one connection.
//!
//! | bound | of | because |
//! |---|---|---|
//! | [`MOST_REQUESTS`] | requests that are open | each is a task |
//! | [`MOST_RECEIVED`] | bytes of requests that are not answered yet | half messages, and calls that wait |
//! | [`MOST_LASTING`] | health watches and reflection streams | they never end by themselves |
//! | [`MOST_LONG`] | answers that may be long | a `List` that is not read |
//! | [`MOST_CHANGES`] | responses of watches that are made, or are long and not read | each has up to a thousand claims |
//! | [`MOST_UNREAD`] | bytes that one connection has not read | the HTTP library keeps them |

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tenure_types::{AgentName, Error, ErrorCode, Result, hold};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::peer::Peer;

/// The most requests of an agent that are open: calls, watches, and what has not arrived yet.
const MOST_REQUESTS: usize = 1024;

/// The most bytes of an agent's requests until they are answered.
const MOST_RECEIVED: usize = 8 << 20;

/// The most health watches and reflection streams of an agent.
const MOST_LASTING: usize = 64;

/// The most answers of an agent that may be long, until they are read.
const MOST_LONG: usize = 4;

/// The most responses of an agent's watches that are made at a time, or may be long and are not read.
const MOST_CHANGES: usize = 16;

/// The most bytes that a connection may leave unread and still ask for more.
const MOST_UNREAD: usize = 1 << 20;

/// The shares of all agents. The configuration names them, so there are few.
#[derive(Debug, Default)]
pub(super) struct Shares(Mutex<BTreeMap<AgentName, Arc<Share>>>);

/// The share of one agent.
#[derive(Debug)]
pub(crate) struct Share {
    requests: Arc<Semaphore>,
    received: Arc<Semaphore>,
    lasting: Arc<Semaphore>,
    long: Arc<Semaphore>,
    changes: Arc<Semaphore>,
}

impl Shares {
    pub(super) fn of(&self, agent: &AgentName) -> Arc<Share> {
        let mut shares = hold(&self.0);
        Arc::clone(shares.entry(agent.clone()).or_default())
    }
}

impl Default for Share {
    fn default() -> Self {
        let of = |most| Arc::new(Semaphore::new(most));
        Self {
            requests: of(MOST_REQUESTS),
            received: of(MOST_RECEIVED),
            lasting: of(MOST_LASTING),
            long: of(MOST_LONG),
            changes: of(MOST_CHANGES),
        }
    }
}

/// A connection of an agent: who made it, and what it has not read yet.
#[derive(Debug)]
pub struct AgentLink {
    peer: Peer,
    share: Arc<Share>,
    unread: AtomicUsize,
}

impl AgentLink {
    pub(super) fn new(peer: Peer, share: Arc<Share>) -> Self {
        Self { peer, share, unread: AtomicUsize::new(0) }
    }

    /// Returns the process that made the connection.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Bytes of an answer are on their way.
    pub(crate) fn answers(&self, bytes: usize) {
        self.unread.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes were written to the socket: of answers, or the little that HTTP/2 adds to them.
    pub(super) fn wrote(&self, bytes: usize) {
        let rest = |unread: usize| Some(unread.saturating_sub(bytes));
        // The closure never declines.
        let _ = self.unread.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
    }

    /// Another request.
    ///
    /// # Errors
    /// `Overloaded`.
    pub(crate) fn request(&self) -> Result<OwnedSemaphorePermit> {
        let unread = self.unread.load(Ordering::Relaxed);
        if unread > MOST_UNREAD {
            let cause = format_args!("{unread} bytes of answers are unread on this connection");
            return Err(Error::new(ErrorCode::Overloaded, cause));
        }
        one(&self.share.requests, || format!("{MOST_REQUESTS} requests of this agent are open"))
    }

    /// Bytes of a request.
    ///
    /// # Errors
    /// `Overloaded`.
    pub(crate) fn received(&self, bytes: usize) -> Result<OwnedSemaphorePermit> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        Arc::clone(&self.share.received).try_acquire_many_owned(bytes).map_err(|_| {
            let cause = format_args!("{MOST_RECEIVED} bytes of this agent's requests are not answered yet");
            Error::new(ErrorCode::Overloaded, cause)
        })
    }

    /// A stream that never ends by itself.
    ///
    /// # Errors
    /// `Overloaded`.
    pub(crate) fn lasts(&self) -> Result<OwnedSemaphorePermit> {
        one(&self.share.lasting, || {
            format!("{MOST_LASTING} health watches and reflection streams of this agent are open")
        })
    }

    /// Waits for the turn of an answer that may be long.
    pub(crate) async fn long(&self) -> Option<OwnedSemaphorePermit> {
        // It is never closed.
        Arc::clone(&self.share.long).acquire_owned().await.ok()
    }

    /// Waits for the turn of a watch's response.
    pub(crate) async fn changes(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.share.changes).acquire_owned().await.ok()
    }
}

fn one(places: &Arc<Semaphore>, why: impl FnOnce() -> String) -> Result<OwnedSemaphorePermit> {
    Arc::clone(places).try_acquire_owned().map_err(|_| Error::new(ErrorCode::Overloaded, why()))
}
