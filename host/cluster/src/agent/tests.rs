use std::collections::BTreeMap;

use serde_json::json;
use tenure_leases::agent::ledger::LeaseHold;
use tenure_leases::{ClaimKind, HolderIdentity, MachineHash, MarkId, PoolKey, TurnId, Uid};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::records::HeldLease;
use super::sample::{PausedClock, agent_with};
use super::*;
use crate::away::AbsentServer;

/// The nodes that lose their API server.
const NODES: u64 = 100;

/// The blocks of each.
const BLOCKS: [&str; 2] = ["10.0.0.0/26", "10.0.0.64/26"];

fn lease(cidr: &str, uid: u128) -> HeldLease {
    HeldLease {
        name: tenure_leases::BlockName::new("default", cidr.parse().unwrap()).unwrap(),
        uid: Uid(uid),
        pool: PoolKey { name: "names".into(), uid: Uid(7) },
        hold: LeaseHold::Open,
        boot: Some(Uid(2)),
        turn: None,
    }
}

/// The API server's objects: the Node, the pool, the blocks, which are the node's, and the operator's hints at them.
fn objects() -> BTreeMap<String, serde_json::Value> {
    let group = "/apis/ipam.tenure.dev/v1alpha1";
    let metadata = |name: &str, uid: u128| json!({ "name": name, "uid": Uid(uid).to_string(), "resourceVersion": "5", "generation": 1 });
    let pool = json!({ "metadata": metadata("names", 7), "spec": { "ipv4": { "cidrs": ["10.0.0.0/16"] } } });
    let node = json!({ "metadata": metadata("n1", 1) });
    let mut objects: BTreeMap<String, serde_json::Value> =
        [("/api/v1/nodes/n1".to_owned(), node), (format!("{group}/addresspools/names"), pool)].into();
    let mut hints = Vec::new();
    for (uid, cidr) in (10..).zip(BLOCKS) {
        let name = lease(cidr, uid).name.to_string();
        hints.push(json!({ "name": name, "cidr": cidr, "uid": Uid(uid).to_string() }));
        let spec = json!({
            "group": "default", "cidr": cidr, "rangeID": "0000000000000001",
            "pool": { "name": "names", "uid": Uid(7).to_string() }, "nodeName": "n1", "nodeUID": Uid(1).to_string(),
            "machine": MachineHash(1).to_string(), "bootID": Uid(2).to_string(),
        });
        let block = json!({ "metadata": metadata(&name, uid), "spec": spec });
        objects.insert(format!("{group}/ipblocks/{name}"), block);
    }
    let told = json!({ "metadata": metadata("n1", 9), "status": { "blocks": hints } });
    objects.insert(format!("{group}/nodeipams/n1"), told);
    objects
}

#[tokio::test(start_paused = true)]
async fn nodes_do_not_ask_for_all_their_blocks_at_once_after_minutes_without_the_api_server() {
    let server = AbsentServer::new(Duration::from_secs(30), Duration::from_secs(300), objects());
    let (mut running, mut engines) = (JoinSet::new(), Vec::new());
    for seed in 0..NODES {
        let clock = Arc::new(PausedClock(Instant::now()));
        let (core, abandoned) = agent_with(server.client(), clock, seed).await;
        for (uid, cidr) in (10..).zip(BLOCKS) {
            core.record(&lease(cidr, uid)).await.unwrap();
        }
        engines.push(abandoned);
        let core = Arc::new(core);
        running.spawn(async move { match work(&core, &Executors::new()).await {} });
    }
    server.back_for(Duration::from_secs(40)).await;
    let lists = server.by_second("GET /apis/ipam.tenure.dev/v1alpha1/nodeipams");
    let reads = server.by_second("GET /apis/ipam.tenure.dev/v1alpha1/ipblocks/");
    let writes = server.by_second("PATCH");
    let nodes = usize::try_from(NODES).unwrap();
    assert_eq!(lists.values().sum::<usize>(), nodes, "{lists:?}");
    assert_eq!(reads.values().sum::<usize>(), nodes * BLOCKS.len(), "each block is read once: {reads:?}");
    assert_eq!(writes, BTreeMap::new(), "nobody has anything to say");
    let most = |seconds: &BTreeMap<u64, usize>| seconds.values().copied().max().unwrap_or_default();
    assert!(most(&lists) <= nodes / 5, "more than a fifth within a second: {lists:?}");
    assert!(most(&reads) <= nodes * BLOCKS.len() / 5, "more than a fifth within a second: {reads:?}");
}

