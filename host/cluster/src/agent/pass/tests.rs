use std::sync::Arc;

use kube::{Client, Config};
use serde_json::json;
use tenure_engine::ports::{Answer, Policy};
use tenure_engine::{Abandoned, Define, Engine, Ports};
use tenure_fixtures::ports::{ManualClock, ManualJournal, NoLinks, Silent, catalogue, settings};
use tenure_leases::{ClaimKind, PoolKey, TurnId, Uid};
use tenure_ledger::{Book, LedgerState};
use tenure_types::{
    DefinedPool, Definer, Definition, NetworkConfig, NetworkName, Outcome, PolicyName, PolicyStamp, Pool,
    PoolName, Proposal, Request, Supply, agreed,
};

use super::*;
use crate::NodeIPAM;
use crate::agent::records::{HeldLease, LeaseTurn};
use crate::agent::settings::AgentSettings;
use crate::agent::usage::labelled;
use crate::pools::ClaimName;

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

    fn propose<'a>(&'a self, _: &'a Request, _: Arc<Book>, _: Arc<[u8]>) -> Answer<'a, Outcome> {
        Box::pin(async { Ok(Proposal::default().into()) })
    }
}

fn network() -> NetworkName {
    NetworkName::new("pods").unwrap()
}

/// An agent that cannot reach the API server.
async fn agent() -> (AgentCore, Abandoned) {
    let stamp = Arc::new(PolicyStamp { name: PolicyName::new("names").unwrap(), digest: "d".into() });
    let policy: Arc<dyn Policy> = Arc::new(Names(stamp));
    let clock = Arc::new(ManualClock::default());
    let ports = Ports {
        clock: Arc::<ManualClock>::clone(&clock),
        catalogue: Arc::new(catalogue::LookUp(
            move |_: &PolicyName| -> tenure_types::Result<Arc<dyn Policy>> { Ok(Arc::clone(&policy)) },
        )),
        journal: Arc::new(ManualJournal::default()),
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
    // Another test may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::try_from(Config::new("http://127.0.0.1:9".parse().unwrap())).unwrap();
    let settings = AgentSettings {
        kubeconfig: None,
        node: "n1".to_owned(),
        machine: tenure_leases::MachineHash(1),
        boot: Uid(2),
        networks: [(network(), vec!["names".to_owned()])].into(),
        preallocation: 1,
        release_seconds: 1,
        write_every: Duration::from_secs(1),
        seed: 1,
    };
    (AgentCore::new(engine, client, clock, settings, None), abandoned)
}

/// The node holds the address of a claim, whose pool's settings it does not know.
async fn hold_claim(core: &AgentCore) {
    let claim =
        ClaimName { kind: ClaimKind::Address, namespace: "default".to_owned(), name: "web-0".to_owned() };
    let turn =
        LeaseTurn { claim, turn: TurnId(5), pod: "default/web-0".to_owned(), guest: None, addresses: 1 };
    let lease = HeldLease {
        name: "default.10-0-0-9.32".parse().unwrap(),
        uid: Uid(6),
        pool: PoolKey { name: "names".into(), uid: Uid(7) },
        hold: LeaseHold::Open,
        boot: Some(Uid(2)),
        turn: Some(turn),
    };
    core.record(&lease).await.unwrap();
}

/// The operator tells the settings of the pool.
fn tell(core: &AgentCore) {
    let pool = json!({ "name": "names", "uid": Uid(7).to_string(), "generation": 1, "forClaims": true });
    let spec =
        json!({ "nodeUID": Uid(1).to_string(), "machine": "0".repeat(32), "bootID": Uid(2).to_string() });
    let object = json!({ "metadata": { "name": "n1" }, "spec": spec, "status": { "pools": [pool] } });
    let object: NodeIPAM = serde_json::from_value(object).unwrap();
    core.state().see(Some(object));
}

async fn ranges(core: &AgentCore) -> usize {
    labelled(&core.book(&network()).await.unwrap()).count()
}

fn is_kept(core: &AgentCore) -> bool {
    core.engine.objects().iter().any(|object| object.kind == agreed::KEPT_POOL && object.name == "names.v4")
}

#[tokio::test]
async fn a_pool_for_claims_is_kept_before_it_has_a_range() {
    let (core, _abandoned) = agent().await;
    hold_claim(&core).await;
    let (executors, mut jitter) = (Executors::new(), Jitter::new(1));
    let mut pass = AgentPass { core: &core, executors: &executors, jitter: &mut jitter };
    // Nothing is handed out of a block whose pool's settings are not known.
    assert!(pass.run().await.is_err(), "there is no API server");
    assert_eq!((ranges(&core).await, is_kept(&core)), (0, false));
    tell(&core);
    assert!(pass.run().await.is_err(), "there is no API server");
    assert_eq!((ranges(&core).await, is_kept(&core)), (1, true));
}

#[tokio::test]
async fn settings_that_come_during_a_pass_bring_no_range_for_everybody() {
    let (core, _abandoned) = agent().await;
    hold_claim(&core).await;
    core.keep_selectors().await.unwrap();
    tell(&core);
    core.supply(&network()).await.unwrap();
    assert_eq!((ranges(&core).await, is_kept(&core)), (0, false));
    core.keep_selectors().await.unwrap();
    core.supply(&network()).await.unwrap();
    assert_eq!((ranges(&core).await, is_kept(&core)), (1, true));
}
