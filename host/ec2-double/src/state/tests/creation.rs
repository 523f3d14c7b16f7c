//! Creating and deleting.

use super::*;

#[test]
fn a_repeated_token_gives_the_same_interface_for_its_life() {
    let mut state = account();
    let first = state.create(&wanted("subnet-1"), Some("t"), Time::START).unwrap();
    let again = state.create(&wanted("subnet-1"), Some("t"), Time::START.after(86_400_000)).unwrap();
    assert_eq!((&first, state.interfaces().all().count()), (&again, 1));
    let other = Creation { description: "another".to_owned(), ..wanted("subnet-1") };
    assert_eq!(code(state.create(&other, Some("t"), Time::START)), "IdempotentParameterMismatch");
    state.delete(&first, Time::START).unwrap();
    assert_ne!(state.create(&wanted("subnet-1"), Some("t"), Time::START).unwrap(), first);
}

#[test]
fn a_refused_creation_takes_nothing() {
    let mut state = account();
    let before = state.subnets()["subnet-2"].free();
    for ipv4 in [Wanted::Count(11), Wanted::Prefixes(1)] {
        let refused = state.create(&Creation { ipv4, ..wanted("subnet-2") }, Some("t"), Time::START);
        assert_eq!(code(refused), "InsufficientFreeAddressesInSubnet");
    }
    let ipv6 = Wanted::These(vec!["fd00:0:0:9::1".parse().unwrap()]);
    let refused =
        state.create(&Creation { ipv6, ipv4: Wanted::Count(2), ..wanted("subnet-2") }, None, Time::START);
    assert_eq!(code(refused), "InvalidParameterValue");
    assert_eq!((state.subnets()["subnet-2"].free(), state.interfaces().all().count()), (before, 0));
    state.create(&wanted("subnet-2"), Some("t"), Time::START).unwrap();
}

#[test]
fn unknown_subnets_and_groups_and_the_quota_are_refused() {
    let mut state = account();
    assert_eq!(code(state.create(&wanted("subnet-9"), None, Time::START)), "InvalidSubnetID.NotFound");
    let groups = vec!["sg-9".to_owned()];
    let refused = state.create(&Creation { groups, ..wanted("subnet-1") }, None, Time::START);
    assert_eq!(code(refused), "InvalidGroup.NotFound");
    state.rules.interfaces = 1;
    create(&mut state);
    assert_eq!(code(state.create(&wanted("subnet-1"), None, Time::START)), "NetworkInterfaceLimitExceeded");
}

#[test]
fn an_interface_in_use_cannot_be_deleted_and_a_deleted_one_gives_everything_back() {
    let mut state = account();
    let node = launch(&mut state, "m5.large");
    let before = state.subnets()["subnet-1"].free();
    let (id, attachment) = attached(&mut state, &node, 1);
    state.assign(&id, &Wanted::Prefixes(1), false, Time::START).unwrap();
    let mut now = Time::START;
    for expected in [Status::Attaching, Status::InUse, Status::Detaching] {
        assert_eq!(status(&state, &id), Some(expected));
        let refusal = state.delete(&id, now).unwrap_err();
        assert_eq!(refusal.message, format!("Network interface '{id}' is currently in use."));
        now = now.after(10_000);
        if expected == Status::InUse {
            state.detach(&attachment, now).unwrap();
        } else {
            state.run_until(now);
        }
    }
    state.delete(&id, now).unwrap();
    assert_eq!(code(state.delete(&id, now)), "InvalidNetworkInterfaceID.NotFound");
    assert_eq!(state.subnets()["subnet-1"].free(), before);
}

#[test]
fn equal_seeds_give_equal_accounts() {
    let run = |seed: u64| {
        let mut state = State::new(Account::default(), seed);
        let cidr = "10.0.0.0/24".parse().unwrap();
        state.add_subnet(Subnet::new("subnet-1".to_owned(), "a".to_owned(), cidr, None));
        let id = create(&mut state);
        state.assign(&id, &Wanted::Count(5), false, Time::START).unwrap();
        format!("{:?}", state.interfaces())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
