//! An engine with a delegate in memory.

use std::pin::Pin;
use std::sync::Arc;

use tenure_engine::ports::{Answer, Catalogue, CatalogueEntry, Delegate, Offered, Policy, TakenIn};
use tenure_engine::{Add, Define};
use tenure_fixtures::ports::{ManualJournal, policy};
use tenure_ledger::{Book, Component, LedgerState};
use tenure_types::{
    Attributes, Cooling, DELEGATED, DefinedPool, Definer, Definition, DelegateName, Error, ErrorCode, Need,
    NetworkConfig, NetworkName, Outcome, PolicyName, PolicySelector, PolicyStamp, Pool, PoolName, Request,
    Supply,
};

mod foreign;

pub(crate) use self::foreign::Foreign;
use self::foreign::Port;
use crate::support::{Bench, network};

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

/// An engine that knows the delegate, and has no network.
pub(crate) fn without_network() -> (Bench, Arc<Foreign>) {
    let foreign = Arc::new(Foreign::default());
    let port = Arc::clone(&foreign);
    (Bench::with(8, 8, move |_| Arc::new(Only(port))), foreign)
}

/// An engine with a network whose addresses come from the delegate.
pub(crate) async fn start() -> (Bench, Arc<Foreign>) {
    let (bench, foreign) = without_network();
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
        let state: LedgerState = self.state(boots);
        let foreign = Arc::clone(foreign);
        let last = self.journal.facts().len() as u64;
        Self::of(state, ManualJournal::after(last + 1_000), move |_| Arc::new(Only(foreign)), 8, 8)
    }
}
