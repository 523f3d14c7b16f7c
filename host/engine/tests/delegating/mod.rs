//! A delegate in memory, which a test tells how to misbehave, and an engine with it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};

use tenure_engine::ports::{
    Answer, Catalogue, CatalogueEntry, Delegate, DelegateFailure, Giving, Offered, Policy, TakenIn,
};
use tenure_engine::{Add, Define, Recovered};
use tenure_fixtures::ports::{ManualJournal, policy};
use tenure_ledger::{Book, Component};
use tenure_types::cni::Success;
use tenure_types::{
    AssignedAddress, Attributes, Cooling, DELEGATED, DefinedPool, Definer, Definition, DelegateCall,
    DelegateName, DelegateVerb, Error, ErrorCode, Need, NetworkConfig, NetworkName, Outcome, PolicyName,
    PolicySelector, PolicyStamp, Pool, PoolName, Request, Supply,
};

use crate::support::{Bench, network};

/// The delegate's state. It survives the engine, like that of a real one.
#[derive(Default)]
pub(crate) struct Foreign(Mutex<State>);

#[derive(Default)]
struct State {
    given: BTreeMap<String, IpAddr>,
    last: u8,
    next: Option<IpAddr>,
    calls: Vec<String>,
    refuses: bool,
    fails: bool,
    /// Where the next ADD stops for ever: before it gives (0), or after (1).
    hold: Option<usize>,
    held: bool,
    unconfigured: bool,
}

impl Foreign {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.state().calls.clone()
    }

    pub(crate) fn given(&self) -> Vec<String> {
        self.state().given.keys().cloned().collect()
    }

    /// The address that it gives next.
    pub(crate) fn next(&self, address: &str) {
        self.state().next = Some(address.parse().unwrap());
    }

    /// It has given something that the node knows nothing of.
    pub(crate) fn knows(&self, container: &str) {
        self.state().given.insert(container.to_owned(), [10, 7, 0, 99].into());
    }

    pub(crate) fn refuses(&self, refuses: bool) {
        self.state().refuses = refuses;
    }

    pub(crate) fn fails(&self, fails: bool) {
        self.state().fails = fails;
    }

    pub(crate) fn hold(&self, stage: usize) {
        let mut state = self.state();
        (state.hold, state.held) = (Some(stage), false);
    }

    pub(crate) fn is_held(&self) -> bool {
        self.state().held
    }

    pub(crate) fn is_configured(&self, configured: bool) {
        self.state().unconfigured = !configured;
    }

    fn holds(&self, stage: usize) -> bool {
        let mut state = self.state();
        let holds = state.hold == Some(stage);
        state.held |= holds;
        holds
    }

    fn give(&self, container: &str) -> Result<Success, DelegateFailure> {
        let mut state = self.state();
        let refusal = |error: &str| DelegateFailure {
            error: Error::new(ErrorCode::DelegateFailed, error),
            may_have_run: true,
            is_refusal: true,
        };
        if state.fails {
            let error = Error::new(ErrorCode::DelegateUnavailable, "it does not run");
            return Err(DelegateFailure { error, may_have_run: false, is_refusal: false });
        }
        if state.refuses || state.given.contains_key(container) {
            return Err(refusal("duplicate"));
        }
        state.last += 1;
        let address = state.next.take().unwrap_or_else(|| [10, 7, 0, state.last + 1].into());
        state.given.insert(container.to_owned(), address);
        let address = format!("{address}/16").parse().unwrap();
        let addresses = vec![AssignedAddress::plain(address, "10.7.0.1".parse().ok())];
        Ok(Success { addresses, ..Success::default() })
    }
}

/// The port to it.
struct Port(Arc<Foreign>);

impl Delegate for Port {
    fn add<'a>(&'a self, call: &'a DelegateCall) -> Giving<'a> {
        Box::pin(async {
            self.0.state().calls.push(format!("ADD {}", call.container));
            if self.0.holds(0) {
                std::future::pending::<()>().await;
            }
            let given = self.0.give(call.container.as_str());
            if self.0.holds(1) {
                std::future::pending::<()>().await;
            }
            given
        })
    }

    fn tell<'a>(&'a self, call: &'a DelegateCall, verb: &'a DelegateVerb) -> Answer<'a, bool> {
        let mut state = self.0.state();
        let answer = match verb {
            _ if state.fails => Err(Error::new(ErrorCode::DelegateUnavailable, "it does not run")),
            DelegateVerb::Del => {
                state.calls.push(format!("DEL {}", call.container));
                state.given.remove(call.container.as_str());
                Ok(true)
            }
            DelegateVerb::Check { .. } => {
                state.calls.push(format!("CHECK {}", call.container));
                Ok(true)
            }
            DelegateVerb::Gc { valid } => {
                let valid: Vec<_> = valid.iter().map(|(container, _)| container.to_string()).collect();
                state.calls.push(format!("GC {}", valid.join(" ")));
                state.given.retain(|container, _| valid.contains(container));
                Ok(true)
            }
            DelegateVerb::Status => Ok(true),
        };
        Box::pin(std::future::ready(answer))
    }
}

