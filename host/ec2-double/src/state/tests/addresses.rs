//! Assigning and unassigning.

use std::net::Ipv4Addr;

use super::*;

fn four(state: &State, id: &str) -> (usize, usize) {
    let interface = state.interfaces().get(id).unwrap();
    (interface.ipv4.len(), interface.ipv4_prefixes.len())
}

#[test]
fn the_answer_has_only_what_is_new() {
    let mut state = account();
    let node = launch(&mut state, "m5.large");
    let (id, _) = attached(&mut state, &node, 1);
    let first = state.assign(&id, &Wanted::Count(3), false, Time::START).unwrap();
    let second = state.assign(&id, &Wanted::Prefixes(2), false, Time::START).unwrap();
    assert_eq!((first.addresses.len(), first.prefixes.len()), (3, 0));
    assert_eq!((second.addresses.len(), second.prefixes.len(), four(&state, &id)), (0, 2, (4, 2)));
}

#[test]
fn addresses_and_prefixes_share_the_slots_of_the_type() {
    let mut state = account();
    let node = launch(&mut state, "t3.small");
    let (id, _) = attached(&mut state, &node, 1);
    state.assign(&id, &Wanted::Prefixes(1), false, Time::START).unwrap();
    let too_many = state.assign(&id, &Wanted::Count(3), false, Time::START);
    assert_eq!((code(too_many), four(&state, &id)), ("PrivateIpAddressLimitExceeded".to_owned(), (1, 1)));
    state.assign(&id, &Wanted::Count(2), false, Time::START).unwrap();
    assert_eq!(
        code(state.assign(&id, &Wanted::Prefixes(1), false, Time::START)),
        "PrivateIpAddressLimitExceeded"
    );
    state.assign_six(&id, &Wanted::Prefixes(4), Time::START).unwrap();
    assert_eq!(code(state.assign_six(&id, &Wanted::Count(1), Time::START)), "PrivateIpAddressLimitExceeded");
}

#[test]
fn xen_refuses_prefixes() {
    let mut state = account();
    let node = launch(&mut state, "t2.medium");
    let (id, _) = attached(&mut state, &node, 1);
    assert_eq!(code(state.assign(&id, &Wanted::Prefixes(1), false, Time::START)), "UnsupportedOperation");
    state.assign(&id, &Wanted::Count(1), false, Time::START).unwrap();
}

#[test]
fn too_few_addresses_are_said_in_two_ways_and_nothing_is_taken() {
    let mut state = account();
    let id = state.create(&wanted("subnet-2"), None, Time::START).unwrap();
    let refusal = state.assign(&id, &Wanted::Count(11), false, Time::START).unwrap_err();
    assert_eq!((refusal.code.as_ref(), four(&state, &id)), ("InsufficientFreeAddressesInSubnet", (1, 0)));
    state.rules.exhaustion = Exhaustion::Message;
    let refusal = state.assign(&id, &Wanted::Count(11), false, Time::START).unwrap_err();
    assert_eq!(refusal.code, "InvalidParameterValue");
    assert!(refusal.message.contains("sufficient free Ipv4 addresses or prefixes"), "{}", refusal.message);
    state.assign(&id, &Wanted::Count(10), false, Time::START).unwrap();
    assert_eq!(state.subnets()["subnet-2"].free(), 0);
}

#[test]
fn a_fragmented_subnet_has_addresses_and_no_prefix() {
    let mut state = account();
    let free_of = |state: &State| state.subnets()["subnet-1"].free();
    let id = create(&mut state);
    // One address of each /28.
    let scattered: Vec<Ipv4Addr> = (0..16).map(|block| Ipv4Addr::new(10, 0, 0, block * 16 + 8)).collect();
    let primary = state.interfaces().get(&id).unwrap().primary().unwrap();
    let scattered = scattered.into_iter().filter(|address| *address != primary).collect();
    state.assign(&id, &Wanted::These(scattered), false, Time::START).unwrap();
    let before = free_of(&state);
    assert_eq!(code(state.assign(&id, &Wanted::Prefixes(1), false, Time::START)), "InsufficientCidrBlocks");
    assert!(before > 200 && before == free_of(&state), "{before} are free, and stay so");
}

