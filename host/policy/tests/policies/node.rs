//! A network served by a policy, with a book and the ledger's checks: what is between the engine and a policy.

use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use tenure_ledger::{Book, Defined, LedgerFact};
use tenure_policy::{Compiler, Limits, Runtime, WasmPolicy};
use tenure_types::{
    ContainerId, Definer, Error, ErrorCode, InterfaceName, Moment, NetworkConfig, NetworkName, Owner,
    PolicyName, Request, Sandbox,
};

/// The sandbox of a test program.
pub(crate) fn runtime() -> Arc<Runtime> {
    static RUNTIME: OnceLock<Arc<Runtime>> = OnceLock::new();
    Arc::clone(RUNTIME.get_or_init(|| {
        let limits = Limits { concurrency: 4, ..Limits::default() };
        Arc::new(Runtime::new(limits, Compiler::InProcess).unwrap())
    }))
}

/// Builds a policy of this workspace.
pub(crate) fn build(package: &str) -> Vec<u8> {
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wasm");
    tenure_sdk_build::Builder::new(workspace, target).unwrap().component(package).unwrap()
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
    Arc::new(runtime().load(&PolicyName::new(name).unwrap(), bytes, None).unwrap())
}

/// One network and its book.
pub(crate) struct Node {
    policy: Arc<WasmPolicy>,
    pub(crate) book: Arc<Book>,
    clock: u64,
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
        tenure_ledger::check_definition(&definition)
            .map_err(|error| Error::new(ErrorCode::ProposalRejected, error))?;
        let defined = Defined { config: &config, definition: &definition, by: Definer::Request };
        let book = Book::defined(&name, defined, Moment::default())
            .map_err(|error| Error::new(ErrorCode::ProposalRejected, error))?;
        Ok(Self { policy: Arc::clone(policy), book: Arc::new(book), clock: 0 })
    }

    fn now(&mut self) -> Moment {
        self.clock += 1;
        Moment { boot_ns: self.clock * 1_000_000, wall_ms: self.clock }
    }

    /// Proposes and admits, as the engine does.
    pub(crate) fn add(&mut self, container: &str, requested: &[&str]) -> Result<Vec<String>, Error> {
        let now = self.now();
        let request = Request {
            network: NetworkName::new("net").unwrap(),
            owner: owner(container),
            requested: requested.iter().map(|address| address.parse().unwrap()).collect(),
            sandbox: Sandbox::default(),
            requested_at: now,
        };
        let proposal = self.policy.propose(&request, &self.book)?;
        let allocation = self
            .book
            .admit(&request, &proposal, self.policy.stamp(), now)
            .map_err(|violation| Error::new(ErrorCode::ProposalRejected, violation))?;
        let addresses = allocation.addresses.iter().map(|address| address.ip().to_string()).collect();
        self.apply(&LedgerFact::Allocated(Arc::new(allocation)));
        Ok(addresses)
    }

    /// Releases what a container owns.
    pub(crate) fn release(&mut self, container: &str) {
        let now = self.now();
        let fact = self.book.release(&owner(container), now, "del").unwrap();
        self.apply(&fact);
    }

    /// Lets every freed address become free.
    pub(crate) fn thaw(&mut self) {
        let now = self.now();
        Arc::make_mut(&mut self.book).expire(now, Duration::ZERO);
    }

    fn apply(&mut self, fact: &LedgerFact) {
        let place = self.book.through() + 1;
        Arc::make_mut(&mut self.book).apply(place, fact).unwrap();
    }

    /// Whether anybody owns an address.
    pub(crate) fn holds(&self, address: &str) -> bool {
        self.book.holder(address.parse::<IpAddr>().unwrap()).is_some()
    }
}

fn owner(container: &str) -> Owner {
    Owner::Attachment {
        container: ContainerId::new(container).unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
    }
}
