mod changed;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tenure_fixtures::ports::{ManualClock, ManualJournal};
use tenure_leases::agent::ledger::BlockUsage;
use tenure_leases::{ClaimKind, MachineHash, PoolKey, TurnId, Uid};
use tenure_types::{Clock, Moment};
use tokio::time::{Instant, sleep};

use super::asking::LONGEST_WAIT;
use super::*;
use crate::NodeIPAM;
use crate::agent::asked::ShownClaim;
use crate::agent::records::HeldLease;
use crate::agent::sample::{PausedClock, agent_on, agent_with, network, unreachable};
use crate::agent::saying;
use crate::away::AbsentServer;

fn me() -> HolderIdentity {
    HolderIdentity { name: "n1".into(), uid: Uid(1), machine: MachineHash(1), boot: Uid(2) }
}

fn claim(kind: ClaimKind, name: impl Into<String>) -> ClaimName {
    ClaimName { kind, namespace: "default".to_owned(), name: name.into() }
}

fn pod(name: &str) -> ClaimingPod {
    ClaimingPod { name: format!("default/{name}"), guest: None }
}

/// The node's turn with an address of 10.0.0.0/16.
fn held(number: usize) -> HeldLease {
    let (claim, pod) =
        (claim(ClaimKind::Address, format!("held-{number}")), format!("default/held-{number}"));
    let turn = LeaseTurn { claim, uid: Some(Uid(8)), turn: TurnId(5), pod, guest: None, addresses: 1 };
    HeldLease {
        name: format!("default.10-0-{}-{}.32", number / 200, number % 200).parse().unwrap(),
        uid: Uid(100),
        pool: PoolKey { name: "names".into(), uid: Uid(7) },
        hold: LeaseHold::Open,
        boot: Some(Uid(2)),
        turn: Some(turn),
    }
}

/// An agent with so many turns, whose API server has these objects.
async fn holding(
    count: usize,
    objects: Vec<(&str, Value)>,
) -> (AgentCore, tenure_engine::Abandoned, Arc<ManualClock>) {
    let objects: BTreeMap<String, Value> =
        objects.into_iter().map(|(path, object)| (format!("/apis/{path}"), object)).collect();
    let server = AbsentServer::new(Duration::ZERO, Duration::ZERO, objects);
    let clock = Arc::new(ManualClock::default());
    let (core, abandoned) = agent_with(server.client(), clock.clone(), 1).await;
    for number in 0..count {
        core.record(&held(number)).await.unwrap();
    }
    (core, abandoned, clock)
}

/// The answer to a pod that asks for a claim.
fn answer(core: &AgentCore, claim: &ClaimName) -> Option<String> {
    core.state().asked[claim].wait.as_ref().map(ToString::to_string)
}

#[tokio::test]
async fn of_too_many_turns_one_that_no_pod_uses_goes() {
    let path = "ipam.tenure.dev/v1alpha1/namespaces/default/addressclaims/new";
    let object = json!({
        "metadata": { "name": "new", "uid": Uid(9).to_string() }, "spec": { "pool": "names" },
        "status": { "block": "default.10-0-9-9.32" },
    });
    let (core, _abandoned, _) = holding(MAX_HELD, vec![(path, object)]).await;
    // The pods of all but one have just come.
    let (now, unused) = (core.now(), 77);
    for lease in (0..MAX_HELD).filter(|number| *number != unused).map(held) {
        let turn = lease.turn.unwrap();
        core.state().taken.insert(turn.claim, (turn.pod, now));
    }
    let new = claim(ClaimKind::Address, "new");
    core.ask(&new, &pod("new"));
    core.claims(&me()).await.unwrap();
    let turns = core.claim_turns();
    let wanted: Vec<_> = turns.iter().filter(|turn| turn.state == TurnState::Wanted).collect();
    assert_eq!((turns.len(), wanted.len(), answer(&core, &new)), (MAX_HELD, 1, None));
    assert!(turns.iter().all(|turn| turn.block != held(unused).name));
    // A lease that is lost is made again for the claim of an address, and for no wish.
    assert!(turns.iter().all(|turn| turn.claim.is_some() == (turn.state == TurnState::Held)));
}

