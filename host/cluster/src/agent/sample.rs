//! An agent for tests, on an engine in memory.

use std::sync::Arc;
use std::time::Duration;

use kube::{Client, Config};
use tenure_engine::ports::{Answer, Policy};
use tenure_engine::{Abandoned, Define, Engine, Ports};
use tenure_fixtures::ports::{ManualClock, ManualJournal, NoLinks, Silent, catalogue, settings};
use tenure_leases::Uid;
use tenure_ledger::{Book, Direction, LedgerState, Shelf};
use tenure_types::{
    Clock, DefinedPool, Definer, Definition, Moment, NetworkConfig, NetworkName, Outcome, PolicyName,
    PolicyStamp, Pool, PoolName, Proposal, Request, Supply,
};
use tokio::time::Instant;

use crate::agent::core::AgentCore;
use crate::agent::settings::AgentSettings;

/// A policy whose only pool is the cluster's pool `names`.
struct Names(Arc<PolicyStamp>);

impl Policy for Names {
    fn stamp(&self) -> &Arc<PolicyStamp> {
        &self.0
    }

    fn define<'a>(&'a self, _: &'a NetworkName, _: &'a NetworkConfig) -> Answer<'a, Definition> {
        let pool = Pool { supply: Supply::Host, ..Pool::new(PoolName::new("names.v4").unwrap()) };
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
    let define = Define {
        network: network(),
        policy: PolicyName::new("names").unwrap(),
        config: Arc::new(NetworkConfig { ipam: "".into(), attributes: Vec::new() }),
        by: Definer::Configuration,
        apply: true,
        change_ranges: false,
    };
    engine.define_network(&define).await.unwrap();
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
