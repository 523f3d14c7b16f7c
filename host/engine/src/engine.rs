//! The engine: what every verb shares.

use std::sync::Arc;
use std::time::Duration;

use tenure_ledger::Book;
use tenure_types::{Error, ErrorCode, Moment, NetworkName, Owner};

use crate::admission::{Admission, Load};
use crate::conditions::Conditions;
use crate::networks::{Networks, Served};
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
    /// Makes records durable.
    pub journal: Arc<dyn Journal>,
    /// Hears what became of each request.
    pub observer: Arc<dyn Observer>,
}

/// What an operator may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How long a freed address cools.
    pub cooldown: Duration,
    /// How many requests are served at once.
    pub in_flight: usize,
    /// How many more may wait before they are refused.
    pub queue: usize,
    /// How many networks there may be.
    pub networks: usize,
}

/// Serves requests: one for each node.
pub struct Engine {
    pub(crate) ports: Ports,
    pub(crate) settings: Settings,
    pub(crate) networks: Arc<Networks>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) undo: undo::Sender,
    pub(crate) strikes: Strikes,
    pub(crate) conditions: Arc<Conditions>,
}

impl Engine {
    /// An engine over recovered books, and the task that undoes what callers abandoned; run both for as long as it serves.
    #[must_use]
    pub fn new(books: Vec<Book>, ports: Ports, settings: Settings) -> (Arc<Self>, Abandoned) {
        let (undo, abandoned) = undo::channel(Arc::clone(&ports.journal), Arc::clone(&ports.clock));
        let engine = Self {
            networks: Arc::new(Networks::restore(books, settings.networks)),
            admission: Admission::new(settings.in_flight, settings.queue, ports.clock.now()),
            conditions: Arc::new(Conditions::new(Arc::clone(&ports.clock))),
            ports,
            settings,
            undo,
            strikes: Strikes::default(),
        };
        (Arc::new(engine), abandoned)
    }

    /// What snapshots are made of.
    #[must_use]
    pub fn images(&self) -> Arc<dyn Images> {
        Arc::clone(&self.networks) as Arc<dyn Images>
    }

    /// What is under way right now.
    #[must_use]
    pub fn load(&self) -> Load {
        self.admission.load()
    }

    /// Now, by the clock that requests are ordered by.
    pub(crate) fn now(&self) -> Moment {
        self.ports.clock.now()
    }

    /// A caller's start time, which cannot lie in the future: a wrong one would refuse every later ADD of its key.
    pub(crate) fn not_in_future(began: Moment, now: Moment) -> Moment {
        if began.boot_ns > now.boot_ns { now } else { began }
    }

    /// Frees what has cooled long enough, so that whoever looks next sees it free.
    pub(crate) fn expire(&self, served: &mut Served, now: Moment) {
        if served.book.has_expired(now, self.settings.cooldown) {
            Arc::make_mut(&mut served.book).expire(now, self.settings.cooldown);
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

/// A conflict between the ledger's own record and its book: a defect, never a caller's fault.
pub(crate) fn defect(conflict: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::Internal, format_args!("the ledger contradicts itself: {conflict}"))
}
