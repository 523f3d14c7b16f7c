//! An engine whose ports the test controls.

use std::sync::Arc;
use std::time::Duration;

use tenure_engine::ports::{Catalogue, Clock as _};
use tenure_engine::{Activate, Add, Del, Engine, Ports, Settings};
use tenure_fixtures::ports::{Heard, KernelDouble, ManualClock, ManualJournal, policy, settings};
use tenure_ledger::LedgerState;
use tenure_types::{
    ContainerId, Error, InterfaceName, Moment, NetworkConfig, NetworkName, Owner, PolicyName, Request,
    RequestContext, Sandbox,
};

/// An engine and the ports that the test controls it with.
pub(crate) struct Bench {
    pub(crate) engine: Arc<Engine>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) journal: Arc<ManualJournal>,
    pub(crate) links: Arc<KernelDouble>,
    pub(crate) outcomes: Arc<Heard>,
    pub(crate) abandoned: Option<tenure_engine::Abandoned>,
}

impl Bench {
    pub(crate) fn new(in_flight: usize, queue: usize) -> Self {
        Self::with(in_flight, queue, |_| policy::catalogue())
    }

    /// An engine with a catalogue that may use its clock.
    pub(crate) fn with(
        in_flight: usize,
        queue: usize,
        catalogue: impl FnOnce(&Arc<ManualClock>) -> Arc<dyn Catalogue>,
    ) -> Self {
        Self::of(LedgerState::default(), ManualJournal::default(), catalogue, in_flight, queue)
    }

    /// The same over recovered state, with a journal that follows it.
    pub(crate) fn of(
        recovered: LedgerState,
        journal: ManualJournal,
        catalogue: impl FnOnce(&Arc<ManualClock>) -> Arc<dyn Catalogue>,
        in_flight: usize,
        queue: usize,
    ) -> Self {
        let clock = Arc::new(ManualClock::at(Moment { boot_ns: 1_000_000_000_000, wall_ms: 0 }));
        let (journal, outcomes) = (Arc::new(journal), Arc::new(Heard::default()));
        let links = Arc::new(KernelDouble::default());
        let ports = Ports {
            clock: clock.clone(),
            catalogue: catalogue(&clock),
            journal: journal.clone(),
            links: links.clone(),
            observer: outcomes.clone(),
        };
        // A pool of these tests is small: it would be nearly full all the time.
        let settings = Settings { nearly_full_percent: 100, in_flight, queue, ..settings() };
        let (engine, abandoned) = Engine::new(recovered, ports, settings);
        Self { engine, clock, journal, links, outcomes, abandoned: Some(abandoned) }
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    pub(crate) fn add(&self, number: u32) -> Add {
        self.add_with(number, "first", "10.0.0.0/29")
    }

    pub(crate) fn add_with(&self, number: u32, policy: &str, ipam: &str) -> Add {
        Add {
            request: Request {
                network: network(),
                owner: owner(number),
                requested: Vec::new(),
                sandbox: Sandbox::default(),
                supply_full: false,
                context: RequestContext::default(),
                requested_at: self.now(),
            },
            policy: PolicyName::new(policy).unwrap(),
            config: Arc::new(NetworkConfig { ipam: ipam.into(), attributes: Vec::new() }),
        }
    }

    pub(crate) fn del(&self, number: u32) -> Del {
        Del { network: network(), owner: owner(number), requested_at: self.now() }
    }

    pub(crate) async fn address(&self, number: u32) -> Result<String, Error> {
        let grant = self.engine.add(self.add(number), fits).await?;
        Ok(grant.addresses[0].ip().to_string())
    }

    pub(crate) fn tick(&self, milliseconds: u64) {
        self.clock.advance(Duration::from_millis(milliseconds));
    }
}

/// An activation on the network, with its ranges as they are.
pub(crate) fn activate(policy: &str) -> Activate {
    let policy = PolicyName::new(policy).unwrap().into();
    Activate {
        network: network(),
        policy,
        change_ranges: false,
        unchecked: false,
        empty_state: false,
        reason: String::new(),
    }
}

pub(crate) fn network() -> NetworkName {
    NetworkName::new("net").unwrap()
}

pub(crate) fn owner(number: u32) -> Owner {
    Owner::Attachment {
        container: ContainerId::new(format!("c{number}")).unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
    }
}

/// A caller that accepts any addresses.
pub(crate) fn fits(_: &[tenure_types::AssignedAddress]) -> Result<(), Error> {
    Ok(())
}

/// Polls a future once.
pub(crate) fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> std::task::Poll<F::Output> {
    future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
}
