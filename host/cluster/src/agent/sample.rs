//! An agent for tests, on an engine in memory.

use std::sync::Arc;
use std::time::Duration;

use kube::{Client, Config};
use serde_json::json;
use tenure_engine::ports::{Answer, Policy};
use tenure_engine::{Abandoned, Add, Define, Engine, Ports};
use tenure_fixtures::ports::{ManualClock, ManualJournal, NoLinks, Silent, catalogue, settings};
use tenure_leases::agent::ledger::{BlockUsage, LeaseHold};
use tenure_leases::{PoolKey, Uid};
use tenure_ledger::{Book, Direction, LedgerState, Shelf};
use tenure_types::{
    Clock, ContainerId, DefinedPool, Definer, Definition, InterfaceName, Moment, NetworkConfig, NetworkName,
    Outcome, Owner, PolicyName, PolicyStamp, Pool, PoolName, Proposal, Request, RequestContext, Sandbox,
    Supply,
};
use tokio::time::Instant;

use crate::NodeIPAM;
use crate::agent::core::AgentCore;
use crate::agent::records::HeldLease;
use crate::agent::settings::AgentSettings;

/// The configuration of a network that uses another pool.
const OTHER_POOL: &str = "other";

/// A policy whose only pool is the cluster's pool `names`, unless the configuration wants another one.
struct Names(Arc<PolicyStamp>);

impl Policy for Names {
    fn stamp(&self) -> &Arc<PolicyStamp> {
        &self.0
    }

    fn define<'a>(&'a self, _: &'a NetworkName, config: &'a NetworkConfig) -> Answer<'a, Definition> {
        let name = if &*config.ipam == OTHER_POOL { "other.v4" } else { "names.v4" };
        let pool = Pool { supply: Supply::Host, ..Pool::new(PoolName::new(name).unwrap()) };
        let pools = vec![DefinedPool { pool, ranges: Vec::new() }];
        Box::pin(async { Ok(Definition { pools, ..Definition::default() }) })
    }

    fn propose<'a>(&'a self, _: &'a Request, book: Arc<Book>, _: Arc<[u8]>) -> Answer<'a, Outcome> {
        let free = book.free(Shelf::whole(0), None, Direction::Ascending, 1);
        let proposal = Proposal::of(free.into_iter().map(|address| (0, address)));
        Box::pin(async { Ok(proposal.into()) })
    }
}

/// tokio's clock.
pub(crate) struct PausedClock(pub(crate) Instant);

