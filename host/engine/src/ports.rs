//! What the engine needs from outside, as traits: a clock, policies and a journal.
//!
//! The daemon plugs in the kernel's clock, WASM components and the checkpoint; tests and the simulation plug in their own.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tenure_ledger::{Book, Fact, Page};
use tenure_types::{
    Definition, Error, ErrorCode, Moment, NetworkConfig, NetworkName, Owner, PolicyFailure, PolicyName,
    PolicyStamp, Proposal, Request,
};
use tokio::sync::oneshot;

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    /// Now, by `CLOCK_BOOTTIME` for decisions and by the wall for people.
    fn now(&self) -> Moment;

    /// A monotonic reading for measuring how long something took.
    fn monotonic(&self) -> Duration;
}

/// Hears what became of each request: metrics, and the log.
pub trait Observer: Send + Sync + 'static {
    /// A request was answered.
    fn request(&self, decision: &Decision<'_>);

    /// A policy was called.
    fn policy_call(&self, policy: &PolicyStamp, took: Duration, outcome: Result<(), ErrorCode>);

    /// A policy failed a call, or the ledger refused what it answered.
    fn policy_failed(&self, _policy: &PolicyStamp, _failure: PolicyFailure) {}

    /// So many lines of a policy's were left out of the log.
    fn policy_silenced(&self, _policy: &PolicyStamp, _lines: u64) {}

    /// The journal wrote so many facts with one sync, or could not; its log is this long now.
    fn sync(&self, took: Duration, written: Result<usize, ErrorCode>, log_bytes: u64);

    /// The journal goes on in another log, or found one when it was opened; it is this long.
    fn log(&self, _log_bytes: u64) {}
}

/// One request and what became of it.
#[derive(Debug, Clone)]
pub struct Decision<'a> {
    /// `add`, `del`, `check`, `gc`, `status`, `activate`, `import` or `reap`.
    pub verb: &'static str,
    /// The network.
    pub network: &'a NetworkName,
    /// The owner, where the verb has one.
    pub owner: Option<&'a Owner>,
    /// Why it was refused, if it was.
    pub error: Option<&'a Error>,
    /// From the request's arrival to its answer.
    pub took: Duration,
}

/// An answer that takes its time, and takes it on nobody's thread but its own. Dropping it gives the question up.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// One loaded policy. Each call is a fresh instance that sees nothing of any other call.
pub trait Policy: Send + Sync + 'static {
    /// Its name and digest.
    fn stamp(&self) -> &Arc<PolicyStamp>;

    /// How many lines of its were left out of the log since this was asked last.
    fn silenced(&self) -> u64 {
        0
    }

    /// Makes pools of a network's configuration.
    ///
    /// # Errors
    /// `InvalidConfig` when the configuration is wrong, `PolicyFailed` when the policy is.
    fn define<'a>(&'a self, network: &'a NetworkName, config: &'a NetworkConfig) -> Answer<'a, Definition>;

    /// Proposes addresses. Nothing else changes the network's book meanwhile, and the book is given back before the answer:
    /// who changes it next copies nothing.
    ///
    /// # Errors
    /// `PoolExhausted`, `AddressUnavailable` and `PolicyRefused` are the policy's own answers, `PolicyFailed` is its failure.
    fn propose<'a>(&'a self, request: &'a Request, book: Arc<Book>) -> Answer<'a, Proposal>;
}

/// The policies of this node, by name.
pub trait Catalogue: Send + Sync + 'static {
    /// Finds a policy. One that is not loaded is loaded from now on, but nobody waits for it here: a look-up and no more.
    ///
    /// # Errors
    /// `UnknownPolicy` when the catalogue has no such name, `NotReady` while it is being compiled, `PolicyUnloadable` when it
    /// is known not to be what it should be.
    fn find(&self, name: &PolicyName) -> Result<Arc<dyn Policy>, Error>;

    /// Finds the very component that a network was last served by, in the node's own copy if need be.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    fn find_pinned(&self, stamp: &PolicyStamp) -> Result<Arc<dyn Policy>, Error>;

    /// Loads a policy at once, however often that has failed before, and waits for it: for an operator, not for a request.
    ///
    /// # Errors
    /// `UnknownPolicy` and `PolicyUnloadable`.
    fn load<'a>(&'a self, name: &'a PolicyName) -> Answer<'a, Arc<dyn Policy>>;

    /// The names of the catalogue with what is known of each.
    fn list(&self) -> Vec<CatalogueEntry>;

    /// What the node waits for before it can serve what it served before, in words.
    fn awaited(&self) -> Option<String>;
}

/// A line of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueEntry {
    /// The policy; its digest is empty while it could not be read.
    pub stamp: PolicyStamp,
    /// `embedded`, or the file's path.
    pub source: String,
    /// Why it cannot be used now.
    pub problem: Option<String>,
    /// Whether that is only because it is still being compiled.
    pub loading: bool,
}

/// Makes facts durable, in the order in which they were staged.
pub trait Journal: Send + Sync + 'static {
    /// Queues facts to be made durable together, in one group or not at all, and gives them places in the log, one after the
    /// other from the one that is returned. Never blocks; called with the state held that the facts change.
    fn stage(&self, facts: &[Fact]) -> (u64, Ticket);

    /// A ticket that resolves when everything staged so far is durable; at once when it already is.
    ///
    /// It fails while the log is being reopened after a failed sync, since what memory says is not yet what the disk says.
    fn barrier(&self) -> Ticket;

    /// Why an ADD would fail now (`DiskFull`, `CheckpointFailed`), if it would.
    fn health(&self) -> Result<(), Error>;
}

/// Resolves when what was staged is durable, or fails when it could not be made so.
#[derive(Debug)]
pub struct Ticket(oneshot::Receiver<Result<(), Error>>);

impl Ticket {
    /// A ticket and the sender that resolves it.
    #[must_use]
    pub fn new() -> (oneshot::Sender<Result<(), Error>>, Self) {
        let (sender, receiver) = oneshot::channel();
        (sender, Self(receiver))
    }

    /// Waits until what was staged is on disk.
    ///
    /// # Errors
    /// `CheckpointFailed` or `DiskFull`; also when the journal has stopped.
    pub async fn durable(self) -> Result<(), Error> {
        self.0
            .await
            .unwrap_or_else(|_| Err(Error::new(ErrorCode::CheckpointFailed, "the checkpoint has stopped")))
    }
}

/// Gives the journal what a snapshot is made of.
pub trait Images: Send + Sync + 'static {
    /// The whole state, in pages. Each is looked at when it is asked for, and says the place in the log that it is true as of.
    /// The log that goes on beside them begins with the place `first`; what only concerns facts before it may be left out.
    ///
    /// Waits for each network's book, and must not be called from within an async task.
    fn pages(&self, first: u64) -> Box<dyn Iterator<Item = Page> + Send>;
}
