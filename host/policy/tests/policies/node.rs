//! A network served by a policy, with a book and the ledger's checks: a minimal engine around a policy.

use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use tenure_engine::ports::{Catalogue as _, Policy};
use tenure_ledger::{Book, Defined, LedgerFact};
use tenure_policy::{CallLimits, Compiler, Grants, Policies, PolicyRuntime, WasmPolicy};
use tenure_sdk_build::{BuildError, Builder};
use tenure_types::{
    AgentName, Allocation, ClaimName, ContainerId, Definer, Effect, EffectKind, Error, ErrorCode,
    InterfaceName, Moment, NetworkConfig, NetworkName, Outcome, Owner, PlanState, PodIdentity, PolicyName,
    PoolName, Proposal, Range, RangeName, Request, RequestContext, Sandbox,
};

/// The sandbox that a test program shares.
pub(crate) fn runtime() -> Arc<PolicyRuntime> {
    static RUNTIME: OnceLock<Arc<PolicyRuntime>> = OnceLock::new();
    Arc::clone(RUNTIME.get_or_init(|| {
        let limits = CallLimits { concurrency: 4, ..CallLimits::default() };
        Arc::new(PolicyRuntime::new(limits, Compiler::InProcess).unwrap())
    }))
}

/// Builds a policy of this workspace.
pub(crate) fn build(package: &str) -> Vec<u8> {
    built(|builder| builder.component(package))
}

/// Builds one of the SDK's example policies.
pub(crate) fn build_example(name: &str) -> Vec<u8> {
    built(|builder| builder.example("tenure-sdk", name))
}

/// Builds and loads one of the SDK's example policies.
pub(crate) fn example(name: &str) -> Arc<WasmPolicy> {
    load(name, &build_example(name))
}

fn built(build: impl FnOnce(&Builder) -> Result<Vec<u8>, BuildError>) -> Vec<u8> {
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wasm");
    build(&Builder::new(workspace, target).unwrap()).unwrap()
}

/// Loads the policy that a name stands for, and waits for it.
pub(crate) fn obtain(policies: &Policies, name: &str) -> Result<Arc<dyn Policy>, Error> {
    let stamp = policies.resolve(&PolicyName::new(name).unwrap().into())?;
    wait(policies.load(&stamp))
}

/// Waits for a future on the calling thread.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Loads a component under a name.
pub(crate) fn load(name: &str, bytes: &[u8]) -> Arc<WasmPolicy> {
    let policy = runtime().load(&PolicyName::new(name).unwrap(), bytes, None).unwrap();
    policy.grant(Grants { effects: EffectKind::ALL.into(), ..Grants::default() });
    Arc::new(policy)
}

/// The owner that a request is made for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asker<'a> {
    /// A container about which nothing else is known.
    Container(&'a str),
    /// A container of a pod, by the pod's namespace and name.
    Pod(&'a str, &'a str, &'a str),
    /// An agent's claim.
    Claim(&'a str, &'a str),
}

impl Asker<'_> {
    fn owner(self) -> Owner {
        match self {
            Self::Container(container) | Self::Pod(container, ..) => Owner::Attachment {
                container: ContainerId::new(container).unwrap(),
                interface: InterfaceName::new("eth0").unwrap(),
            },
            Self::Claim(agent, name) => {
                Owner::Claim { agent: AgentName::new(agent).unwrap(), name: ClaimName::new(name).unwrap() }
            }
        }
    }

    fn sandbox(self) -> Sandbox {
        let pod = match self {
            Self::Pod(_, namespace, name) => {
                Some(PodIdentity { namespace: namespace.into(), name: name.into(), uid: "".into() })
            }
            _ => None,
        };
        Sandbox { pod, ..Sandbox::default() }
    }
}

/// One network and its book. It plays the host: it applies proposals as the engine does, and ranges as a supplier
/// does.
pub(crate) struct Node {
    policy: Arc<WasmPolicy>,
    pub(crate) book: Arc<Book>,
    clock: u64,
    /// The policy's state, if it keeps one.
    pub(crate) state: Vec<u8>,
    /// The facts that the host adds to each request.
    pub(crate) context: RequestContext,
}

impl Node {
    /// Defines a network by its `ipam` object.
    pub(crate) fn define(policy: &Arc<WasmPolicy>, ipam: &str) -> Result<Self, Error> {
        Self::define_with(policy, ipam, &[])
    }

