//! Attaching and detaching.

use super::*;

#[test]
fn the_type_limits_the_interfaces() {
    let mut state = account();
    let node = launch(&mut state, "t3.small");
    attached(&mut state, &node, 1);
    attached(&mut state, &node, 2);
    let id = create(&mut state);
    let refusal = state.attach(&id, &place(&node, 3), Time::START).unwrap_err();
    assert_eq!(
        (refusal.code.as_ref(), refusal.message.as_str()),
        ("AttachmentLimitExceeded", "Interface count 4 exceeds the limit for t3.small")
    );
    assert_eq!(status(&state, &id), Some(Status::Pending));
}

#[test]
fn a_used_device_index_is_refused_until_the_detach_is_complete() {
    let mut state = account();
    let node = launch(&mut state, "m5.large");
    let (_, attachment) = attached(&mut state, &node, 1);
    let other = create(&mut state);
    let expected = format!("Instance '{node}' already has an interface attached at device index '1'.");
    assert_eq!(state.attach(&other, &place(&node, 1), Time::START).unwrap_err().message, expected);
    assert_eq!(code(state.attach(&other, &place(&node, 0), Time::START)), "InvalidParameterValue");
    state.detach(&attachment, Time::START).unwrap();
    assert_eq!(state.attach(&other, &place(&node, 1), Time::START).unwrap_err().message, expected);
    let later = Time::START.after(state.timing.detach_ms);
    state.run_until(later);
    state.attach(&other, &place(&node, 1), later).unwrap();
}

#[test]
fn network_cards_have_rooms_of_their_own() {
    let mut state = account();
    let node = launch(&mut state, "c6in.32xlarge");
    let second = Place { card: Some(1), ..place(&node, 1) };
    attached(&mut state, &node, 1);
    let id = create(&mut state);
    state.attach(&id, &second, Time::START).unwrap();
    let id = create(&mut state);
    assert_eq!(
        code(state.attach(&id, &Place { card: Some(2), ..second.clone() }, Time::START)),
        "InvalidParameterValue"
    );
    let unsaid = Place { card: None, ..place(&node, 1) };
    assert_eq!(code(state.attach(&id, &unsaid, Time::START)), "InvalidParameterValue");
    let elsewhere = create(&mut state);
    state.attach(&elsewhere, &Place { device: 9, ..second.clone() }, Time::START).unwrap();
    let on_any_card = state.attach(&id, &Place { device: 9, ..unsaid }, Time::START);
    assert_eq!(code(on_any_card), "InvalidParameterValue", "who names no card is refused for any");
    for device in 2..8 {
        attached(&mut state, &node, device);
    }
    assert_eq!(code(state.attach(&id, &place(&node, 8), Time::START)), "AttachmentLimitExceeded");
    state.attach(&id, &Place { card: Some(1), ..place(&node, 8) }, Time::START).unwrap();
}

#[test]
fn what_does_not_fit_the_instance_is_not_attached() {
    let mut state = account();
    let small = launch(&mut state, "t3.small");
    let xen = launch(&mut state, "m4.4xlarge");
    let full =
        state.create(&Creation { ipv4: Wanted::Count(4), ..wanted("subnet-1") }, None, Time::START).unwrap();
    assert_eq!(code(state.attach(&full, &place(&small, 1), Time::START)), "PrivateIpAddressLimitExceeded");
    let prefix = state
        .create(&Creation { ipv4: Wanted::Prefixes(1), ..wanted("subnet-1") }, None, Time::START)
        .unwrap();
    assert_eq!(code(state.attach(&prefix, &place(&xen, 1), Time::START)), "UnsupportedOperation");
    let far = state.create(&wanted("subnet-3"), None, Time::START).unwrap();
    assert_eq!(code(state.attach(&far, &place(&small, 1), Time::START)), "InvalidParameterCombination");
    let (used, _) = attached(&mut state, &small, 1);
    assert_eq!(code(state.attach(&used, &place(&small, 2), Time::START)), "InvalidNetworkInterface.InUse");
    assert_eq!(code(state.attach(&full, &place("i-9", 2), Time::START)), "InvalidInstanceID.NotFound");
    assert_eq!(
        code(state.attach("eni-9", &place(&small, 2), Time::START)),
        "InvalidNetworkInterfaceID.NotFound"
    );
}

#[test]
fn the_primary_interface_stays() {
    let mut state = account();
    let node = launch(&mut state, "t3.small");
    let primary = state.interfaces().get(&state.instances()[&node].primary).unwrap();
    let attachment = primary.attachment.clone().unwrap().id;
    assert_eq!(code(state.detach(&attachment, Time::START)), "OperationNotPermitted");
    assert_eq!(code(state.detach("eni-attach-9", Time::START)), "InvalidAttachmentID.NotFound");
}

#[test]
fn one_attribute_changes_at_a_time() {
    let mut state = account();
    let node = launch(&mut state, "t3.small");
    let (id, attachment) = attached(&mut state, &node, 1);
    let ends = |state: &State| {
        state.interfaces().get(&id).unwrap().attachment.as_ref().unwrap().delete_on_termination
    };
    assert!(!ends(&state), "an attached interface outlives its instance unless told otherwise");
    state.modify(&id, Change::DeleteOnTermination(attachment, true), Time::START).unwrap();
    assert!(ends(&state));
    let wrong = Change::DeleteOnTermination("eni-attach-9".to_owned(), true);
    assert_eq!(code(state.modify(&id, wrong, Time::START)), "InvalidAttachmentID.NotFound");
    let wrong = Change::Groups(vec!["sg-9".to_owned()]);
    assert_eq!(code(state.modify(&id, wrong, Time::START)), "InvalidGroup.NotFound");
}

#[test]
fn tags_are_set_on_all_resources_or_none() {
    let mut state = account();
    let node = launch(&mut state, "t3.small");
    let id = create(&mut state);
    let tags = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    let refused = state.tag(&[id.clone(), "eni-9".to_owned()], &tags, Time::START);
    assert_eq!(code(refused), "InvalidNetworkInterfaceID.NotFound");
    assert!(state.interfaces().get(&id).unwrap().tags.is_empty());
    state.tag(&[id.clone(), node.clone(), "subnet-1".to_owned()], &tags, Time::START).unwrap();
    assert_eq!(state.interfaces().get(&id).unwrap().tags, tags);
    assert_eq!((&state.instances()[&node].tags, &state.subnets()["subnet-1"].tags), (&tags, &tags));
    let many = (0..50).map(|number| (number.to_string(), String::new())).collect();
    assert_eq!(code(state.tag(&[id], &many, Time::START)), "TagLimitExceeded");
}