#[tokio::test]
async fn a_claim_with_two_addresses_does_not_step_over_the_limit() {
    let block = |name: &str, cidr: &str| {
        let spec = json!({
            "group": "default", "cidr": cidr, "rangeID": "0000000000000001",
            "pool": { "name": "names", "uid": Uid(7).to_string() },
        });
        json!({ "metadata": { "name": name }, "spec": spec })
    };
    let blocks =
        [block("default.10-0-9-9.32", "10.0.9.9/32"), block("default.fd00-0-0-0-0-0-0-9.128", "fd00::9/128")];
    let object = json!({
        "metadata": { "name": "vm", "uid": Uid(9).to_string() }, "spec": { "network": "pods", "interface": "net1" },
        "status": { "ips": ["10.0.9.9/24", "fd00::9/64"] },
    });
    let objects = vec![
        ("k8s.cni.cncf.io/v1alpha1/namespaces/default/ipamclaims/vm", object),
        ("ipam.tenure.dev/v1alpha1/ipblocks", json!({ "metadata": {}, "items": blocks })),
    ];
    let (core, _abandoned, clock) = holding(MAX_HELD - 1, objects).await;
    let now = core.now();
    for turn in (0..MAX_HELD - 1).filter_map(|number| held(number).turn) {
        core.state().taken.insert(turn.claim, (turn.pod, now));
    }
    let vm = claim(ClaimKind::Ipam, "vm");
    core.ask(&vm, &pod("vm"));
    core.claims(&me()).await.unwrap();
    assert_eq!(core.claim_turns().len(), MAX_HELD - 1);
    let why = "claim default/vm has no address: this node has 256 addresses of claims, which is the most";
    assert_eq!(answer(&core, &vm).as_deref(), Some(why));
    // A pod is gone.
    core.state().taken.remove(&held(3).turn.unwrap().claim);
    clock.advance(Duration::from_secs(1));
    core.claims(&me()).await.unwrap();
    assert_eq!(core.claim_turns().len(), MAX_HELD);
}

#[tokio::test]
async fn a_turn_that_is_over_stays_so_for_a_pod_that_gets_the_address_while_it_is_let_go_of() {
    for hold in [LeaseHold::Open, LeaseHold::Contested] {
        let journal = Arc::new(ManualJournal::default());
        let clock = Arc::new(ManualClock::default());
        let (core, _abandoned) = agent_on(Arc::clone(&journal), unreachable(), clock, 1).await;
        let lease = HeldLease { hold, ..held(3) };
        core.record(&lease).await.unwrap();
        journal.hold();
        let is_used = BlockUsage { in_use: 1, ..BlockUsage::default() };
        let gets = async {
            core.state().elsewhere.insert(lease.cidr(), is_used);
            journal.resolve(&Ok(()));
        };
        let (gone, ()) = tokio::join!(core.let_go(&lease), gets);
        gone.unwrap();
        assert_eq!(core.leases()[&lease.cidr()].hold, hold);
    }
}

/// A clock that counts how often it is read.
struct ReadClock(PausedClock, AtomicUsize);

