//! The detachment of an interface.

use super::*;

#[test]
fn an_interface_is_looked_at_detached_waited_for_and_deleted() {
    let mut run = Run::detach();
    run.shows(Some(&at(1)));
    let detach = run.call();
    assert_eq!(takes(&run.order, &detach, &IntentProgress::default()), Some(Taking::First));
    assert_eq!(takes(&run.order, &detach, &run.reached), Some(Taking::Again));
    run.fails(Failure::Throttled);
    assert_eq!(
        takes(&run.order, &detach, &run.reached),
        Some(Taking::First),
        "EC2 has said that it did nothing"
    );
    run.fails(Failure::Unknown);
    run.shows(Some(&at(1)));
    run.facts.now += run.facts.window;
    run.shows(Some(&at(1)));
    run.fails(Failure::Throttled);
    assert_eq!(
        takes(&run.order, &detach, &run.reached),
        Some(Taking::Again),
        "only the last call was throttled"
    );
    run.answers(Answer::Done);
    run.shows(Some(&at(1)));
    run.shows(Some(&Ec2Interface { status: Status::Detaching, ..at(1) }));
    run.shows(Some(&available()));
    run.fails(Failure::InUse);
    run.shows(Some(&available()));
    run.answers(Answer::Done);
    assert_eq!(run.step(), Step::Done(Change::Detached("eni-1".to_owned())));
}

#[test]
fn a_detach_goes_on_after_a_crash_at_each_point() {
    let mut run = Run::detach();
    run.shows(Some(&at(1)));
    run.fails(Failure::Unknown);
    run.crash();
    run.shows(Some(&Ec2Interface { status: Status::Detaching, ..at(1) }));
    run.shows(Some(&available()));
    run.crash();
    run.fails(Failure::Unknown);
    run.crash();
    run.fails(Failure::NotFound);
    run.facts.now += seconds(60);
    run.fails(Failure::NotFound);
    assert_eq!(run.step(), Step::Done(Change::Detached("eni-1".to_owned())));
}

#[test]
fn a_detach_that_was_lost_before_it_was_done_is_repeated_a_window_later() {
    let mut run = Run::detach();
    run.shows(Some(&at(1)));
    run.fails(Failure::Unknown);
    while matches!(run.step(), Step::Look(_)) {
        run.shows(Some(&at(1)));
    }
    assert!(run.facts.now >= seconds(60));
    assert_eq!(run.call(), Request::Detach { attachment: "eni-1-attach".to_owned() });
}

#[test]
fn an_interface_that_cannot_be_detached_stays() {
    for failure in [Failure::Never, Failure::Denied] {
        let mut run = Run::detach();
        run.shows(Some(&at(1)));
        run.fails(failure);
        assert_eq!(run.step(), Step::Undone(format!("Action: {failure:?}: words")));
    }
}

/// EC2 may still carry out the first one: its pods would lose their addresses.
#[test]
fn a_detach_that_ec2_accepted_or_may_have_is_never_undone_by_the_refusal_of_another() {
    let detach = Request::Detach { attachment: "eni-1-attach".to_owned() };
    for (first, crash) in [(None, false), (None, true), (Some(Failure::Unknown), false)] {
        for failure in [Failure::Denied, Failure::Refused, Failure::Never, Failure::Configuration] {
            let mut run = Run::detach();
            run.shows(Some(&at(1)));
            match first {
                None => run.answers(Answer::Done),
                Some(failure) => run.fails(failure),
            }
            if crash {
                run.crash();
            }
            for _ in 0..3 {
                while matches!(run.step(), Step::Look(_)) {
                    run.shows(Some(&at(1)));
                }
                assert_eq!(run.call(), detach, "{first:?} {crash} {failure:?}");
                run.fails(failure);
            }
            run.shows(Some(&Ec2Interface { status: Status::Detaching, ..at(1) }));
            run.shows(Some(&available()));
            run.answers(Answer::Done);
            assert_eq!(run.step(), Step::Done(Change::Detached("eni-1".to_owned())));
        }
    }
    let mut run = Run::detach();
    run.crash();
    run.shows(Some(&at(1)));
    run.fails(Failure::Denied);
    assert!(matches!(run.step(), Step::Undone(_)), "nothing was asked for before");
}
