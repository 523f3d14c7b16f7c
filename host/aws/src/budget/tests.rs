use super::*;
use crate::samples::seconds;

fn error(action: &'static str, failure: Failure) -> CallError {
    CallError { action, failure, code: "Code".to_owned(), message: "words".to_owned(), retry_after: None }
}

/// How many calls are admitted in so many seconds of asking each 10 ms.
fn admitted(budget: &mut Budget, from: u64, for_seconds: u64) -> usize {
    let ticks = (0..for_seconds * 100).map(|tick| seconds(from) + Duration::from_millis(tick * 10));
    ticks.filter(|now| budget.admit("CreateNetworkInterface", *now).is_ok()).count()
}

#[test]
fn a_burst_is_a_share_of_the_accounts_bucket_and_the_rate_is_the_published_one() {
    let mut budget = Budget::new(1);
    let burst = (0..100).filter(|_| budget.admit("CreateNetworkInterface", seconds(0)).is_ok()).count();
    assert_eq!(burst, 20);
    let wait = budget.admit("CreateNetworkInterface", seconds(0)).unwrap_err();
    assert!((200..=260).contains(&wait.as_millis()), "{wait:?}");
    let tokens = [0, 2, 100].map(|at| budget.rates(seconds(at)).next().unwrap().1.tokens);
    assert_eq!(tokens, [0, 10, 20], "what is shown has come back by then");
    assert!((49..=51).contains(&admitted(&mut budget, 0, 10)));
    let other = (0..100).filter(|_| budget.admit("AttachNetworkInterface", seconds(0)).is_ok()).count();
    assert_eq!(other, 10, "each call has its own");
}

#[test]
fn throttling_halves_the_rate_and_success_raises_it_by_steps() {
    let mut budget = Budget::new(1);
    let throttled = error("CreateNetworkInterface", Failure::Throttled);
    budget.failed(&throttled, None, seconds(0));
    let wait = budget.admit("CreateNetworkInterface", seconds(0)).unwrap_err();
    assert!((750..=1563).contains(&wait.as_millis()), "{wait:?}");
    let rate = |budget: &Budget| budget.rates(seconds(0)).next().unwrap().1.rate;
    assert_eq!(rate(&budget), 2500);
    (0..20).for_each(|_| budget.failed(&throttled, None, seconds(0)));
    assert_eq!(rate(&budget), 50, "never nothing");
    budget.succeeded("CreateNetworkInterface", None, seconds(200));
    assert_eq!(rate(&budget), 362);
    (0..20).for_each(|_| budget.succeeded("CreateNetworkInterface", None, seconds(200)));
    assert_eq!(rate(&budget), 5000);
}

#[test]
fn ec2s_own_wait_counts_if_it_is_longer() {
    let mut budget = Budget::new(1);
    let throttled = CallError { retry_after: Some(seconds(40)), ..error("CreateTags", Failure::Throttled) };
    budget.failed(&throttled, None, seconds(0));
    assert!(budget.admit("CreateTags", seconds(0)).unwrap_err() >= seconds(30));
}

#[test]
fn no_word_silences_a_call_for_long() {
    let mut budget = Budget::new(1);
    let day = CallError { retry_after: Some(seconds(86_400)), ..error("CreateTags", Failure::Throttled) };
    budget.failed(&day, None, seconds(0));
    assert!(budget.admit("CreateTags", seconds(0)).unwrap_err() <= seconds(100));
}

