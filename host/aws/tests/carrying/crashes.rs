//! A crash, and a lost answer, before and after each call: nothing is done twice, and nothing leaks.

use std::net::IpAddr;
use std::time::Duration;

use tenure_ec2_double::state::{Interface, Wanted};
use tenure_ec2_double::{Fault, Kind};
use tokio::time::sleep;

use crate::cloud::{Cloud, Trip, limits};
use crate::node::Node;
use crate::usual::ONE;

/// A life with every kind of call: assign, create, attach, modify, unassign, detach, delete. Returns the calls that changed something.
async fn life(words: &str, begin: impl FnOnce(&Cloud)) -> Vec<(String, &'static str)> {
    let cloud = Cloud::new(3, &[24]);
    begin(&cloud);
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    node.rest(5).await;
    for pod in 0..5 {
        let added = node.add_within(pod, 400).await;
        assert!(added.is_ok(), "{words}: pod {pod}: {added:?}");
    }
    node.rest(60).await;
    for pod in 0..5 {
        node.del(pod).await;
    }
    node.settles(words).await;
    assert_eq!(node.shape().await, [1], "{words}: the shape at the end");
    cloud.inner().changes.clone()
}

const CALLS: [&str; 7] = [
    "AssignPrivateIpAddresses",
    "AttachNetworkInterface",
    "CreateNetworkInterface",
    "DeleteNetworkInterface",
    "DetachNetworkInterface",
    "ModifyNetworkInterfaceAttribute",
    "UnassignPrivateIpAddresses",
];

