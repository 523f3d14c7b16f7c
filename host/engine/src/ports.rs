//! The engine's ports, as traits: the clock, the policies, the journal, the links and the observer.
//!
//! The daemon plugs in the kernel's clock, WASM components, the checkpoint, netlink, and metrics and logging; tests and the
//! simulation plug in their own.

mod delegate;
mod dels;
mod details;
mod links;
mod other_ipams;
mod predecessors;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tenure_ledger::{Book, Component, Fact, Page, StepKind};
use tenure_types::{
    Definition, DelegateName, Effect, Error, ErrorCode, IntentId, Meter, NetworkConfig, NetworkName, Outcome,
    Owner, PlanState, PolicyFailure, PolicyName, PolicySelector, PolicyStamp, Request,
};
use tokio::sync::oneshot;

use crate::difference::Difference;

pub use tenure_types::Clock;

pub use self::delegate::{Delegate, DelegateFailure, Giving};
pub use self::dels::{DELS_REMEMBERED, DelRecord, ServedDel};
pub use self::details::Details;
pub use self::links::{LinkKey, Links};
pub use self::other_ipams::{Compared, IsKnown, OtherIpams, Reservation};
pub use self::predecessors::Predecessors;

/// Receives the outcome of each request, for metrics and the log.
pub trait Observer: Send + Sync + 'static {
    /// A request was answered.
    fn request(&self, decision: &Decision<'_>);

    /// A policy was called.
    fn policy_call(&self, policy: &PolicyStamp, took: Duration, outcome: Result<(), ErrorCode>);

    /// A policy failed a call, or the ledger refused what it answered.
    fn policy_failed(&self, _policy: &PolicyStamp, _failure: PolicyFailure) {}

    /// Reports that this many log lines of a policy were dropped.
    fn policy_silenced(&self, _policy: &PolicyStamp, _lines: u64) {}

    /// Something happened to a policy on a network.
    fn policy_step(&self, _network: &NetworkName, _kind: StepKind) {}

    /// A shadow's decision was compared; the verdict is `same`, `other-address`, `other-refusal` or `failed`.
    fn shadowed(&self, _network: &NetworkName, _verdict: &'static str) {}

    /// The journal wrote `written` facts with one sync, or failed to; `log_bytes` is the log's length now.
    fn sync(&self, took: Duration, written: Result<usize, ErrorCode>, log_bytes: u64);

    /// The journal switched to another log, or opened an existing one, of this length.
    fn log(&self, _log_bytes: u64) {}
}

/// One request and its outcome.
#[derive(Debug, Clone)]
pub struct Decision<'a> {
    /// `add`, `del`, `check`, `gc`, `status`, `activate`, `promote`, `rollback`, `shadow`, `define`, `remove`, `supply`,
    /// `import`, `plan`, `explain`, `done`, `undone`, `reap`, `ensure`, `declare` or `unclaim`.
    pub verb: &'static str,
    /// The network.
    pub network: &'a NetworkName,
    /// The owner, if the verb has one.
    pub owner: Option<&'a Owner>,
    /// Why it failed, if it did.
    pub error: Option<&'a Error>,
    /// The time from the request's arrival to its answer.
    pub took: Duration,
}