#[test]
fn what_a_subnet_ran_out_of_is_remembered_by_itself_whatever_the_signal() {
    let place = |unit| ("subnet-1", unit);
    for (failure, unit, others) in [
        (Failure::SubnetExhausted, Unit::Address, [Unit::Prefix].as_slice()),
        (Failure::TooFew, Unit::Address, &[Unit::Prefix]),
        (Failure::NoBlock, Unit::Prefix, &[]),
        (Failure::TooFew, Unit::Prefix, &[]),
        (Failure::SubnetExhausted, Unit::Prefix, &[]),
        (Failure::NoBlock, Unit::Ipv6Prefix, &[]),
    ] {
        let mut budget = Budget::new(1);
        budget.failed(&error("AssignPrivateIpAddresses", failure), Some(place(unit)), seconds(100));
        for other in [Unit::Address, Unit::Prefix, Unit::Ipv6Prefix] {
            let left = budget.backoff(place(other), seconds(100));
            let is_expected = other == unit || others.contains(&other);
            assert_eq!(!left.is_zero(), is_expected, "{failure:?} of {unit:?}: {other:?} for {left:?}");
        }
        assert!(budget.backoff(("subnet-2", unit), seconds(100)).is_zero());
    }
}

#[test]
fn a_pause_doubles_up_to_two_minutes_and_ends_with_a_success() {
    let (mut budget, mut now, place) = (Budget::new(3), seconds(0), ("subnet-1", Unit::Prefix));
    let exhausted = error("AssignPrivateIpAddresses", Failure::NoBlock);
    for expected in [30, 60, 120, 120, 120] {
        budget.failed(&exhausted, Some(place), now);
        budget.failed(&exhausted, Some(place), now);
        let left = budget.backoff(place, now);
        assert!(
            left >= seconds(expected) * 3 / 4 && left <= seconds(expected) * 5 / 4,
            "{left:?}, {expected}"
        );
        now += left;
        assert!(budget.backoff(place, now).is_zero());
    }
    budget.failed(&exhausted, Some(place), now);
    budget.succeeded("AssignPrivateIpAddresses", Some(place), now);
    assert_eq!((budget.backoff(place, now), budget.backoffs(now).count()), (Duration::ZERO, 0));
}

#[test]
fn what_is_refused_denied_or_misconfigured_is_not_repeated_for_long_and_says_why() {
    let mut budget = Budget::new(1);
    let call = "CreateNetworkInterface";
    budget.failed(&error(call, Failure::Refused), Some(("subnet-1", Unit::Address)), seconds(0));
    let blocked = budget.blocked(call, None, seconds(0)).unwrap();
    assert_eq!(blocked.why, "Code: words");
    assert!((seconds(22)..=seconds(38)).contains(&blocked.until), "{blocked:?}");
    assert!(budget.blocked(call, None, seconds(38)).is_none(), "it ends");
    budget.failed(&error(call, Failure::Denied), None, seconds(38));
    let until = budget.blocked(call, None, seconds(38)).unwrap().until;
    assert!((seconds(83)..=seconds(113)).contains(&until), "the next is twice as long: {until:?}");
    budget.succeeded(call, None, seconds(1));
    assert!(budget.blocked(call, None, seconds(1)).is_none());
    budget.failed(&error(call, Failure::Configuration), Some(("subnet-1", Unit::Address)), seconds(0));
    assert!(budget.blocked(call, Some("subnet-1"), seconds(0)).is_some());
    assert!(budget.blocked(call, Some("subnet-2"), seconds(0)).is_none(), "only that subnet is wrong");
}

#[test]
fn waits_differ_by_seed_and_repeat_with_it() {
    let waits = |seed| {
        let mut budget = Budget::new(seed);
        (0..8).map(|_| budget.around(seconds(60))).collect::<Vec<_>>()
    };
    assert_eq!(waits(1), waits(1));
    assert_ne!(waits(1), waits(2));
    assert!(waits(1).iter().all(|wait| (seconds(45)..=seconds(75)).contains(wait)));
}

#[test]
fn what_is_never_allowed_is_not_asked_for_at_once_again() {
    let mut budget = Budget::new(1);
    budget.failed(&error("DetachNetworkInterface", Failure::Never), None, seconds(0));
    assert!(budget.blocked("DetachNetworkInterface", None, seconds(20)).is_some());
    assert!(budget.blocked("DetachNetworkInterface", None, seconds(40)).is_none());
}