#[tokio::test(start_paused = true)]
async fn a_crash_before_or_after_any_call_leaves_nothing_behind() {
    let usual = life("no crash", |_| ()).await;
    let mut called: Vec<&str> = usual.iter().map(|(call, _)| call.as_str()).collect();
    called.sort_unstable();
    called.dedup();
    assert_eq!(called, CALLS, "the life has every kind of call");
    let created = |changes: &[(String, &str)]| {
        changes.iter().filter(|(call, how)| call == "CreateNetworkInterface" && *how == "ok").count()
    };
    for number in 0..usual.len() as u64 {
        for trip in [Trip::Before(number), Trip::After(number)] {
            let words = format!("{trip:?} {}", usual[usize::try_from(number).unwrap()].0);
            let changes = life(&words, |cloud| cloud.inner().trip = Some(trip)).await;
            // A repeated call with the same token creates nothing.
            assert!(created(&changes) <= created(&usual) + 1, "{words}: {changes:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_of_any_call_leaves_nothing_behind() {
    for call in CALLS {
        for kind in [Kind::LostBefore, Kind::LostAfter] {
            for from in 1..=3 {
                let words = format!("{kind:?} {call} {from}");
                let fault = Fault { from, ..Fault::once(call, kind.clone()) };
                life(&words, |cloud| cloud.fault(fault)).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_and_a_crash_together_leave_nothing_behind() {
    let usual = life("no crash", |_| ()).await;
    for number in 0..usual.len() as u64 {
        let words = format!("lost and crashed at {number}: {}", usual[usize::try_from(number).unwrap()].0);
        life(&words, |cloud| {
            cloud.fault(Fault { from: 1 + number / 2, ..Fault::once("*", Kind::LostAfter) });
            cloud.inner().trip = Some(Trip::After(number));
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn describes_that_lag_and_calls_that_do_not_find_what_is_new_leave_nothing_behind() {
    let begin = |cloud: &Cloud| {
        let mut inner = cloud.inner();
        inner.state.consistency.describe_lag_ms = 20_000;
        inner.state.consistency.call_lag_ms = 5_000;
    };
    let usual = life("lag", begin).await;
    for number in 0..usual.len() as u64 {
        for trip in [Trip::Before(number), Trip::After(number)] {
            let words = format!("lag, {trip:?} {}", usual[usize::try_from(number).unwrap()].0);
            life(&words, |cloud| {
                begin(cloud);
                cloud.inner().trip = Some(trip);
            })
            .await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_interface_that_ec2_hides_while_it_is_detached_is_not_left_behind() {
    let cloud = Cloud::new(1, &[24]);
    let mut node = Node::start(&cloud, "t3.small", ONE).await;
    *node.routes.links.lock().unwrap() = None;
    for pod in 0..5 {
        node.add(pod).await.unwrap();
    }
    for pod in 0..5 {
        node.del(pod).await;
    }
    let calls = |cloud: &Cloud| cloud.inner().calls.get("DetachNetworkInterface").copied();
    while calls(&cloud).is_none() {
        node.rest(1).await;
    }
    {
        let mut inner = cloud.inner();
        let is_further = |known: &Interface| known.attachment.as_ref().is_none_or(|place| place.device > 0);
        let further = inner.state.interfaces().all().filter(|known| is_further(known));
        let hidden: Vec<String> = further.map(|known| known.id.clone()).collect();
        inner.state.consistency.describe_hides.extend(hidden);
    }
    node.rest(300).await;
    cloud.inner().state.consistency.describe_hides.clear();
    node.settles("at the end").await;
}

/// The node loses its state right after an address was taken off it, and EC2 still shows that address: no pod gets it.
#[tokio::test(start_paused = true)]
async fn an_address_that_was_taken_before_a_start_is_not_adopted_by_an_empty_ledger() {
    let cloud = Cloud::new(3, &[24]);
    cloud.inner().state.consistency.describe_lag_ms = 20_000;
    let instance = cloud.launch("t3.small");
    let primary = cloud.carried(&instance).into_keys().next().unwrap();
    let now = cloud.now();
    let taken = cloud.inner().state.assign(&primary, &Wanted::Count(2), false, now).unwrap().addresses;
    sleep(Duration::from_secs(60)).await;
    let now = cloud.now();
    cloud.inner().state.unassign(&primary, &taken[..1], &[], now).unwrap();
    let mut node = Node::of(&cloud, instance, limits("t3.small"), ONE).await;
    for pod in 0..2 {
        node.add_within(pod, 75).await.unwrap();
        assert_ne!(node.pods[&pod], IpAddr::from(taken[0]));
    }
    assert!(node.pods.values().any(|pod| *pod == IpAddr::from(taken[1])), "what is there is adopted");
    assert_eq!(cloud.verdict(), []);
}

#[tokio::test(start_paused = true)]
async fn an_assignment_whose_answer_is_lost_is_made_once() {
    for trip in [None, Some(Trip::After(0))] {
        let cloud = Cloud::new(3, &[24]);
        cloud.fault(Fault::once("AssignPrivateIpAddresses", Kind::LostAfter));
        cloud.inner().trip = trip;
        // Longer than any answer is lost: what was assigned is not visible at first.
        cloud.inner().state.consistency.describe_lag_ms = 20_000;
        let mut node = Node::start(&cloud, "t3.small", ONE).await;
        node.rest(120).await;
        assert_eq!(cloud.applied(), ["AssignPrivateIpAddresses"], "{trip:?}");
        assert_eq!(node.shape().await, [1], "{trip:?}");
    }
}

/// EC2 takes addresses off, and refuses the repetition because it takes the clock or the credentials for wrong: no pod gets one of them.
#[tokio::test(start_paused = true)]
async fn an_address_that_was_taken_is_handed_out_to_nobody_though_the_repetition_is_refused() {
    let unassign = "UnassignPrivateIpAddresses";
    for trip in [false, true] {
        let cloud = Cloud::new(3, &[24]);
        let ipam = r#"{ "warm": { "addresses": 1 }, "maxInterfaces": 1, "idleSeconds": 10 }"#;
        let mut node = Node::start(&cloud, "t3.small", ipam).await;
        node.add_all(0..3).await;
        node.rest(60).await;
        let refused = Kind::Code { code: "RequestExpired".to_owned(), message: "no".to_owned(), status: 400 };
        cloud.fault(Fault { from: 2, ..Fault::always(unassign, refused) });
        match trip {
            true => {
                let next = cloud.inner().changes.len() as u64;
                cloud.inner().trip = Some(Trip::After(next));
            }
            false => cloud.fault(Fault::once(unassign, Kind::LostAfter)),
        }
        for pod in 0..3 {
            node.del(pod).await;
        }
        while cloud.inner().calls.get(unassign).is_none_or(|calls| *calls < 2) {
            node.rest(1).await;
        }
        node.rest(5).await;
        // More than are left.
        let _ = node.add_within(3, 20).await;
        let _ = node.add_within(4, 20).await;
        node.rest(120).await;
        assert_eq!(cloud.verdict(), [], "{trip}");
        let carried: Vec<_> = cloud.carried(&node.instance).into_values().flatten().collect();
        let is_there = |pod: &IpAddr| carried.iter().any(|net| net.contains(pod));
        assert!(node.pods.values().all(is_there), "{trip}: {:?}, {carried:?}", node.pods);
        cloud.inner().faults.clear();
        node.settles("at the end").await;
    }
}
