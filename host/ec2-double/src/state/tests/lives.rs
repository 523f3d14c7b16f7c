//! How long things take, and how instances end.

use super::*;

#[test]
fn an_interface_goes_through_its_states_in_time() {
    let mut state = account();
    let node = launch(&mut state, "t3.small");
    let id = create(&mut state);
    assert_eq!(status(&state, &id), Some(Status::Pending));
    state.run_until(Time::START.after(499));
    assert_eq!(status(&state, &id), Some(Status::Pending));
    let mut now = Time::START.after(500);
    state.run_until(now);
    assert_eq!(status(&state, &id), Some(Status::Available));
    let attachment = state.attach(&id, &place(&node, 1), now).unwrap();
    assert_eq!(status(&state, &id), Some(Status::Attaching));
    now = now.after(2000);
    state.run_until(now);
    assert_eq!(status(&state, &id), Some(Status::InUse));
    state.detach(&attachment, now).unwrap();
    assert_eq!(status(&state, &id), Some(Status::Detaching));
    assert_eq!(code(state.detach(&attachment, now)), "IncorrectState");
    now = now.after(5000);
    state.run_until(now);
    assert_eq!(status(&state, &id), Some(Status::Available));
    assert_eq!(code(state.detach(&attachment, now)), "InvalidAttachmentID.NotFound");
    assert_eq!(state.interfaces().get(&id).unwrap().idle_since, Some(now));
}

#[test]
fn a_detach_before_the_attach_is_complete_wins() {
    let mut state = account();
    let node = launch(&mut state, "t3.small");
    let (id, attachment) = attached(&mut state, &node, 1);
    state.detach(&attachment, Time::START.after(1)).unwrap();
    state.run_until(Time::START.after(3000));
    assert_eq!(status(&state, &id), Some(Status::Detaching), "the attachment completes no more");
    state.run_until(Time::START.after(6000));
    assert_eq!(status(&state, &id), Some(Status::Available));
}

#[test]
fn an_attachment_completes_in_its_own_time() {
    let mut state = account();
    state.timing.detach_ms = 0;
    let node = launch(&mut state, "t3.small");
    let (id, first) = attached(&mut state, &node, 1);
    state.detach(&first, Time::START).unwrap();
    let again = Time::START.after(1000);
    state.run_until(again);
    state.attach(&id, &place(&node, 1), again).unwrap();
    state.run_until(Time::START.after(2999));
    assert_eq!(status(&state, &id), Some(Status::Attaching), "the first would have been complete by now");
    state.run_until(Time::START.after(3000));
    assert_eq!(status(&state, &id), Some(Status::InUse));
}

#[test]
fn termination_deletes_only_what_is_to_end_with_the_instance() {
    let mut state = account();
    let node = launch(&mut state, "t3.small");
    let primary = state.instances()[&node].primary.clone();
    let (kept, _) = attached(&mut state, &node, 1);
    let (ends, attachment) = attached(&mut state, &node, 2);
    state.modify(&ends, Change::DeleteOnTermination(attachment, true), Time::START).unwrap();
    state.terminate(&node, Time::START).unwrap();
    let new = create(&mut state);
    assert_eq!(code(state.attach(&new, &place(&node, 3), Time::START)), "IncorrectState");
    assert_eq!(code(state.terminate(&node, Time::START)), "IncorrectInstanceState");
    let end = Time::START.after(state.timing.terminate_ms);
    state.run_until(end);
    assert_eq!(state.instances()[&node].phase, Phase::Terminated);
    assert_eq!((status(&state, &primary), status(&state, &ends)), (None, None));
    assert_eq!(status(&state, &kept), Some(Status::Available), "left behind");
    assert_eq!(state.interfaces().get(&kept).unwrap().idle_since, Some(end));
}

#[test]
fn a_stopping_instance_takes_and_gives_no_interface() {
    let mut state = account();
    let node = launch(&mut state, "t3.small");
    let (_, attachment) = attached(&mut state, &node, 1);
    let id = create(&mut state);
    state.stop(&node, Time::START).unwrap();
    assert_eq!(code(state.attach(&id, &place(&node, 2), Time::START)), "IncorrectState");
    assert_eq!(code(state.detach(&attachment, Time::START)), "IncorrectState");
    let stopped = Time::START.after(state.timing.stop_ms);
    state.run_until(stopped);
    state.attach(&id, &place(&node, 2), stopped).unwrap();
    state.start(&node, stopped).unwrap();
    assert_eq!(state.instances()[&node].phase, Phase::Pending);
    state.run_until(stopped.after(state.timing.start_ms));
    assert_eq!(state.instances()[&node].phase, Phase::Running);
}

#[test]
fn an_instance_needs_a_known_type_and_a_subnet_with_room() {
    let mut state = account();
    let launch = |state: &mut State, kind: &str, subnet: &str| {
        state.launch(kind, subnet, BTreeMap::new(), Time::START).map_err(|refusal| refusal.code.into_owned())
    };
    assert_eq!(launch(&mut state, "t3.huge", "subnet-1"), Err("InvalidInstanceType".to_owned()));
    assert_eq!(launch(&mut state, "t3.small", "subnet-9"), Err("InvalidSubnetID.NotFound".to_owned()));
    for _ in 0..11 {
        launch(&mut state, "t3.small", "subnet-2").unwrap();
    }
    assert_eq!(
        launch(&mut state, "t3.small", "subnet-2"),
        Err("InsufficientFreeAddressesInSubnet".to_owned())
    );
}
