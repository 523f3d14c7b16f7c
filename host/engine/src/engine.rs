//! The engine: what every verb shares.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tenure_ledger::{Book, Choices};
use tenure_types::{Error, ErrorCode, Moment, NetworkName, Owner};

use crate::admission::{Admission, hold};
use crate::bounds::Bounds;
use crate::committer::Committer;
use crate::conditions::Conditions;
use crate::networks::{Networks, Served, Snapshots};
use crate::ports::{Catalogue, Clock, Decision, Images, Journal, Observer};
use crate::strikes::Strikes;
use crate::undo::{self, Abandoned};

/// What the engine is plugged into.
#[derive(Clone)]
pub struct Ports {
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Finds policies.
    pub catalogue: Arc<dyn Catalogue>,
    /// Makes facts durable.
    pub journal: Arc<dyn Journal>,
    /// Hears what became of each request.
    pub observer: Arc<dyn Observer>,
}

/// What an operator may set, also while the engine serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How long a freed address cools.
    pub cooldown: Duration,
    /// How many requests are served at once.
    pub in_flight: usize,
    /// How many more may wait before they are refused.
    pub queue: usize,
    /// How many networks there may be.
    pub networks: usize,
    /// What networks and policies may hand out.
    pub bounds: Arc<Bounds>,
}

/// Serves requests: one for each node.
pub struct Engine {
    pub(crate) ports: Ports,
    pub(crate) committer: Arc<Committer>,
    /// Behind a `std::sync::Mutex` held to copy: it changes when the configuration is read again.
    settings: Mutex<Arc<Settings>>,
    pub(crate) networks: Arc<Networks>,
    pub(crate) admission: Arc<Admission>,
    /// Held while a network's ranges are compared with the others' and changed, where no other may overlap them. Taken before
    /// any network's state, since those of the others are looked at meanwhile.
    defining: Mutex<()>,
    pub(crate) undo: undo::Sender,
    pub(crate) strikes: Strikes,
    pub(crate) conditions: Arc<Conditions>,
}

impl Engine {
    /// An engine over recovered state, and the task that undoes what callers abandoned; run both for as long as it serves.
    #[must_use]
    pub fn new(
        books: Vec<Book>,
        choices: Choices,
        ports: Ports,
        settings: Settings,
    ) -> (Arc<Self>, Abandoned) {
        let committer = Arc::new(Committer::new(Arc::clone(&ports.journal), choices));
        let (undo, abandoned) = undo::channel(Arc::clone(&committer), Arc::clone(&ports.clock));
        let engine = Self {
            networks: Arc::new(Networks::restore(books, settings.networks)),
            admission: Admission::new(settings.in_flight, settings.queue, ports.clock.now()),
            conditions: Arc::new(Conditions::new(Arc::clone(&ports.clock))),
            ports,
            committer,
            settings: Mutex::new(Arc::new(settings)),
            defining: Mutex::default(),
            undo,
            strikes: Strikes::default(),
        };
        (Arc::new(engine), abandoned)
    }

    /// What snapshots are made of.
    #[must_use]
    pub fn images(&self) -> Arc<dyn Images> {
        Arc::new(Snapshots { networks: Arc::clone(&self.networks), committer: Arc::clone(&self.committer) })
    }

    /// What an operator has set.
    #[must_use]
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&hold(&self.settings))
    }

    /// What networks and policies may hand out now.
    pub(crate) fn bounds(&self) -> Arc<Bounds> {
        Arc::clone(&hold(&self.settings).bounds)
    }

    /// Takes new settings; requests that are served already end under the old ones.
    pub fn set(&self, settings: Settings) {
        self.admission.set_limits(settings.in_flight, settings.queue);
        self.networks.set_most(settings.networks);
        *hold(&self.settings) = Arc::new(settings);
    }

    /// A caller's start time, which cannot lie in the future: a wrong one would refuse every later ADD of its key.
    pub(crate) fn not_in_future(began: Moment, now: Moment) -> Moment {
        if began.boot_ns > now.boot_ns { now } else { began }
    }

    /// Keeps every other network's ranges as they are.
    pub(crate) fn defining(&self) -> Defining<'_> {
        Defining { _guard: hold(&self.defining) }
    }

    /// Frees what has cooled long enough, so that whoever looks next sees it free.
    pub(crate) fn expire(&self, served: &mut Served, now: Moment) {
        let cooldown = hold(&self.settings).cooldown;
        if served.book.has_expired(now, cooldown) {
            Arc::make_mut(&mut served.book).expire(now, cooldown);
        }
    }

    /// Runs a verb and says what became of it.
    pub(crate) async fn observed<T>(
        &self,
        verb: &'static str,
        network: &NetworkName,
        owner: Option<&Owner>,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let started = self.ports.clock.monotonic();
        let result = work.await;
        let took = self.ports.clock.monotonic().saturating_sub(started);
        let error = result.as_ref().err();
        self.ports.observer.request(&Decision { verb, network, owner, error, took });
        result
    }
}

/// No other network's ranges change.
pub(crate) struct Defining<'engine> {
    _guard: MutexGuard<'engine, ()>,
}

/// A conflict between the ledger's own fact and its book: a defect, never a caller's fault.
pub(crate) fn defect(conflict: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::Internal, format_args!("the ledger contradicts itself: {conflict}"))
}