    pub(crate) fn define_with(
        policy: &Arc<WasmPolicy>,
        ipam: &str,
        attributes: &[(&str, &str)],
    ) -> Result<Self, Error> {
        let name = NetworkName::new("net").unwrap();
        let attributes = attributes.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let config = Arc::new(NetworkConfig { ipam: ipam.into(), attributes });
        let definition = policy.define(&name, &config)?;
        let rejected = |error| Error::new(ErrorCode::ProposalRejected, error);
        tenure_ledger::check_definition(&definition).map_err(rejected)?;
        let defined = Defined { config: &config, definition: &definition, by: Definer::Request };
        let book = Book::defined(&name, defined, Moment::default()).map_err(rejected)?;
        Ok(Self {
            policy: Arc::clone(policy),
            book: Arc::new(book),
            clock: 0,
            state: Vec::new(),
            context: RequestContext::default(),
        })
    }

    fn now(&mut self) -> Moment {
        self.clock += 1;
        Moment { boot_ns: self.clock * 1_000_000, wall_ms: self.clock }
    }

    fn request(&mut self, asker: Asker<'_>, requested: &[&str]) -> Request {
        Request {
            network: NetworkName::new("net").unwrap(),
            owner: asker.owner(),
            requested: requested.iter().map(|address| address.parse().unwrap()).collect(),
            sandbox: asker.sandbox(),
            supply_full: false,
            context: self.context.clone(),
            requested_at: self.now(),
        }
    }

    /// Proposes and admits for a container, as the engine does.
    pub(crate) fn add(&mut self, container: &str, requested: &[&str]) -> Result<Vec<String>, Error> {
        self.add_as(Asker::Container(container), requested)
    }

    /// Proposes and admits, as the engine does. A state changes only together with an accepted proposal.
    pub(crate) fn add_as(&mut self, asker: Asker<'_>, requested: &[&str]) -> Result<Vec<String>, Error> {
        let request = self.request(asker, requested);
        let Outcome { proposal, state } = self.policy.propose(&request, &self.state, &self.book)?;
        let allocation = self.admit(&request, &proposal)?;
        self.state = state.map_or_else(|| self.state.clone(), |state| state.to_vec());
        Ok(addresses(&allocation))
    }

    fn admit(&mut self, request: &Request, proposal: &Proposal) -> Result<Arc<Allocation>, Error> {
        let now = self.now();
        let admitted = self.book.admit(request, proposal, self.policy.stamp(), now);
        let allocation =
            Arc::new(admitted.map_err(|violation| Error::new(ErrorCode::ProposalRejected, violation))?);
        self.apply(&LedgerFact::Allocated(Arc::clone(&allocation)));
        Ok(allocation)
    }

    /// Asks the policy for a plan.
    pub(crate) fn plan(&self, state: &PlanState) -> Result<Vec<Effect>, Error> {
        self.policy.plan(state, &self.book)
    }

    /// Asks the policy for a plan and for what it logs meanwhile.
    pub(crate) fn explain(&self, state: &PlanState) -> Result<(Vec<Effect>, Vec<String>), Error> {
        self.policy.explain(state, &self.book)
    }

    /// Supplies a range to a pool.
    pub(crate) fn supply(&mut self, pool: &str, range: Range) {
        let now = self.now();
        let fact = self.book.supply(&PoolName::new(pool).unwrap(), range, now).unwrap();
        self.apply(&fact);
    }

    /// Drains a range.
    pub(crate) fn drain(&mut self, pool: &str, range: &str) {
        let (pool, range) = (PoolName::new(pool).unwrap(), RangeName::new(range).unwrap());
        let now = self.now();
        let fact = self.book.drain(&pool, &range, true, now).unwrap().unwrap();
        self.apply(&fact);
    }

    /// Withdraws a range from a pool.
    pub(crate) fn withdraw(&mut self, pool: &str, range: &str) {
        let (pool, range) = (PoolName::new(pool).unwrap(), RangeName::new(range).unwrap());
        let now = self.now();
        let fact = self.book.withdraw(&pool, &range, now).unwrap().unwrap();
        self.apply(&fact);
    }

    /// Releases what a container holds.
    pub(crate) fn release(&mut self, container: &str) {
        self.release_as(Asker::Container(container));
    }

    /// Releases what an asker holds.
    pub(crate) fn release_as(&mut self, asker: Asker<'_>) {
        let now = self.now();
        let fact = self.book.release(&asker.owner(), now, "del").unwrap();
        self.apply(&fact);
    }

    /// Ends the cooling of all addresses.
    pub(crate) fn thaw(&mut self) {
        let now = self.now();
        Arc::make_mut(&mut self.book).expire(now, Duration::ZERO);
    }

    fn apply(&mut self, fact: &LedgerFact) {
        let place = self.book.through() + 1;
        Arc::make_mut(&mut self.book).apply(place, fact).unwrap();
    }

    /// Whether anyone holds an address.
    pub(crate) fn holds(&self, address: &str) -> bool {
        self.book.holder(address.parse::<IpAddr>().unwrap()).is_some()
    }
}

fn addresses(allocation: &Allocation) -> Vec<String> {
    allocation.addresses.iter().map(|address| address.ip().to_string()).collect()
}