impl Clock for ReadClock {
    fn now(&self) -> Moment {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.now()
    }

    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_waits_for_its_claim_looks_only_when_there_is_an_answer() {
    let clock = Arc::new(ReadClock(PausedClock(Instant::now()), AtomicUsize::new(0)));
    let (core, _abandoned) = agent_with(unreachable(), clock.clone(), 1).await;
    let (new, begin) = (claim(ClaimKind::Address, "new"), Instant::now());
    let pod = pod("new");
    let (before, waits) = (clock.1.load(Ordering::Relaxed), addresses_of(&core, &new, &pod));
    let answers = async {
        sleep(Duration::from_secs(4)).await;
        // The same one twice is one.
        for _ in 0..2 {
            let wait = pending(&new, "it has none");
            core.state().asked.get_mut(&new).unwrap().answer(wait);
            sleep(Duration::from_secs(1)).await;
        }
    };
    let (waited, ()) = tokio::join!(waits, answers);
    assert_eq!(waited.unwrap_err().to_string(), "claim default/new has no address: it has none");
    assert_eq!(begin.elapsed(), LONGEST_WAIT);
    // At the begin, after each limit of the wait, and at the answer.
    let reads = clock.1.load(Ordering::Relaxed) - before;
    assert!(reads <= 2 * 6, "{reads}");
    // The last answer is that the address is the pod's, and that nobody asks any more.
    let ends = async {
        sleep(Duration::from_millis(500)).await;
        core.state().asked.remove(&new);
        sleep(Duration::from_millis(1)).await;
        assert!(core.state().asked.contains_key(&new), "it did not look");
        core.state().trouble = Some("none".to_owned());
    };
    let (waited, ()) = tokio::join!(addresses_of(&core, &new, &pod), ends);
    waited.unwrap_err();
}

#[tokio::test]
async fn pods_of_two_machines_that_ask_for_one_claim_do_not_take_turns() {
    let path = "ipam.tenure.dev/v1alpha1/namespaces/default/addressclaims/vm";
    let object = json!({
        "metadata": { "name": "vm", "uid": Uid(9).to_string() }, "spec": { "pool": "names" },
        "status": { "block": "default.10-0-9-9.32" },
    });
    let (core, _abandoned, clock) = holding(0, vec![(path, object)]).await;
    let vm = claim(ClaimKind::Address, "vm");
    let pods = [None, Some(Uid(7))].map(|guest| ClaimingPod { guest, ..pod("vm") });
    let mut looks = BTreeSet::new();
    let mut turns = BTreeSet::new();
    for _ in 0..60 {
        for pod in pods.iter().chain(&pods) {
            core.ask(&vm, pod);
            core.claims(&me()).await.unwrap();
        }
        looks.insert(core.state().asked[&vm].looks.next);
        turns.extend(core.claim_turns().into_iter().map(|turn| turn.turn));
        clock.advance(Duration::from_secs(1));
    }
    assert_eq!(turns.len(), 1, "a turn is drawn once");
    assert!(looks.len() < 12, "the pauses do not grow: {looks:?}");
    let other = core.ask(&vm, &pods[1]).wait.unwrap().to_string();
    assert_eq!(
        other,
        "claim default/vm has no address: pod default/vm asks for it, which is not of the same virtual machine"
    );
    // The first asks no more.
    clock.advance(FORGET_AFTER);
    core.claims(&me()).await.unwrap();
    assert!(core.ask(&vm, &pods[1]).is_news);
}

/// The operator tells the settings of the pool.
fn tell(core: &AgentCore) {
    let pool = json!({ "name": "names", "uid": Uid(7).to_string(), "generation": 1, "forClaims": true });
    let spec =
        json!({ "nodeUID": Uid(1).to_string(), "machine": "0".repeat(32), "bootID": Uid(2).to_string() });
    let object = json!({ "metadata": { "name": "n1" }, "spec": spec, "status": { "pools": [pool] } });
    core.state().see(Some(serde_json::from_value::<NodeIPAM>(object).unwrap()));
}

#[tokio::test]
async fn a_pod_learns_why_its_node_gets_no_turn() {
    let group = "ipam.tenure.dev/v1alpha1";
    let object = json!({
        "metadata": { "name": "new", "uid": Uid(9).to_string() }, "spec": { "pool": "names" },
        "status": { "block": "default.10-0-9-9.32" },
    });
    let of_claim =
        json!({ "kind": "AddressClaim", "namespace": "default", "name": "new", "uid": Uid(9).to_string() });
    let block = json!({
        "metadata": { "name": "default.10-0-9-9.32", "uid": Uid(20).to_string(), "resourceVersion": "1" },
        "spec": {
            "group": "default", "cidr": "10.0.9.9/32", "rangeID": "0000000000000001",
            "pool": { "name": "names", "uid": Uid(7).to_string() }, "claim": of_claim,
        },
    });
    let (claims, blocks) = (
        format!("{group}/namespaces/default/addressclaims/new"),
        format!("{group}/ipblocks/default.10-0-9-9.32"),
    );
    let (core, _abandoned, clock) = holding(0, vec![(&claims, object), (&blocks, block)]).await;
    let new = claim(ClaimKind::Address, "new");
    let spec =
        json!({ "nodeUID": Uid(1).to_string(), "machine": "0".repeat(32), "bootID": Uid(2).to_string() });
    let entry = json!({
        "pool": "names", "poolUID": Uid(7).to_string(), "family": "IPv4", "reason": "NotAdmitted",
        "message": "the pool is not for this node",
    });
    for (waiting, words) in [
        (json!([]), "the operator has not answered"),
        (json!([entry]), "AddressPool names: the pool is not for this node (NotAdmitted)"),
    ] {
        let object = json!({ "metadata": { "name": "n1" }, "spec": spec, "status": { "waiting": waiting } });
        core.state().see(Some(serde_json::from_value::<NodeIPAM>(object).unwrap()));
        for _ in 0..3 {
            core.ask(&new, &pod("new"));
            core.claims(&me()).await.unwrap();
            let said = saying::spec(&core, &me()).await;
            core.state().written = Some(said);
            clock.advance(Duration::from_secs(16));
        }
        let expected = format!("the address of claim default/new is not this node's yet: {words}");
        assert_eq!(answer(&core, &new), Some(expected));
    }
}

#[tokio::test]
async fn a_pod_learns_that_the_address_of_its_claim_was_excluded() {
    let path = "ipam.tenure.dev/v1alpha1/namespaces/default/addressclaims/held-3";
    let object = json!({
        "metadata": { "name": "held-3", "uid": Uid(9).to_string() }, "spec": { "pool": "names" },
        "status": { "block": "default.10-0-0-3.32" },
    });
    let (core, _abandoned, _) = holding(5, vec![(path, object)]).await;
    let pool = json!({
        "name": "names", "uid": Uid(7).to_string(), "generation": 1, "forClaims": true,
        "exclusions": [{ "cidr": "10.0.0.0/29" }],
    });
    let spec =
        json!({ "nodeUID": Uid(1).to_string(), "machine": "0".repeat(32), "bootID": Uid(2).to_string() });
    let told = json!({ "metadata": { "name": "n1" }, "spec": spec, "status": { "pools": [pool] } });
    core.state().see(Some(serde_json::from_value::<NodeIPAM>(told).unwrap()));
    let excluded = claim(ClaimKind::Address, "held-3");
    core.ask(&excluded, &pod("held-3"));
    core.claims(&me()).await.unwrap();
    assert_eq!(
        answer(&core, &excluded).unwrap(),
        "10.0.0.3 of claim default/held-3 is excluded in AddressPool names: take it out of the exclusions, or make the claim again"
    );
}
