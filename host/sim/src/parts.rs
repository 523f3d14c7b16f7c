//! The engine's ports in the simulation: a clock that the world moves, a plain policy, no observer.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tenure_checkpoint::{Durable, Witness};
use tenure_engine::ports::{Answer, Catalogue, CatalogueEntry, Clock, Decision, Observer, Policy};
use tenure_ledger::{Book, Direction, Shelf};
use tenure_types::{
    Cooling, DefinedPool, Definition, Error, ErrorCode, Moment, NetworkConfig, NetworkName, PolicyName,
    PolicyStamp, Pool, Proposal, Range, Request,
};

/// A clock of nanoseconds that stands still until it is moved.
#[derive(Debug, Default)]
pub(crate) struct SimClock(AtomicU64);

impl SimClock {
    pub(crate) fn advance(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// No two processes begin in one nanosecond.
    pub(crate) fn tick(&self) {
        self.advance(Duration::from_nanos(1));
    }

    /// A boot begins: the clock starts near zero.
    pub(crate) fn boot(&self) {
        self.0.store(1, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Moment {
        Moment { boot_ns: self.0.load(Ordering::Relaxed), wall_ms: 0 }
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

/// The mark in the run directory: how far the log had come, by the checkpoint's own word. No crash of the disk touches it.
#[derive(Debug, Default)]
pub(crate) struct Mark(Mutex<Option<Durable>>);

impl Mark {
    pub(crate) fn last(&self) -> Option<Durable> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Witness for Mark {
    fn durable(&self, durable: &Durable) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(*durable);
    }
}

/// Takes the next free address in rotation, and cooling ones when it must: host-local's rule.
struct Rotation(Arc<PolicyStamp>);

impl Policy for Rotation {
    fn stamp(&self) -> &Arc<PolicyStamp> {
        &self.0
    }

    fn define<'a>(&'a self, _: &'a NetworkName, config: &'a NetworkConfig) -> Answer<'a, Definition> {
        Box::pin(async {
            Thinking::default().await;
            Self::pools(config)
        })
    }

    fn propose<'a>(&'a self, _: &'a Request, book: Arc<Book>) -> Answer<'a, Proposal> {
        Box::pin(async move {
            Thinking::default().await;
            Self::choose(&book)
        })
    }
}

/// A policy's time to think: others come in between.
#[derive(Default)]
struct Thinking(bool);

impl Future for Thinking {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Rotation {
    fn pools(config: &NetworkConfig) -> Result<Definition, Error> {
        let invalid = |error: &dyn std::fmt::Display| Error::new(ErrorCode::InvalidConfig, error);
        let subnet: ipnet::IpNet = config.ipam.parse().map_err(|error| invalid(&error))?;
        let range = Range::new(
            subnet,
            subnet.network(),
            subnet.broadcast(),
            subnet.hosts().next(),
            subnet.prefix_len(),
        )
        .map_err(|error| invalid(&error))?;
        let pools = vec![DefinedPool { pool: Pool::numbered(0), ranges: vec![range] }];
        Ok(Definition { pools, cooling: Cooling::Preferred, ..Definition::default() })
    }

    fn choose(book: &Book) -> Result<Proposal, Error> {
        let shelf = Shelf::whole(0);
        let free = book.free(shelf, book.last(shelf), Direction::Ascending, 1);
        let choice = free.first().copied().or_else(|| book.cooling(shelf, 1).first().copied());
        let address = choice.ok_or_else(|| Error::new(ErrorCode::PoolExhausted, "nothing is free"))?;
        Ok(Proposal::of([(0, address)]))
    }
}

/// Knows the one policy, whatever it is called.
pub(crate) struct OnePolicy;

impl Catalogue for OnePolicy {
    fn find(&self, name: &PolicyName) -> Result<Arc<dyn Policy>, Error> {
        let stamp = PolicyStamp { name: name.clone(), digest: "simulated".into() };
        Ok(Arc::new(Rotation(Arc::new(stamp))))
    }

    fn find_pinned(&self, stamp: &PolicyStamp) -> Result<Arc<dyn Policy>, Error> {
        self.find(&stamp.name)
    }

    fn load<'a>(&'a self, name: &'a PolicyName) -> Answer<'a, Arc<dyn Policy>> {
        Box::pin(async { self.find(name) })
    }

    fn awaited(&self) -> Option<String> {
        None
    }

    fn list(&self) -> Vec<CatalogueEntry> {
        Vec::new()
    }
}

/// Counts refusals by their code, for the summary.
#[derive(Debug, Default)]
pub(crate) struct Refusals(pub(crate) Mutex<std::collections::BTreeMap<&'static str, u64>>);

impl Observer for Refusals {
    fn request(&self, decision: &Decision<'_>) {
        if let Some(error) = decision.error {
            let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *counts.entry(error.code.name()).or_default() += 1;
        }
    }

    fn policy_call(&self, _: &PolicyStamp, _: Duration, _: Result<(), ErrorCode>) {}
    fn sync(&self, _: Duration, _: Result<usize, ErrorCode>, _: u64) {}
}