impl Clock for PausedClock {
    fn now(&self) -> Moment {
        let since = self.monotonic();
        Moment {
            boot_ns: since.as_nanos().try_into().unwrap(),
            wall_ms: since.as_millis().try_into().unwrap(),
        }
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The network's name.
pub(crate) fn network() -> NetworkName {
    NetworkName::new("pods").unwrap()
}

/// A client of an API server that does not answer.
pub(crate) fn unreachable() -> Client {
    // Another test may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::try_from(Config::new("http://127.0.0.1:9".parse().unwrap())).unwrap()
}

/// An agent that cannot reach the API server.
pub(crate) async fn agent() -> (AgentCore, Abandoned) {
    agent_with(unreachable(), Arc::new(ManualClock::default()), 1).await
}

/// An agent with a client and a clock, and a seed of its own.
pub(crate) async fn agent_with(client: Client, clock: Arc<dyn Clock>, seed: u64) -> (AgentCore, Abandoned) {
    agent_on(Arc::default(), client, clock, seed).await
}

/// The same on a journal.
pub(crate) async fn agent_on(
    journal: Arc<ManualJournal>,
    client: Client,
    clock: Arc<dyn Clock>,
    seed: u64,
) -> (AgentCore, Abandoned) {
    let stamp = Arc::new(PolicyStamp { name: PolicyName::new("names").unwrap(), digest: "d".into() });
    let policy: Arc<dyn Policy> = Arc::new(Names(stamp));
    let ports = Ports {
        clock: Arc::clone(&clock),
        catalogue: Arc::new(catalogue::LookUp(
            move |_: &PolicyName| -> tenure_types::Result<Arc<dyn Policy>> { Ok(Arc::clone(&policy)) },
        )),
        journal,
        links: Arc::new(NoLinks),
        observer: Arc::new(Silent),
    };
    let (engine, abandoned) = Engine::new(LedgerState::default(), ports, settings());
    engine.define_network(&definition(true)).await.unwrap();
    let settings = AgentSettings {
        kubeconfig: None,
        node: "n1".to_owned(),
        machine: tenure_leases::MachineHash(1),
        boot: Uid(2),
        networks: [(network(), vec!["names".to_owned()])].into(),
        preallocation: 1,
        release_seconds: 1,
        write_every: Duration::from_secs(1),
        seed,
    };
    (AgentCore::new(engine, client, clock, settings, None), abandoned)
}

/// A lease of the network's pool.
pub(crate) fn lease() -> HeldLease {
    HeldLease {
        name: "default.10-0-0-0.26".parse().unwrap(),
        uid: Uid(6),
        pool: PoolKey { name: "names".into(), uid: Uid(7) },
        hold: LeaseHold::Open,
        boot: Some(Uid(2)),
        turn: None,
    }
}

/// The owner of a container's interface.
pub(crate) fn owner(container: &str) -> Owner {
    Owner::Attachment {
        container: ContainerId::new(container).unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
    }
}

/// The definition of the network, with its pool or with another one.
fn definition(has_pool: bool) -> Define {
    Define {
        network: network(),
        policy: PolicyName::new("names").unwrap(),
        config: Arc::new(NetworkConfig {
            ipam: if has_pool { "" } else { OTHER_POOL }.into(),
            attributes: Vec::new(),
        }),
        by: Definer::Configuration,
        apply: true,
        change_ranges: true,
    }
}

impl AgentCore {
    /// Has the network use its pool or another one, as a reload of the configuration does.
    pub(crate) async fn redefine(&self, has_pool: bool) {
        self.engine.define_network(&definition(has_pool)).await.unwrap();
    }

    /// The operator tells the settings of the pool.
    pub(crate) fn is_told(&self) {
        let pool = json!({ "name": "names", "uid": Uid(7).to_string(), "generation": 1 });
        let spec =
            json!({ "nodeUID": Uid(1).to_string(), "machine": "0".repeat(32), "bootID": Uid(2).to_string() });
        let object = json!({ "metadata": { "name": "n1" }, "spec": spec, "status": { "pools": [pool] } });
        let object: NodeIPAM = serde_json::from_value(object).unwrap();
        self.state().see(Some(object));
    }

    /// Adds an interface; returns its address, if it gets one.
    pub(crate) async fn takes(&self, network: NetworkName, container: &str) -> Option<String> {
        let request = Request {
            network,
            owner: owner(container),
            requested: Vec::new(),
            sandbox: Sandbox::default(),
            supply_full: false,
            context: RequestContext::default(),
            requested_at: self.engine.now(),
        };
        let config = Arc::new(NetworkConfig { ipam: "".into(), attributes: Vec::new() });
        let add = Add { request, policy: PolicyName::new("names").unwrap(), config };
        let granted = self.engine.add(add, |_| Ok(())).await.ok()?;
        granted.addresses.first().map(|assigned| assigned.ip().to_string())
    }

    /// Makes the ranges of all networks agree with the leases.
    pub(crate) async fn supply_all(&self) {
        self.leave_networks().await.unwrap();
        for network in self.settings.networks.keys() {
            self.supply(network).await.unwrap();
        }
    }

    /// The use of the block of [`lease`].
    pub(crate) async fn row_of_block(&self) -> BlockUsage {
        let book = self.book_of("names").await;
        self.row(&lease(), book.as_deref()).usage
    }
}
