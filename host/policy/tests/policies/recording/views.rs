//! What a recorded decision says of its network.

use super::*;

/// What other policies would have done on the recorded ones, without a view, as older versions recorded.
#[test]
fn a_record_without_views_is_read_and_answers_what_was_asked() {
    let (decisions, limits) = recorded("host-local", embedded::HOST_LOCAL, |policy| {
        let mut network = Network::define(policy, r#"{"ranges": [[{"subnet": "10.1.0.0/29"}]]}"#);
        (0..6).for_each(|_| network.add(&mut Random::new(7)));
    });
    let runtime = PolicyRuntime::new(CallLimits::replaying(&limits), Compiler::InProcess).unwrap();
    let (own, other) = (
        load(&runtime, "host-local", embedded::HOST_LOCAL),
        load(&runtime, "highest-first", embedded::HIGHEST_FIRST),
    );
    let mut books = RecordedBooks::new().unwrap();
    let mut unanswered = 0;
    for decision in &decisions {
        let mut line = serde_json::to_value(decision).unwrap();
        line.as_object_mut().unwrap().remove("view");
        let old: RecordedDecision = serde_json::from_value(line).unwrap();
        let book = books.at(&old).unwrap();
        assert!(book.is_none());
        assert_eq!(own.replay(&old, book.as_ref()).unwrap(), decision.outcome);
        let outcome = other.replay(&old, book.as_ref()).unwrap();
        unanswered += usize::from(matches!(outcome, DecisionOutcome::NotRecorded(_)));
    }
    assert!(unanswered > 0);
}

/// The bytes of a decision's view.
fn view_bytes(decision: &RecordedDecision) -> usize {
    decision.view.as_ref().map_or(0, |view| serde_json::to_vec(view).unwrap().len())
}

#[test]
fn a_view_is_whole_once_in_a_file_and_otherwise_says_what_has_changed() {
    let (decisions, _) = recorded("host-local", embedded::HOST_LOCAL, |policy| {
        let mut network = Network::define(policy, r#"{"subnet": "10.1.0.0/16"}"#);
        let mut random = Random::new(7);
        (0..200).for_each(|_| network.add(&mut random));
        for _ in 0..100 {
            network.release(&mut random);
            network.add(&mut random);
        }
    });
    let views: Vec<_> = decisions.iter().filter(|decision| decision.function != Function::Define).collect();
    let is_whole =
        |decision: &RecordedDecision| serde_json::to_value(&decision.view).unwrap().get("whole").is_some();
    assert!(is_whole(views[0]) && views[1..].iter().all(|decision| !is_whole(decision)));
    let (whole, changes) = (view_bytes(views[0]), views[1..].iter().map(|of| view_bytes(of)));
    let (most, sum) = (changes.clone().max().unwrap(), changes.sum::<usize>());
    let average = sum / (views.len() - 1);
    println!("whole {whole} bytes, changes {average} on average and {most} at most");
    assert!(whole < 1_000 && average < 400 && most < 800, "{whole}, {average}, {most}");
}

#[test]
fn each_file_can_be_read_alone() {
    let limits = CallLimits { concurrency: 1, ..CallLimits::default() };
    let runtime = PolicyRuntime::new(limits.clone(), Compiler::InProcess).unwrap();
    let policy = AskedPolicy::new(load(&runtime, "host-local", embedded::HOST_LOCAL));
    let (directory, recorder) = (tempfile::tempdir().unwrap(), runtime.recorder());
    recorder.set(HashMap::from([(network(), 7)]));
    let writer = DecisionWriter::new(Arc::clone(recorder), directory.path(), limits.recorded());
    std::thread::scope(|scope| {
        scope.spawn(|| writer.run());
        let mut network = Network::define(&policy, r#"{"subnet": "10.1.0.0/24"}"#);
        (0..40).for_each(|_| network.add(&mut Random::new(7)));
        recorder.close();
    });
    let other = load(&runtime, "highest-first", embedded::HIGHEST_FIRST);
    for file in ["before.jsonl", "now.jsonl"] {
        let (decisions, _) = read(&directory.path().join("decisions/net").join(file));
        assert!((1..=7).contains(&decisions.len()), "{file}: {}", decisions.len());
        let mut books = RecordedBooks::new().unwrap();
        for decision in &decisions {
            let book = books.at(decision).unwrap();
            let outcome = other.replay(decision, book.as_ref()).unwrap();
            assert!(!matches!(outcome, DecisionOutcome::NotRecorded(_)), "{file}: {outcome}");
        }
    }
}

#[test]
fn a_line_that_is_lost_makes_those_behind_it_unanswered_up_to_the_next_whole_view_and_never_wrong() {
    let (mut decisions, limits) = recorded("host-local", embedded::HOST_LOCAL, |policy| {
        let mut network = Network::define(policy, r#"{"subnet": "10.1.0.0/24"}"#);
        (0..6).for_each(|_| network.add(&mut Random::new(7)));
    });
    decisions.retain(|decision| decision.function != Function::Define);
    decisions.remove(2);
    let runtime = PolicyRuntime::new(CallLimits::replaying(&limits), Compiler::InProcess).unwrap();
    let other = load(&runtime, "highest-first", embedded::HIGHEST_FIRST);
    let mut books = RecordedBooks::new().unwrap();
    let answered = decisions.iter().map(|decision| {
        let book = books.at(decision).unwrap();
        !matches!(other.replay(decision, book.as_ref()).unwrap(), DecisionOutcome::NotRecorded(_))
    });
    assert_eq!(answered.collect::<Vec<_>>(), [true, true, false, false, false]);
}
