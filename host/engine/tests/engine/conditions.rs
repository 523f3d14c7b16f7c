//! The node's conditions, as the engine reports them.

use std::pin::pin;

use tenure_types::{Attributes, ConditionName, Error, ErrorCode, Object, agreed};

use crate::claiming::ask;
use crate::planning::{added, pool};
use crate::support::{Bench, activate, fits, network, poll_once};

fn names(bench: &Bench) -> Vec<&'static str> {
    bench.engine.whats_wrong().iter().map(|condition| condition.name.name()).collect()
}

#[tokio::test]
async fn a_condition_keeps_its_beginning_and_ends() {
    let bench = Bench::new(8, 8);
    let conditions = bench.engine.conditions();
    conditions.set(ConditionName::RuntimeUnreachable, "", "no such file");
    let began = bench.engine.whats_wrong()[0].since;
    bench.tick(5_000);
    conditions.set(ConditionName::RuntimeUnreachable, "", "no answer in 10 s");
    let found = bench.engine.whats_wrong();
    assert_eq!((found.len(), found[0].since, found[0].message.as_str()), (1, began, "no answer in 10 s"));
    assert!(bench.engine.readiness().is_ok(), "ADD is still served");
    assert!(bench.address(1).await.is_ok());
    conditions.clear(ConditionName::RuntimeUnreachable, "");
    conditions.set(ConditionName::RuntimeUnreachable, "", "gone again");
    assert!(bench.engine.whats_wrong()[0].since > began, "a new start time");
}

#[tokio::test]
async fn the_worst_is_told_first_and_decides_readiness() {
    let bench = Bench::new(8, 8);
    let conditions = bench.engine.conditions();
    conditions.set(ConditionName::MetricsListener, "", "address in use");
    conditions.set(ConditionName::SocketMissing, "", "cni.sock was deleted");
    assert_eq!(names(&bench), ["socket-missing", "metrics-listener"]);
    assert_eq!(bench.engine.readiness().unwrap_err().cause, "cni.sock was deleted");
    assert!(bench.address(1).await.is_ok(), "a caller that still reaches the daemon is served");
    conditions.set(ConditionName::StateLost, "", "the state was lost");
    assert_eq!(bench.address(2).await.unwrap_err().code, ErrorCode::NotReady);
    assert_eq!(bench.engine.has_state().unwrap_err().cause, "the state was lost");
    conditions.clear(ConditionName::StateLost, "");
    assert_eq!(bench.engine.has_state(), Ok(()));
    assert!(bench.address(2).await.is_ok());
}

#[tokio::test]
async fn the_journals_trouble_is_a_condition_while_it_lasts() {
    let bench = Bench::new(8, 8);
    for (code, name) in
        [(ErrorCode::DiskFull, "disk-full"), (ErrorCode::CheckpointFailed, "checkpoint-failed")]
    {
        bench.journal.set_health(Some(Error::new(code, "the disk refuses")));
        assert_eq!(names(&bench), [name]);
        assert_eq!(bench.engine.readiness().unwrap_err().code, code);
        assert_eq!(bench.address(1).await.unwrap_err().code, code);
    }
    bench.journal.set_health(None);
    assert!(bench.address(1).await.is_ok(), "served as soon as the journal recovers");
    assert!(names(&bench).is_empty());
}

#[tokio::test]
async fn a_full_pool_is_named_until_an_address_is_free() {
    let bench = Bench::new(8, 8);
    bench.engine.add(bench.add_with(1, "first", "10.0.0.0/30"), fits).await.unwrap();
    bench.engine.look_at_networks();
    let found = bench.engine.whats_wrong();
    let told: Vec<_> = found.iter().map(|found| (found.subject.as_str(), found.message.as_str())).collect();
    assert_eq!(told, [("net/0", "pool 0 of network net is exhausted: 1 of 1 in use")]);
    assert!(bench.engine.readiness().is_ok(), "other networks are served");
    bench.engine.del(bench.del(1)).await.unwrap();
    bench.engine.look_at_networks();
    assert_eq!(names(&bench), ["pool-exhausted"], "the address is cooling down");
    bench.tick(30_000);
    bench.engine.look_at_networks();
    assert!(names(&bench).is_empty());
}

#[tokio::test]
async fn a_pool_that_is_kept_for_names_is_never_exhausted_and_is_for_nobody_else() {
    let bench = Bench::new(8, 8);
    assert_eq!(bench.takes(0).await.unwrap_err().code, ErrorCode::NotYet);
    let status = async || {
        let add = bench.add_with(1, "blocks", "");
        bench.engine.status(&add.request.network, &add.policy, &add.config).await.map_err(|error| error.code)
    };
    let wrong = || {
        bench.engine.look_at_networks();
        names(&bench)
    };
    assert_eq!((wrong(), status().await), (vec!["supply-exhausted"], Err(ErrorCode::Unavailable)));
    let kept = Object {
        kind: agreed::KEPT_POOL.to_owned(),
        name: "blocks".to_owned(),
        attributes: Attributes::default(),
    };
    bench.engine.objects_seen(std::slice::from_ref(&kept), &[]).await.unwrap();
    assert_eq!((wrong(), status().await), (vec![], Ok(())));
    bench.engine.supply(&network(), &[added("b1", 1)]).await.unwrap();
    bench.claimed("cilium", &ask("router")).await.unwrap_err();
    // The host did not know the pool when it looked the facts about this request up.
    bench.takes(1).await.unwrap_err();
    let mut offered = bench.add_with(1, "blocks", "");
    offered.request.context.pools = Some([pool()].into());
    let grant = bench.engine.add(offered, fits).await.unwrap();
    assert_eq!(grant.addresses[0].ip().to_string(), "10.0.1.16", "the host offers it by itself");
    bench.engine.objects_seen(&[], &[(kept.kind, kept.name)]).await.unwrap();
    assert_eq!(bench.claimed("cilium", &ask("router")).await.unwrap(), "10.0.1.17");
}