/// A policy's pending answer. It never blocks the polling thread; dropping it cancels the call.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// One loaded policy. Each call runs in a fresh instance and shares no state with other calls.
pub trait Policy: Send + Sync + 'static {
    /// Name and digest of the policy.
    fn stamp(&self) -> &Arc<PolicyStamp>;

    /// How many of its log lines were dropped since the last call of this method.
    fn silenced(&self) -> u64 {
        0
    }

    /// The ledger rejected its last answer, which broke this rule.
    fn rejected(&self, _rule: &'static str) {}

    /// The same policy, for calls that serve nobody: the conformance suite, a shadow, a comparison. `None` if it records no
    /// calls anyway.
    fn on_trial(&self) -> Option<Arc<dyn Policy>> {
        None
    }

    /// Returns the policy's use and the outcomes of its calls since it was loaded.
    fn meter(&self) -> Meter {
        Meter::default()
    }

    /// Derives a network's definition, its pools, from its configuration.
    ///
    /// # Errors
    /// `InvalidConfig` when the configuration is invalid, `PolicyFailed` when the policy fails.
    fn define<'a>(&'a self, network: &'a NetworkName, config: &'a NetworkConfig) -> Answer<'a, Definition>;

    /// Proposes addresses, and a new state if it keeps one. Nobody changes the network's book meanwhile, and the policy
    /// drops `book` before it answers, so that the next change copies nothing.
    ///
    /// `state` is the state that this policy has kept on the network, and empty if there is none.
    ///
    /// # Errors
    /// `PoolExhausted`, `AddressUnavailable` and `PolicyRefused` are the policy's own answers; `PolicyFailed` means
    /// that it failed.
    fn propose<'a>(&'a self, request: &'a Request, book: Arc<Book>, state: Arc<[u8]>) -> Answer<'a, Outcome>;

    /// The delegate from which the addresses come instead of proposals of this policy, if there is one.
    fn delegate(&self) -> Option<&DelegateName> {
        None
    }

    /// Whether it keeps a state.
    fn keeps_state(&self) -> bool {
        false
    }

    /// Whether it plans.
    fn plans(&self) -> bool {
        false
    }

    /// Plans changes of the network's supply. It drops `book` before it answers.
    ///
    /// # Errors
    /// As [`propose`](Self::propose); `Internal` if it does not plan.
    fn plan<'a>(&'a self, _: Arc<PlanState>, _: Arc<Book>) -> Answer<'a, Vec<Effect>> {
        let cause = format_args!("policy {} does not plan", self.stamp());
        Box::pin(std::future::ready(Err(Error::new(ErrorCode::Internal, cause))))
    }

    /// Plans for somebody who asks why: also returns what the policy logs meanwhile, if it is known.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    fn explain<'a>(
        &'a self,
        state: Arc<PlanState>,
        book: Arc<Book>,
    ) -> Answer<'a, (Vec<Effect>, Vec<String>)> {
        let planned = self.plan(state, book);
        Box::pin(async move { Ok((planned.await?, Vec::new())) })
    }

    /// Converts the state that another policy has kept into one of its own. `book` is the network as the other leaves
    /// it.
    ///
    /// # Errors
    /// `PolicyRefused` if it cannot read that state, `PolicyFailed` if it fails; `Internal` if it keeps no state.
    fn migrate<'a>(&'a self, _: Arc<[u8]>, _: &'a PolicyStamp, _: Arc<Book>) -> Answer<'a, Arc<[u8]>> {
        let cause = format_args!("policy {} keeps no state", self.stamp());
        Box::pin(std::future::ready(Err(Error::new(ErrorCode::Internal, cause))))
    }
}

/// The port to the executor of effects outside the ledger.
pub trait Outside: Send + Sync {
    /// An id for a new intent, unique among all nodes for ever.
    fn new_id(&self) -> IntentId;

    /// Whether an effect may begin, besides what the ledger demands.
    ///
    /// # Errors
    /// Why not, for people.
    fn check(&self, effect: &Effect, book: &Book) -> Result<(), String>;
}

/// A policy for calls that serve nobody, which are not recorded.
pub(crate) fn on_trial(policy: Arc<dyn Policy>) -> Arc<dyn Policy> {
    policy.on_trial().unwrap_or(policy)
}

/// The policies of this node, by name.
pub trait Catalogue: Send + Sync + 'static {
    /// Looks up a policy. If it is not loaded, this starts loading it and does not wait.
    ///
    /// # Errors
    /// `UnknownPolicy` when the catalogue has no such name, `Preparing` while it is being compiled, `PolicyUnloadable`
    /// when loading it has failed.
    fn find(&self, name: &PolicyName) -> Result<Arc<dyn Policy>, Error>;

    /// Finds the exact component that last served a network, from the node's own copy if necessary.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    fn find_pinned(&self, stamp: &PolicyStamp) -> Result<Arc<dyn Policy>, Error>;

    /// Finds out which policy an operator means.
    ///
    /// # Errors
    /// `UnknownPolicy` when the catalogue has none like it.
    fn resolve(&self, selector: &PolicySelector) -> Result<PolicyStamp, Error>;

    /// Loads a policy now and waits for it, even if loading has failed before. For operators, not for requests.
    ///
    /// # Errors
    /// `PolicyUnloadable`.
    fn load<'a>(&'a self, stamp: &'a PolicyStamp) -> Answer<'a, Arc<dyn Policy>>;

    /// Takes in a component: checks its digest and signature, keeps a durable copy and compiles it. It has no name until
    /// [`set_loaded`](Self::set_loaded) gives it one.
    ///
    /// # Errors
    /// `PolicyUntrusted` and `PolicyUnloadable`; `OutOfBounds` when the configuration has a policy of that name.
    fn take_in(&self, offered: Offered) -> Answer<'_, TakenIn>;

    /// Lets a policy make the recorded decisions of a network again, the latest ones and not too many, beside the requests.
    /// Nothing if none are recorded.
    ///
    /// # Errors
    /// As [`load`](Self::load); `InputOutput` when the record cannot be read.
    fn decide_again<'a>(&'a self, _: &'a PolicyStamp, _: &'a NetworkName) -> Answer<'a, Again> {
        Box::pin(async { Ok(Again::default()) })
    }

    /// Sets which policies operators have loaded, in the order in which they did.
    fn set_loaded(&self, loaded: &[Component]);

    /// Whether a name stands for a file that is watched. A network that such a policy serves keeps its digest until the
    /// changed file is [applied](crate::Engine::apply_changed).
    fn is_watched(&self, _name: &PolicyName) -> bool {
        false
    }

    /// Whether a policy that a configuration names must pass the conformance suite before it serves.
    fn needs_vetting(&self, _policy: &PolicyStamp) -> bool {
        false
    }

    /// A delegate of the allow-list; `None` if the configuration does not have it.
    fn delegate(&self, _name: &DelegateName) -> Option<Arc<dyn Delegate>> {
        None
    }

    /// Frees the loaded policies that neither the catalogue nor `used` names. The copies of those that `kept` does not name
    /// either are removed.
    fn free(&self, _used: &[PolicyStamp], _kept: &[PolicyStamp]) {}

    /// The catalogue's policies and their state.
    fn list(&self) -> Vec<CatalogueEntry>;

    /// Returns a loaded policy's abilities, grants and use.
    fn details(&self, _policy: &PolicyStamp) -> Option<Details> {
        None
    }

    /// The meters of the loaded policies.
    fn meters(&self) -> Vec<(PolicyStamp, Meter)> {
        Vec::new()
    }

    /// Names the policies that are still loading before the node can serve all networks that it served before, for people.
    fn awaited(&self) -> Option<String>;
}

