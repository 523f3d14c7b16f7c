use std::sync::Arc;

use serde_json::{Value, json};
use tenure_leases::{PoolKey, Uid};
use tokio::time::{Instant, advance};

use super::*;
use crate::NodeIPAM;
use crate::agent::sample::{PausedClock, agent_with};
use crate::agent::state::ClusterPool;
use crate::away::AbsentServer;

const POOL: &str = "/apis/ipam.tenure.dev/v1alpha1/addresspools/names";

/// The operator tells a generation of the pool, and why it grants nothing of it, if it says so.
fn tell(core: &AgentCore, generation: i64, reason: Option<&str>) {
    let pool = json!({ "name": "names", "uid": Uid(7).to_string(), "generation": generation });
    let spec =
        json!({ "nodeUID": Uid(1).to_string(), "machine": "0".repeat(32), "bootID": Uid(2).to_string() });
    let waiting = reason.map(|reason| {
        json!({ "pool": "names", "poolUID": Uid(7).to_string(), "family": "IPv4", "reason": reason, "message": "" })
    });
    let waiting: Vec<Value> = waiting.into_iter().collect();
    let object = json!({ "metadata": { "name": "n1" }, "spec": spec, "status": { "pools": [pool], "waiting": waiting } });
    core.state().see(Some(serde_json::from_value::<NodeIPAM>(object).unwrap()));
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_gets_a_family_of_the_network_is_read_again_once_the_operator_tells_of_the_edit() {
    let metadata = json!({ "name": "names", "uid": Uid(7).to_string(), "generation": 2 });
    let spec = json!({ "ipv4": { "cidrs": ["10.0.0.0/16"] }, "ipv6": { "cidrs": ["fd00::/64"] } });
    let edited = json!({ "metadata": metadata, "spec": spec });
    let server = AbsentServer::new(Duration::ZERO, Duration::ZERO, [(POOL.to_owned(), edited)].into());
    let (core, _abandoned) = agent_with(server.client(), Arc::new(PausedClock(Instant::now())), 1).await;
    let looks = || server.by_second(&format!("GET {POOL}")).values().sum::<usize>();
    let mut jitter = Jitter::new(1);
    // Before the edit: the network wants IPv4 of it.
    let key = PoolKey { name: "names".into(), uid: Uid(7) };
    let before = ClusterPool { key, units: [(PoolFamily::Ipv6, 122)].into(), generation: 1 };
    core.state().pools.insert("names".to_owned(), before);
    tell(&core, 1, None);
    for _ in 0..600 {
        core.look_up_pools(&mut jitter).await.unwrap();
        advance(Duration::from_secs(1)).await;
    }
    assert_eq!(looks(), 0, "there was no edit");
    tell(&core, 2, None);
    core.look_up_pools(&mut jitter).await.unwrap();
    let known = core.state().pools["names"].clone();
    assert_eq!(known.units.get(&PoolFamily::Ipv4), Some(&26));
    core.look_up_pools(&mut jitter).await.unwrap();
    assert_eq!(looks(), 1);
}

/// How often a pool is looked up in ten minutes, if the API server answers with this.
async fn looks_in_ten_minutes(pool: Value) -> usize {
    let server = AbsentServer::new(Duration::ZERO, Duration::ZERO, [(POOL.to_owned(), pool)].into());
    let (core, _abandoned) = agent_with(server.client(), Arc::new(PausedClock(Instant::now())), 1).await;
    let mut jitter = Jitter::new(1);
    for _ in 0..600 {
        core.look_up_pools(&mut jitter).await.unwrap();
        advance(Duration::from_secs(1)).await;
    }
    server.by_second(&format!("GET {POOL}")).values().sum()
}

/// Regression: a node whose pool lost its addresses of a family asked for them for good, and an exhausted pool beside it refused nobody.
#[tokio::test(start_paused = true)]
async fn a_pool_whose_family_is_emptied_has_it_no_longer_once_the_operator_has_nothing_of_it_to_grant() {
    let metadata = json!({ "name": "names", "uid": Uid(7).to_string(), "generation": 2 });
    let spec = json!({ "ipv4": { "cidrs": [] }, "ipv6": { "cidrs": ["fd00::/64"] } });
    let emptied = json!({ "metadata": metadata, "spec": spec });
    let server = AbsentServer::new(Duration::ZERO, Duration::ZERO, [(POOL.to_owned(), emptied)].into());
    let (core, _abandoned) = agent_with(server.client(), Arc::new(PausedClock(Instant::now())), 1).await;
    let key = PoolKey { name: "names".into(), uid: Uid(7) };
    let units = [(PoolFamily::Ipv4, 26), (PoolFamily::Ipv6, 122)].into();
    core.state().pools.insert("names".to_owned(), ClusterPool { key, units, generation: 1 });
    let looks = async |generation, reason| {
        tell(&core, generation, reason);
        core.look_up_pools(&mut Jitter::new(1)).await.unwrap();
        server.by_second(&format!("GET {POOL}")).values().sum::<usize>()
    };
    // After a pause of the operator alone, or an edit alone, such as of exclusions, no node reads the pool.
    assert_eq!((looks(1, Some("OperatorWaits")).await, looks(2, None).await), (0, 0));
    assert_eq!(looks(2, Some("PoolExhausted")).await, 0);
    assert_eq!(looks(2, Some("OperatorWaits")).await, 1);
    let pool = |family: &str| tenure_types::PoolName::new(format!("names{family}")).unwrap();
    assert!(core.lacks_family(&pool(".v4")) && !core.lacks_family(&pool(".v6")));
    advance(Duration::from_secs(600)).await;
    assert_eq!(looks(2, Some("OperatorWaits")).await, 1, "it is known");
}

/// Nothing is demanded of such a pool, so that the operator tells nothing of it.
#[tokio::test(start_paused = true)]
async fn a_pool_without_any_family_of_the_network_is_looked_at_once_a_minute() {
    let metadata = json!({ "name": "names", "uid": Uid(7).to_string(), "generation": 1 });
    let other = json!({ "metadata": metadata, "spec": { "ipv6": { "cidrs": ["fd00::/64"] } } });
    let looks = looks_in_ten_minutes(other).await;
    assert!((11..=14).contains(&looks), "{looks} looks in ten minutes");
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_does_not_exist_is_asked_for_ever_more_seldom() {
    let looks = looks_in_ten_minutes(Value::Null).await;
    assert!((11..=14).contains(&looks), "{looks} looks in ten minutes");
}