#[tokio::test]
async fn a_gateway_that_is_moved_onto_a_live_address_is_told_until_the_address_is_free() {
    let bench = Bench::new(8, 8);
    for number in 1..=4 {
        bench.address(number).await.unwrap();
    }
    bench.engine.look_at_networks();
    assert!(names(&bench).is_empty());
    // The third pod's address becomes the network address, and the fourth's the gateway.
    bench.engine.add(bench.add_with(5, "first", "10.0.0.4/30"), fits).await.unwrap();
    bench.engine.look_at_networks();
    let found = bench.engine.whats_wrong();
    assert_eq!((found[0].name, found[0].subject.as_str()), (ConditionName::GatewayHeld, "net"), "{found:?}");
    for what in ["10.0.0.4, the network address of range ", "10.0.0.5, the gateway of range "] {
        assert!(found[0].message.contains(what), "{found:?}");
    }
    assert!(bench.engine.readiness().is_ok(), "other pods are served");
    for (number, is_left) in [(3, true), (4, false)] {
        bench.engine.del(bench.del(number)).await.unwrap();
        bench.engine.look_at_networks();
        assert_eq!(names(&bench).contains(&"gateway-held"), is_left, "without pod {number}");
    }
}

#[tokio::test]
async fn a_status_answers_for_the_configuration_that_it_brings() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    let status = async |policy: &str, ipam: &str| {
        let add = bench.add_with(1, policy, ipam);
        let status = bench.engine.status(&add.request.network, &add.policy, &add.config);
        status.await.map_err(|error| error.code)
    };
    assert_eq!(status("first", "10.0.0.0/29").await, Ok(()));
    assert_eq!(
        status("first", "what?").await,
        Err(ErrorCode::InvalidConfig),
        "its ADD would redefine the network"
    );
    assert_eq!(status("missing", "10.0.0.0/29").await, Err(ErrorCode::UnknownPolicy));
    assert_eq!(
        status("broken", "10.0.0.0/29").await,
        Err(ErrorCode::Unavailable),
        "its policy cannot be loaded"
    );
}

#[tokio::test]
async fn a_busy_network_keeps_its_own_conditions_and_no_others() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    let conditions = bench.engine.conditions();
    conditions.set(ConditionName::RuntimeUnreachable, "", "no such file");
    for subject in ["net/0", "gone/0"] {
        conditions.set(ConditionName::PoolExhausted, subject, "full");
    }
    for subject in ["net", "gone"] {
        conditions.set(ConditionName::NetworkOutOfBounds, subject, "outside");
    }
    let mut busy = pin!(bench.engine.add(bench.add_with(2, "stalled", "10.0.0.0/29"), fits));
    assert!(poll_once(busy.as_mut()).is_pending());
    bench.engine.look_at_networks();
    let found = bench.engine.whats_wrong();
    let mut told: Vec<_> = found.iter().map(|found| (found.name.name(), found.subject.as_str())).collect();
    told.sort_unstable();
    let expected =
        [("network-out-of-bounds", "net"), ("pool-exhausted", "net/0"), ("runtime-unreachable", "")];
    assert_eq!(told, expected);
}

/// Regression: STATUS failed while an ADD waited and was served, so that the node turned not ready, and its pods left their Services.
#[tokio::test]
async fn a_status_does_not_fail_where_an_add_waits_for_the_host() {
    let bench = Bench::new(8, 8);
    let attending = bench.engine.attend(&network());
    let status = async || {
        let add = bench.add_with(1, "blocks", "");
        bench.engine.status(&add.request.network, &add.policy, &add.config).await.map_err(|error| error.code)
    };
    {
        let mut add = pin!(bench.takes(0));
        assert!(poll_once(add.as_mut()).is_pending());
        assert_eq!(status().await, Ok(()));
        bench.engine.supply(&network(), &[added("b1", 1)]).await.unwrap();
        add.await.unwrap();
    }
    let add = (1..).map(|number| Box::pin(bench.takes(number)));
    let mut waits = add.filter_map(|mut add| poll_once(add.as_mut()).is_pending().then_some(add));
    let _waiting = waits.next().unwrap();
    assert_eq!(status().await, Ok(()));
    bench.engine.look_at_networks();
    assert_eq!(names(&bench), ["supply-exhausted"]);
    drop(attending);
    assert_eq!(status().await, Err(ErrorCode::Unavailable), "nobody could supply it");
}

#[tokio::test]
async fn a_status_asks_the_policy_that_an_operator_has_chosen() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    bench.engine.activate(&activate("last")).await.unwrap();
    let add = bench.add_with(1, "broken", "10.0.0.0/29");
    let status = bench.engine.status(&add.request.network, &add.policy, &add.config).await;
    assert_eq!(status, Ok(()), "the policy of the configuration does not matter");
}