/// A component that an operator loads.
#[derive(Debug, Clone)]
pub struct Offered {
    /// The name to give it.
    pub name: PolicyName,
    /// The component.
    pub bytes: Vec<u8>,
    /// Expected SHA-256, in lower-case hexadecimal; empty if the caller has none.
    pub sha256: String,
    /// Signature file; empty if there is none.
    pub signature: String,
    /// Source of the component, for people.
    pub source: String,
    /// Whether it may be older than a release of its name that was accepted before.
    pub older: bool,
}

/// A component that was taken in.
pub struct TakenIn {
    /// The compiled policy.
    pub policy: Arc<dyn Policy>,
    /// The key that signed it; empty if no signature was checked.
    pub signer: String,
}

/// How a policy makes recorded decisions again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Again {
    /// How many came out the same.
    pub same: u64,
    /// Decisions that came out differently, in order.
    pub different: Vec<Difference>,
    /// How many cannot be made again: the policy asks what the record does not contain.
    pub unanswered: u64,
    /// Of those that could be made again, the requests of agents for claims, and how many of these the policy refuses.
    pub of_claims: (u64, u64),
}

/// An entry of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueEntry {
    /// The policy; its digest is empty as long as the file cannot be read.
    pub stamp: PolicyStamp,
    /// `embedded`, or the file's path.
    pub source: String,
    /// Why it cannot be used now.
    pub problem: Option<String>,
    /// Whether the only problem is that it is still being compiled.
    pub loading: bool,
    /// Why its file cannot be used as it is now, although the policy itself can.
    pub file_problem: Option<String>,
}

/// Makes facts durable, in the order in which they were staged.
pub trait Journal: Send + Sync + 'static {
    /// Queues facts to be made durable together, all or none, and assigns them consecutive places in the log,
    /// starting at the one returned. Never blocks; the caller holds the lock on the state that the facts change.
    fn stage(&self, facts: &[Fact]) -> (u64, Ticket);

    /// A ticket that resolves when everything staged so far is durable; immediately if it already is.
    ///
    /// It fails while the log is being reopened after a failed sync, because the disk does not yet match memory.
    fn barrier(&self) -> Ticket;

    /// Why an ADD would fail now (`DiskFull`, `CheckpointFailed`), if it would.
    fn health(&self) -> Result<(), Error>;
}

/// Resolves when the staged facts are durable, or when making them durable has failed.
#[derive(Debug)]
pub struct Ticket(oneshot::Receiver<Result<(), Error>>);

impl Ticket {
    /// A ticket and the sender that resolves it.
    #[must_use]
    pub fn new() -> (oneshot::Sender<Result<(), Error>>, Self) {
        let (sender, receiver) = oneshot::channel();
        (sender, Self(receiver))
    }

    /// Waits until the staged facts are on disk.
    ///
    /// # Errors
    /// `CheckpointFailed` or `DiskFull`; `CheckpointFailed` also when the journal has stopped.
    pub async fn durable(self) -> Result<(), Error> {
        self.0
            .await
            .unwrap_or_else(|_| Err(Error::new(ErrorCode::CheckpointFailed, "the checkpoint has stopped")))
    }
}

/// Supplies the journal with the pages of a snapshot.
pub trait Images: Send + Sync + 'static {
    /// The whole state, in pages. Each page is made when the iterator reaches it, and records the place in the log
    /// that it is current as of. The log that accompanies the snapshot begins at place `first`; state that matters
    /// only to earlier facts may be left out.
    ///
    /// Blocks on each network's state, so do not call it from an async task.
    fn pages(&self, first: u64) -> Box<dyn Iterator<Item = Page> + Send>;
}
