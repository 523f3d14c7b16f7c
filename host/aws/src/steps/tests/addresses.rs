//! The assignment and the release of addresses.

use super::*;

#[test]
fn an_assignment_is_answered() {
    let mut run = Run::assign();
    assert_eq!(run.call(), Request::Assign);
    assert_eq!((run.reached.asked, run.reached.before.as_slice()), (true, [net("10.0.0.5/32")].as_slice()));
    let new = vec![net("10.0.0.6/32"), net("10.0.0.7/32")];
    run.answers(Answer::Assigned(new.clone()));
    assert_eq!(run.step(), Step::Done(Change::Assigned("eni-1".to_owned(), new)));
}

#[test]
fn an_assignment_whose_answer_is_lost_is_looked_for_and_never_repeated() {
    for crash in [false, true] {
        let mut run = Run::assign();
        run.fails(Failure::Unknown);
        if crash {
            run.crash();
        }
        run.shows(Some(&interface("eni-1", 1, &["10.0.0.5/32"])));
        run.shows(None);
        run.shows(Some(&at(1)));
        assert_eq!(run.step(), Step::Done(Change::Assigned("eni-1".to_owned(), vec![net("10.0.0.6/32")])));
        let mut run = Run::assign();
        run.fails(Failure::Unknown);
        if crash {
            run.crash();
        }
        let mut looks = 0;
        while matches!(run.step(), Step::Look(_)) {
            run.shows(Some(&interface("eni-1", 1, &["10.0.0.5/32"])));
            looks += 1;
        }
        assert!(
            (2..=6).contains(&looks) && run.facts.now >= seconds(60),
            "{looks} looks by {:?}",
            run.facts.now
        );
        let why = "the answer was lost, and EC2 shows nothing new after 60 s";
        assert_eq!(run.step(), Step::Undone(why.to_owned()));
    }
}

#[test]
fn an_assignment_that_was_throttled_is_repeated_and_one_that_was_refused_is_not() {
    let mut run = Run::assign();
    run.fails(Failure::Throttled);
    assert_eq!(run.call(), Request::Assign);
    for failure in
        [Failure::NoBlock, Failure::TooFew, Failure::InterfaceFull, Failure::NotFound, Failure::Denied]
    {
        let mut run = Run::assign();
        run.fails(failure);
        assert_eq!(run.step(), Step::Undone(format!("Action: {failure:?}: words")));
    }
}

#[test]
fn a_release_is_repeated_until_it_is_known_to_be_done() {
    let done = Step::Done(Change::Released("eni-1".to_owned(), net("10.0.0.16/28")));
    let mut run = Run::release();
    let first = |run: &Run| takes(&run.order, &Request::Unassign, &run.reached) == Some(Taking::First);
    assert!(first(&run));
    run.fails(Failure::Throttled);
    assert!(first(&run), "EC2 has said that it did nothing");
    run.fails(Failure::Unknown);
    let again = takes(&run.order, &Request::Unassign, &run.reached);
    assert_eq!(again, Some(Taking::Again), "it may be done already");
    run.fails(Failure::Throttled);
    assert!(!first(&run), "only the last call was throttled");
    run.crash();
    run.fails(Failure::NotAssigned);
    assert_eq!(run.step(), done);
    let mut run = Run::release();
    run.answers(Answer::Done);
    assert_eq!(run.step(), done);
    let mut run = Run::release();
    run.fails(Failure::Denied);
    assert!(matches!(run.step(), Step::Undone(_)));
}

#[test]
fn a_release_that_may_be_done_already_is_looked_for_when_its_repetition_is_refused() {
    let without = || interface("eni-1", 1, &["10.0.0.5/32"]);
    let with = || interface("eni-1", 1, &["10.0.0.5/32", "10.0.0.16/28"]);
    let done = Step::Done(Change::Released("eni-1".to_owned(), net("10.0.0.16/28")));
    let refused = |crash: bool| {
        let mut run = Run::release();
        match crash {
            // The answer never came.
            true => assert_eq!(run.call(), Request::Unassign),
            false => run.fails(Failure::Unknown),
        }
        if crash {
            run.crash();
        }
        run.fails(Failure::Denied);
        run
    };
    for crash in [false, true] {
        let mut run = refused(crash);
        run.shows(Some(&with()));
        run.shows(Some(&without()));
        assert_eq!(run.step(), done, "the describe lagged");
        let mut run = refused(crash);
        while matches!(run.step(), Step::Look(_)) {
            run.shows(Some(&with()));
        }
        assert!(run.facts.now >= seconds(60), "{:?}", run.facts.now);
        assert_eq!(run.step(), Step::Undone("Action: Denied: words".to_owned()));
        let mut run = refused(crash);
        while matches!(run.step(), Step::Look(_)) {
            run.shows(None);
        }
        assert!(run.facts.now >= seconds(60), "{:?}", run.facts.now);
        assert_eq!(run.step(), done);
    }
}
