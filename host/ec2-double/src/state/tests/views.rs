//! Views of the past.

use super::*;

#[test]
fn a_reader_that_lags_sees_what_was_true_then() {
    let mut state = account();
    let id = create(&mut state);
    let later = Time::START.after(1000);
    state.run_until(later);
    state.assign(&id, &Wanted::Count(2), false, later).unwrap();
    state.delete(&id, later.after(1000)).unwrap();
    let count = |at: Time| state.interfaces().get_at(&id, at).map(|interface| interface.ipv4.len());
    assert_eq!(count(Time::START.before(1)), None, "not yet");
    assert_eq!((count(Time::START), count(later.before(1)), count(later)), (Some(1), Some(1), Some(3)));
    assert_eq!(count(later.after(1000)), None, "no more");
}

#[test]
fn events_happen_at_their_own_moment_however_late_somebody_looks() {
    let mut state = account();
    let id = create(&mut state);
    state.run_until(Time::START.after(3_000));
    let then = |at: u64| state.interfaces().get_at(&id, Time::START.after(at)).unwrap().status;
    assert_eq!((then(499), then(500)), (Status::Pending, Status::Available));
}

#[test]
fn frozen_views_keep_their_past_and_others_are_forgotten() {
    let day = 86_400_000;
    for frozen in [false, true] {
        let mut state = account();
        let id = create(&mut state);
        if frozen {
            state.consistency.imds_frozen_at.insert("i-1".to_owned(), Time::START.after(600));
        }
        for step in 1..100 {
            let now = Time::START.after(step * day);
            state.run_until(now);
            let tags = BTreeMap::from([("step".to_owned(), step.to_string())]);
            state.tag(std::slice::from_ref(&id), &tags, now).unwrap();
        }
        state.run_until(Time::START.after(200 * day));
        let seen = state.consistency.imds("i-1", Time::START.after(200 * day));
        let known = state.interfaces().get_at(&id, seen).unwrap();
        assert_eq!(!known.tags.contains_key("step"), frozen);
        let early = state.interfaces().get_at(&id, Time::START.after(2 * day));
        assert_eq!(early.is_some(), frozen, "kept only for the frozen view");
    }
}

#[test]
fn a_new_interface_is_not_found_by_calls_for_a_while() {
    let mut state = account();
    state.consistency.call_lag_ms = 3000;
    let id = create(&mut state);
    let node = launch(&mut state, "t3.small");
    assert_eq!(code(state.attach(&id, &place(&node, 1), Time::START)), "InvalidNetworkInterfaceID.NotFound");
    state.attach(&id, &place(&node, 1), Time::START.after(3000)).unwrap();
}
