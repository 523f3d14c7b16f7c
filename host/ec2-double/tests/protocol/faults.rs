//! Faults on purpose: whether the call was applied, and what the caller saw of it.

use std::io;
use std::time::Duration;

use tenure_ec2_double::{Double, Fault, Kind, Told};

use super::client::{call, call_as};
use super::doubles::double;

const QUESTION: &str = "SubnetId=subnet-00000000000000000";

async fn create(double: &Double) -> io::Result<u16> {
    call_as(double, "AKIATEST", "CreateNetworkInterface", QUESTION).await.map(|reply| reply.status)
}

fn interfaces(double: &Double) -> usize {
    double.with(|world, _| world.state.interfaces().all().count())
}

#[tokio::test]
async fn a_reply_is_lost_before_or_after_the_call_is_applied() {
    let double = double(&[]).await;
    double.fault(Fault::once("CreateNetworkInterface", Kind::LostBefore));
    assert_eq!(create(&double).await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(interfaces(&double), 0);
    double.fault(Fault::once("CreateNetworkInterface", Kind::LostAfter));
    assert_eq!(create(&double).await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(interfaces(&double), 1);
    let told =
        double.with(|world, _| world.journal.after(0).iter().map(|entry| entry.told).collect::<Vec<_>>());
    assert_eq!(told, [Told::Nothing, Told::Nothing]);
    assert_eq!(create(&double).await.unwrap(), 200, "both struck once");
}

#[tokio::test]
async fn connections_are_reset_and_cut() {
    let double = double(&[]).await;
    double.fault(Fault::once("*", Kind::Reset));
    assert_eq!(create(&double).await.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    double.fault(Fault::once("*", Kind::HalfBody));
    assert_eq!(create(&double).await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    double.fault(Fault::once("*", Kind::WrongXml));
    assert!(call(&double, "CreateNetworkInterface", QUESTION).await.body.contains("502 Bad Gateway"));
    assert_eq!(interfaces(&double), 3, "all three were applied");
}

#[tokio::test]
async fn the_second_call_is_refused_with_any_code() {
    let double = double(&[]).await;
    let kind = Kind::Code {
        code: "InternalError".to_owned(),
        message: "An internal error.".to_owned(),
        status: 500,
    };
    double.fault(Fault { from: 2, ..Fault::once("CreateNetworkInterface", kind) });
    assert_eq!(create(&double).await.unwrap(), 200);
    let reply = call(&double, "CreateNetworkInterface", QUESTION).await;
    assert_eq!((reply.status, reply.code()), (500, "InternalError"));
    assert_eq!((create(&double).await.unwrap(), interfaces(&double)), (200, 2));
}

#[tokio::test]
async fn a_call_waits_for_the_clock_before_or_after_it_is_applied() {
    for (kind, applied) in
        [(Kind::DelayBefore { delay_ms: 60_000 }, 0), (Kind::DelayAfter { delay_ms: 60_000 }, 1)]
    {
        let double = double(&[]).await;
        double.fault(Fault::once("CreateNetworkInterface", kind.clone()));
        let waiting = create(&double);
        tokio::pin!(waiting);
        let held = tokio::select! {
            _ = &mut waiting => panic!("{kind:?}: the clock stands still"),
            held = double.wait_for_held("CreateNetworkInterface") => held,
        };
        assert_eq!((held.is_applied, interfaces(&double)), (applied == 1, applied), "{kind:?}");
        double.advance(Duration::from_secs(60));
        assert_eq!((waiting.await.unwrap(), interfaces(&double)), (200, 1), "{kind:?}");
    }
}

#[tokio::test]
async fn a_held_call_can_be_let_go() {
    let double = double(&[]).await;
    double.fault(Fault::once("CreateNetworkInterface", Kind::DelayBefore { delay_ms: u64::MAX }));
    let release = async {
        let held = double.wait_for_held("CreateNetworkInterface").await;
        assert!(double.with(|world, _| world.held.release(held.number)));
    };
    let (created, ()) = tokio::join!(create(&double), release);
    assert_eq!((created.unwrap(), interfaces(&double)), (200, 1));
    assert!(!double.with(|world, _| world.held.release(1)), "it is no longer held");
}

#[tokio::test]
async fn a_call_whose_caller_dies_is_applied_nevertheless() {
    let double = double(&[]).await;
    double.fault(Fault::once("CreateNetworkInterface", Kind::DelayBefore { delay_ms: 60_000 }));
    tokio::select! {
        _ = create(&double) => panic!("the clock stands still"),
        _ = double.wait_for_held("CreateNetworkInterface") => {}
    }
    // Time for the double to see that the caller's connection is closed.
    call(&double, "DescribeSubnets", "").await;
    double.advance(Duration::from_secs(60));
    double.wait_for(0, |entry| entry.call == "CreateNetworkInterface").await;
    assert_eq!(interfaces(&double), 1);
}

#[tokio::test]
async fn describe_lags_hides_and_freezes() {
    let double = double(&[]).await;
    double.with(|world, _| world.state.consistency.describe_lag_ms = 3000);
    let created = call(&double, "CreateNetworkInterface", QUESTION).await;
    let id = created.one("networkInterfaceId");
    let ask = async || {
        call(&double, "DescribeNetworkInterfaces", &format!("NetworkInterfaceId.1={id}")).await.status
    };
    let count = async || call(&double, "DescribeNetworkInterfaces", "").await.all("networkInterfaceId").len();
    assert_eq!((ask().await, count().await), (400, 0), "not found after create");
    double.advance(Duration::from_secs(3));
    assert_eq!((ask().await, count().await), (200, 1));
    call(
        &double,
        "AssignPrivateIpAddresses",
        &format!("NetworkInterfaceId={id}&SecondaryPrivateIpAddressCount=1"),
    )
    .await;
    let addresses = async || call(&double, "DescribeNetworkInterfaces", "").await.all("primary").len();
    assert_eq!(addresses().await, 1, "the old list");
    double.with(|world, now| world.state.consistency.describe_frozen_at = Some(now.before(3000)));
    double.advance(Duration::from_secs(86_400));
    assert_eq!(addresses().await, 1, "stale for ever");
    double.with(|world, _| world.state.consistency.describe_frozen_at = None);
    assert_eq!(addresses().await, 2);
    double.with(|world, _| world.state.consistency.describe_hides.insert(id.to_owned()));
    assert_eq!((ask().await, count().await), (400, 0), "less than before");
}

#[tokio::test]
async fn free_counts_of_subnets_lag() {
    let double = double(&[]).await;
    double.with(|world, _| world.state.consistency.subnet_lag_ms = 5000);
    call(&double, "CreateNetworkInterface", QUESTION).await;
    let free = async || {
        let question = "SubnetId.1=subnet-00000000000000000";
        call(&double, "DescribeSubnets", question).await.one("availableIpAddressCount").to_owned()
    };
    assert_eq!(free().await, "251");
    double.advance(Duration::from_secs(5));
    assert_eq!(free().await, "250");
}
