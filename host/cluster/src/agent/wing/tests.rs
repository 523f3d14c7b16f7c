use tenure_ledger::IntentOrigin;
use tenure_types::{ConditionName, IntentId, Moment};

use super::*;
use crate::agent::sample::{agent, network};
use crate::agent::state::ClusterPool;

/// A request for so many addresses, which a policy planned.
fn request(pool: &PoolName, addresses: u32) -> Intent {
    Intent {
        id: IntentId::new("intent-1").unwrap(),
        network: network(),
        pool: pool.clone(),
        kind: EffectKind::RequestBlock,
        attributes: Attributes::new([("addresses", addresses.to_string())]).unwrap(),
        takes: Vec::new(),
        origin: IntentOrigin::Host,
        since: Moment::default(),
        reached: Attributes::default(),
    }
}

/// The number of blocks that a request has made durable.
fn durable(wing: &ClusterWing, work: &BlockWork) -> Option<String> {
    wing.reached(work).unwrap().get(WANT).map(str::to_owned)
}

#[tokio::test]
async fn a_request_asks_for_blocks_only_once_it_knows_their_size() {
    let (core, _abandoned) = agent().await;
    let (core, jitter) = (Arc::new(core), std::sync::Mutex::new(Jitter::new(1)));
    let wing = ClusterWing { core: Arc::clone(&core), network: network(), jitter };
    let pool = PoolName::new("names.v4").unwrap();
    // The API server has not shown the pool yet: 16 addresses are not 16 blocks.
    let mut work = wing.begin(&request(&pool, 16), true).await.unwrap();
    for _ in 0..3 {
        assert!(matches!(wing.next(&mut work).await, Step::Wait(LOOK_EVERY)));
        assert_eq!((durable(&wing, &work), core.state().wants.get(&pool).copied()), (None, None));
    }
    let key = tenure_leases::PoolKey { name: "names".into(), uid: tenure_leases::Uid(7) };
    let units = [(PoolFamily::Ipv4, 28)].into();
    core.state().pools.insert("names".to_owned(), ClusterPool { key, units, generation: 1 });
    // It is durable before it is said.
    assert!(matches!(wing.next(&mut work).await, Step::Wait(Duration::ZERO)));
    assert_eq!((durable(&wing, &work).as_deref(), core.state().wants.get(&pool).copied()), (Some("2"), None));
    assert!(matches!(wing.next(&mut work).await, Step::Wait(LOOK_EVERY)));
    assert_eq!(core.state().wants.get(&pool).copied(), Some(2));
}

/// Regression: such a request waited for ever, and pods that waited for an exhausted pool beside it waited until their deadline each time.
#[tokio::test]
async fn no_block_is_asked_for_of_a_family_that_the_pool_does_not_have() {
    let (core, _abandoned) = agent().await;
    let (core, jitter) = (Arc::new(core), std::sync::Mutex::new(Jitter::new(1)));
    let wing = ClusterWing { core: Arc::clone(&core), network: network(), jitter };
    let pool = PoolName::new("names.v4").unwrap();
    let mut work = wing.begin(&request(&pool, 16), true).await.unwrap();
    assert!(matches!(wing.next(&mut work).await, Step::Wait(LOOK_EVERY)), "it is not known yet");
    let book = core.book(&network()).await.unwrap();
    let told = || -> Vec<String> {
        let (_, outlook) = wing.situation(&book).unwrap();
        let reason = |object: &tenure_types::Object| object.attributes.get("reason").unwrap().to_owned();
        outlook.objects.iter().map(|object| format!("{} {}", object.name, reason(object))).collect()
    };
    let has = |family: PoolFamily| {
        let key = tenure_leases::PoolKey { name: "names".into(), uid: tenure_leases::Uid(7) };
        let pool = ClusterPool { key, units: [(family, 28)].into(), generation: 1 };
        core.state().pools.insert("names".to_owned(), pool);
    };
    let is_exhausted = async || {
        core.note_unsupplied().await;
        core.engine.look_at_networks();
        core.engine.conditions().list().iter().any(|found| found.name == ConditionName::SupplyExhausted)
    };
    assert!(told().is_empty() && is_exhausted().await);
    has(PoolFamily::Ipv6);
    assert!(matches!(wing.next(&mut work).await, Step::Undone(_)));
    assert_eq!(told(), ["names.v4 NoSuchFamily"]);
    assert!(!is_exhausted().await, "another pool may serve");
    // An edit of the pool adds the family.
    has(PoolFamily::Ipv4);
    assert!(told().is_empty() && is_exhausted().await);
}
