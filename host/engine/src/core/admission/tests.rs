use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tenure_types::{ContainerId, InterfaceName};

use super::*;

fn key(network: &str, number: usize) -> Key {
    let container = ContainerId::new(format!("c{number}")).unwrap();
    let owner = Owner::Attachment { container, interface: InterfaceName::new("eth0").unwrap() };
    (NetworkName::new(network).unwrap(), owner)
}

#[test]
fn whoever_fills_the_queue_is_refused_first() {
    let admission = Admission::new(1, 64, Moment::default());
    let fill = |network: &str| {
        let lines = (0..).map(|number| admission.line_up(key(network, number)));
        lines.map_while(Result::ok).collect::<Vec<_>>()
    };
    let one = fill("one");
    assert_eq!(one.len(), 48, "one network gets three quarters");
    let others: Vec<_> = (0..20).map(|number| fill(&format!("other-{number}"))).collect();
    assert!(others.iter().take(3).all(|lines| !lines.is_empty()), "other networks are admitted as well");
    let refusal = admission.line_up(key("one", 999)).map(drop).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::Overloaded);
    assert!(refusal.cause.contains("48 of them for network one"), "{refusal}");
    drop((one, others));
    assert_eq!(admission.load(), Load::default());
    assert!(hold(&admission.lines).waiting.is_empty());
}

#[tokio::test]
async fn nothing_is_left_of_a_caller_that_went_away_while_it_waited() {
    let admission = Admission::new(1, 64, Moment::default());
    let (network, owner) = key("net", 1);
    let mut first = admission.enter(&network, &owner).await.unwrap();
    first.place().await.unwrap();
    {
        let mut second = pin!(admission.enter(&network, &owner));
        assert!(second.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(first);
        assert_eq!(hold(&admission.lines).turns.len(), 1);
    }
    assert!(hold(&admission.lines).turns.is_empty());
    // The same while waiting for a place.
    let other = key("net", 2).1;
    let mut holder = admission.enter(&network, &other).await.unwrap();
    holder.place().await.unwrap();
    {
        let mut third = admission.enter(&network, &owner).await.unwrap();
        let mut place = pin!(third.place());
        assert!(matches!(place.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending));
    }
    assert_eq!(hold(&admission.lines).turns.len(), 1);
    assert_eq!(admission.load(), Load { in_flight: 1, queued: 0 });
}

/// A request that is being served.
async fn served(admission: &Arc<Admission>, number: usize) -> Turn {
    let (network, owner) = key("net", number);
    let mut turn = admission.enter(&network, &owner).await.unwrap();
    turn.place().await.unwrap();
    turn
}

fn is_full(admission: &Arc<Admission>) -> bool {
    admission.places.available_permits() == 0
}

#[tokio::test]
async fn a_lower_limit_holds_as_soon_as_enough_requests_have_left() {
    let admission = Admission::new(3, 64, Moment::default());
    let mut turns = vec![served(&admission, 1).await, served(&admission, 2).await];
    admission.set_limits(1, 64);
    turns.pop();
    assert!(is_full(&admission), "the one that is left fills the new limit");
    turns.pop();
    turns.push(served(&admission, 3).await);
    assert!(is_full(&admission));
    admission.set_limits(2, 64);
    turns.push(served(&admission, 4).await);
    assert!(is_full(&admission), "the limit was raised by one");
    assert_eq!(admission.load(), Load { in_flight: 2, queued: 0 });
    turns.clear();
    assert_eq!(admission.load(), Load::default());
    assert_eq!(admission.places.available_permits(), 2);
}