#[test]
fn all_are_assigned_or_none() {
    let mut state = account();
    let (one, other) = (create(&mut state), create(&mut state));
    let taken = state.interfaces().get(&other).unwrap().primary().unwrap();
    let free =
        Ipv4Addr::from(if u32::from(taken) % 2 == 0 { u32::from(taken) + 1 } else { u32::from(taken) - 1 });
    let free = if state.interfaces().get(&one).unwrap().primary() == Some(free) {
        Ipv4Addr::new(10, 0, 0, 100)
    } else {
        free
    };
    let before = state.subnets()["subnet-1"].free();
    for wrong in [taken, Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 1, 9)] {
        let refused = state.assign(&one, &Wanted::These(vec![free, wrong]), false, Time::START);
        assert_eq!(code(refused), "InvalidParameterValue", "{wrong}");
    }
    assert_eq!((four(&state, &one), state.subnets()["subnet-1"].free()), ((1, 0), before));
}

#[test]
fn what_it_has_already_is_no_new_address() {
    let mut state = account();
    let id = create(&mut state);
    let assigned = state.assign(&id, &Wanted::Count(1), false, Time::START).unwrap();
    let again = state.assign(&id, &Wanted::These(assigned.addresses), false, Time::START).unwrap();
    assert_eq!((again.addresses.len(), four(&state, &id)), (0, (2, 0)));
}

#[test]
fn a_reassigned_address_moves_later() {
    let mut state = account();
    let (from, to) = (create(&mut state), create(&mut state));
    let address = state.assign(&from, &Wanted::Count(1), false, Time::START).unwrap().addresses[0];
    let wanted = Wanted::These(vec![address]);
    assert_eq!(code(state.assign(&to, &wanted, false, Time::START)), "InvalidParameterValue");
    let moved = state.assign(&to, &wanted, true, Time::START).unwrap();
    assert_eq!((moved.addresses, four(&state, &from), four(&state, &to)), (vec![address], (2, 0), (1, 0)));
    state.run_until(Time::START.after(state.timing.move_ms));
    assert_eq!((four(&state, &from), four(&state, &to)), ((1, 0), (2, 0)));
    let primary = state.interfaces().get(&from).unwrap().primary().unwrap();
    assert_eq!(
        code(state.assign(&to, &Wanted::These(vec![primary]), true, Time::START)),
        "InvalidParameterValue"
    );
}

#[test]
fn absent_addresses_and_the_own_one_cannot_be_unassigned() {
    let mut state = account();
    let id = create(&mut state);
    let added = state.assign(&id, &Wanted::Count(2), false, Time::START).unwrap().addresses;
    let refusal =
        state.unassign(&id, &[added[0], Ipv4Addr::new(10, 0, 0, 77)], &[], Time::START).unwrap_err();
    assert_eq!(
        refusal.message,
        format!("Some of the specified addresses are not assigned to interface {id}"),
    );
    let primary = state.interfaces().get(&id).unwrap().primary().unwrap();
    assert_eq!(code(state.unassign(&id, &[primary], &[], Time::START)), "InvalidParameterValue");
    assert_eq!(four(&state, &id), (3, 0));
    let before = state.subnets()["subnet-1"].free();
    state.unassign(&id, &added, &[], Time::START).unwrap();
    assert_eq!((four(&state, &id), state.subnets()["subnet-1"].free()), ((1, 0), before + 2));
}

#[test]
fn ipv6_prefixes_come_and_go() {
    let mut state = account();
    let id = create(&mut state);
    let added = state.assign_six(&id, &Wanted::Prefixes(2), Time::START).unwrap();
    assert_eq!((added.addresses.len(), added.prefixes.len()), (0, 2));
    state.unassign_six(&id, &[], &added.prefixes, Time::START).unwrap();
    assert_eq!(code(state.unassign_six(&id, &[], &added.prefixes, Time::START)), "InvalidParameterValue");
    state.assign_six(&id, &Wanted::ThesePrefixes(added.prefixes.clone()), Time::START).unwrap();
    assert_eq!(state.interfaces().get(&id).unwrap().ipv6_prefixes, added.prefixes);
}