#[tokio::test(start_paused = true)]
async fn a_block_is_of_the_pool_that_its_lease_names() {
    let server = AbsentServer::new(Duration::ZERO, Duration::ZERO, objects());
    let (core, _abandoned) = agent_with(server.client(), Arc::new(PausedClock(Instant::now())), 1).await;
    let me = HolderIdentity { name: "n1".into(), uid: Uid(1), machine: MachineHash(1), boot: Uid(2) };
    // The pool was made again, and with it the lease of the first block; the record of the second one is of a version that kept the old pool.
    let holds = [LeaseHold::Open, LeaseHold::Cordoned(MarkId(1))];
    for ((uid, cidr), hold) in [9, 11].into_iter().zip(BLOCKS).zip(holds) {
        let pool = PoolKey { name: "names".into(), uid: Uid(6) };
        let held = HeldLease { pool, hold, ..lease(cidr, uid) };
        core.record(&held).await.unwrap();
        core.compare(&me, &held).await.unwrap();
    }
    let recorded: Vec<HeldLease> = core.leases().into_values().collect();
    assert_eq!(recorded, [lease(BLOCKS[0], 10), lease(BLOCKS[1], 11)]);
}

/// The objects with ten claims that have no address, and a standard claim whose address another node has.
fn waiting_claims() -> BTreeMap<String, serde_json::Value> {
    let (mut objects, group) = (objects(), "/apis/ipam.tenure.dev/v1alpha1");
    // The operator hints at nothing.
    objects.insert(format!("{group}/nodeipams/n1"), json!({ "metadata": { "name": "n1" } }));
    for number in 0..10 {
        let name = format!("web-{number}");
        let claim = json!({ "metadata": { "name": name }, "spec": { "pool": "names" } });
        objects.insert(format!("{group}/namespaces/default/addressclaims/{name}"), claim);
    }
    let active = json!({
        "nodeName": "n2", "nodeUID": Uid(3).to_string(), "machine": MachineHash(3).to_string(), "bootID": Uid(4).to_string(),
        "turn": TurnId(1).to_string(), "pod": "default/vm-a", "since": "2026-01-01T00:00:00Z",
    });
    let block = json!({
        "metadata": { "name": "default.10-0-0-9.32", "uid": Uid(20).to_string() },
        "spec": {
            "group": "default", "cidr": "10.0.0.9/32", "rangeID": "0000000000000001",
            "pool": { "name": "names", "uid": Uid(7).to_string() },
            "claim": { "kind": "IPAMClaim", "namespace": "default", "name": "vm", "uid": Uid(21).to_string() },
        },
        "status": { "active": active },
    });
    let claim = json!({
        "metadata": { "name": "vm", "uid": Uid(21).to_string() }, "spec": { "network": "pods", "interface": "net1" },
        "status": { "ips": ["10.0.0.9/24"] },
    });
    objects.insert("/apis/k8s.cni.cncf.io/v1alpha1/namespaces/default/ipamclaims/vm".to_owned(), claim);
    objects.insert(format!("{group}/ipblocks"), json!({ "metadata": {}, "items": [block] }));
    objects.insert(format!("{group}/ipblocks/default.10-0-0-9.32"), block);
    objects
}

#[tokio::test(start_paused = true)]
async fn pods_that_wait_for_their_claims_cost_the_api_server_little() {
    let server = AbsentServer::new(Duration::ZERO, Duration::ZERO, waiting_claims());
    let clock = Arc::new(PausedClock(Instant::now()));
    let (core, _abandoned) = agent_with(server.client(), clock, 1).await;
    let core = Arc::new(core);
    let (mut running, agent) = (JoinSet::new(), Arc::clone(&core));
    running.spawn(async move { match work(&agent, &Executors::new()).await {} });
    let of_vm = (ClaimKind::Ipam, "vm".to_owned());
    for (kind, name) in (0..10).map(|number| (ClaimKind::Address, format!("web-{number}"))).chain([of_vm]) {
        let pod = ClaimingPod { name: format!("default/{name}"), guest: None };
        let (core, claim) = (Arc::clone(&core), ClaimName { kind, namespace: "default".to_owned(), name });
        // The runtime tries again for as long as the pod is there.
        running.spawn(async move {
            loop {
                turns::addresses_of(&core, &claim, &pod).await.unwrap_err();
            }
        });
    }
    server.back_for(Duration::from_secs(60)).await;
    let count = |begin: &str| server.by_second(begin).values().sum::<usize>();
    let group = "GET /apis/ipam.tenure.dev/v1alpha1";
    let looks = count(&format!("{group}/namespaces/default/addressclaims/"));
    assert!((50..=100).contains(&looks), "{looks} looks at ten claims");
    let looks = count("GET /apis/k8s.cni.cncf.io/");
    assert!((5..=16).contains(&looks), "{looks} looks at the standard claim");
    let blocks = count(&format!("{group}/ipblocks/"));
    assert!((5..=16).contains(&blocks), "{blocks} looks at its block");
    let lists = count(&format!("{group}/ipblocks")) - blocks;
    assert_eq!((lists, count(&format!("{group}/addressspaces"))), (1, 0), "the list reads every block");
}