/// The policy that stands for it.
struct Proposer(DelegateName, Arc<PolicyStamp>);

impl Policy for Proposer {
    fn stamp(&self) -> &Arc<PolicyStamp> {
        &self.1
    }

    fn delegate(&self) -> Option<&DelegateName> {
        Some(&self.0)
    }

    fn define<'a>(&'a self, _: &'a NetworkName, _: &'a NetworkConfig) -> Answer<'a, Definition> {
        let pools = ["ipv4", "ipv6"].map(|name| {
            let pool = Pool::new(PoolName::new(name).unwrap());
            let pool = Pool { supply: Supply::Host, need: Need::Optional, ..pool };
            DefinedPool { pool, ranges: Vec::new() }
        });
        let attributes = Attributes::new([(DELEGATED, "foreign")]).unwrap();
        let definition = Definition { pools: pools.into(), cooling: Cooling::Strict, attributes };
        Box::pin(std::future::ready(Ok(definition)))
    }

    fn propose<'a>(&'a self, _: &'a Request, _: Arc<Book>, _: Arc<[u8]>) -> Answer<'a, Outcome> {
        Box::pin(std::future::ready(Err(Error::new(ErrorCode::PolicyRefused, "not this way"))))
    }
}

/// A catalogue with the delegate, and the policies of other tests.
struct Only(Arc<Foreign>);

impl Catalogue for Only {
    fn find(&self, name: &PolicyName) -> Result<Arc<dyn Policy>, Error> {
        match name.delegate() {
            Some(_) if self.0.state().unconfigured => {
                Err(Error::new(ErrorCode::DelegateUnavailable, "not configured"))
            }
            Some(delegate) => {
                let stamp = PolicyStamp { name: name.clone(), digest: "unpinned".into() };
                Ok(Arc::new(Proposer(delegate, Arc::new(stamp))))
            }
            None => policy::catalogue().find(name),
        }
    }

    fn find_pinned(&self, stamp: &PolicyStamp) -> Result<Arc<dyn Policy>, Error> {
        self.find(&stamp.name)
    }

    fn resolve(&self, selector: &PolicySelector) -> Result<PolicyStamp, Error> {
        Ok(self.find(&selector.name)?.stamp().as_ref().clone())
    }

    fn load<'a>(&'a self, stamp: &'a PolicyStamp) -> Answer<'a, Arc<dyn Policy>> {
        Box::pin(std::future::ready(self.find(&stamp.name)))
    }

    fn take_in(&self, _: Offered) -> Pin<Box<dyn Future<Output = Result<TakenIn, Error>> + Send + '_>> {
        Box::pin(std::future::ready(Err(Error::new(ErrorCode::UnknownPolicy, "none"))))
    }

    fn delegate(&self, _: &DelegateName) -> Option<Arc<dyn Delegate>> {
        (!self.0.state().unconfigured).then(|| Arc::new(Port(Arc::clone(&self.0))) as _)
    }

    fn set_loaded(&self, _: &[Component]) {}

    fn awaited(&self) -> Option<String> {
        None
    }

    fn list(&self) -> Vec<CatalogueEntry> {
        Vec::new()
    }
}

/// An engine with a network whose addresses come from the delegate.
pub(crate) async fn start() -> (Bench, Arc<Foreign>) {
    let foreign = Arc::new(Foreign::default());
    let port = Arc::clone(&foreign);
    let bench = Bench::with(8, 8, move |_| Arc::new(Only(port)));
    let define = Define {
        network: network(),
        policy: PolicyName::new("delegate.foreign").unwrap(),
        config: Arc::new(NetworkConfig { ipam: "{}".into(), attributes: Vec::new() }),
        by: Definer::Operator,
        apply: true,
        change_ranges: true,
    };
    bench.engine.define_network(&define).await.unwrap();
    (bench, foreign)
}

impl Bench {
    /// An ADD on the network.
    pub(crate) fn delegated(&self, number: u32) -> Add {
        self.add_with(number, "delegate.foreign", "{}")
    }

    /// The state of this engine in a new one with the same delegate, as after a crash or, if `boots`, a reboot.
    pub(crate) fn delegated_after_a_restart(&self, foreign: &Arc<Foreign>, boots: bool) -> Self {
        let state: Recovered = self.state(boots);
        let foreign = Arc::clone(foreign);
        let last = self.journal.facts().len() as u64;
        Self::of(state, ManualJournal::after(last + 1_000), move |_| Arc::new(Only(foreign)), 8, 8)
    }
}
