use super::*;
use crate::samples::seconds;

fn at(now: u64) -> Circumstances {
    Circumstances {
        now: seconds(now),
        every: seconds(60),
        window: seconds(60),
        sweeps: true,
        ..Circumstances::default()
    }
}

/// Questions that were all answered at 1,000 s.
fn answered() -> Questions {
    let mut questions = Questions::new(seconds(1000));
    questions.interfaces_asked(Some(false), seconds(1000), 1000);
    questions.subnets_asked(true, seconds(1000), 1000);
    questions.leaked_asked(true, seconds(1000), 1000);
    questions
}

#[test]
fn at_the_start_all_that_a_plan_needs_is_asked_at_once() {
    let mut questions = Questions::new(seconds(5));
    assert_eq!(questions.due(&at(5)), [LookQuestion::Interfaces, LookQuestion::Subnets]);
    questions.interfaces_asked(Some(false), seconds(5), 1000);
    questions.subnets_asked(true, seconds(5), 1000);
    assert_eq!(questions.wait(&at(5)), seconds(900), "what has leaked has time");
    questions.may_leak();
    assert_eq!(questions.wait(&at(5)), seconds(300), "unless an intent was open");
}

#[test]
fn what_settles_is_looked_at_as_soon_as_it_may_have() {
    let mut questions = answered();
    let settling = |now| Circumstances { settles: Some(seconds(1050)), doubts: true, ..at(now) };
    assert_eq!(questions.wait(&settling(1001)), seconds(49));
    questions.interfaces_asked(Some(false), seconds(1050), 1000);
    assert_eq!(questions.wait(&settling(1050)), seconds(60), "it was not shown, and is in doubt");
}

#[test]
fn the_book_has_these_times() {
    let page = |name| {
        let path = format!("{}/../../deploy/book/src/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    };
    let hours = [AT_REST, SELDOM, DAILY].map(|time| time.as_secs() / 3600);
    assert_eq!((hours, DENIED, RETRIES), ([2, 6, 24], seconds(75), (seconds(2), seconds(8))));
    for row in [
        "| `DescribeNetworkInterfaces` | after 2, 4 and 8 seconds; then every 8 seconds while",
        "| `DescribeSubnets` | every minute and a quarter with discovery, and every six hours without |",
    ] {
        assert!(page("aws-iam.md").contains(row), "{row}");
    }
    for words in [
        "| the interfaces | every two hours at rest,",
        "| the subnets | at the start, every six hours,",
        "otherwise two hours after the start, and then daily |",
    ] {
        assert!(page("aws-eni.md").contains(words), "{words}");
    }
    // The longest time between two answers at rest: the pause, and a quarter of it.
    assert!(AT_REST.saturating_mul(5) / 4 < seconds(3 * 3600));
    let alert = "At rest, EC2 is asked every two hours, so alert above three;";
    assert!(page("conditions.md").contains(alert), "{alert}");
}

/// The questions of so many hours at rest, with the time of each; `agrees` is whether the metadata service agrees with EC2 meanwhile.
fn at_rest(hours: u64, agrees: bool) -> Vec<(u64, LookQuestion)> {
    let at = |now| Circumstances { agreed: agrees.then(|| seconds(now - 300)), ..at(now) };
    let mut questions = answered();
    let (mut now, mut calls) = (1000, Vec::<(u64, LookQuestion)>::new());
    while now < 1000 + hours * 3600 {
        now += questions.wait(&at(now)).as_secs();
        let due = questions.due(&at(now));
        assert!(
            due.len() == 1 && calls.last().is_none_or(|(last, _)| now - last >= 300),
            "{now}: {due:?}, {calls:?}"
        );
        match due[0] {
            LookQuestion::Interfaces => questions.interfaces_asked(Some(false), seconds(now), 1000),
            LookQuestion::Subnets => questions.subnets_asked(true, seconds(now), 1000),
            LookQuestion::Leaked => questions.leaked_asked(true, seconds(now), 1000),
        }
        calls.push((now, due[0]));
    }
    calls
}

#[test]
fn a_node_at_rest_makes_one_call_at_a_time() {
    for (agrees, looks) in [(false, 14..=16), (true, 2..=2)] {
        let calls = at_rest(4, agrees);
        let count = |of| calls.iter().filter(|(_, question)| *question == of).count();
        assert!(looks.contains(&count(LookQuestion::Interfaces)), "{calls:?}");
        assert_eq!((count(LookQuestion::Subnets), count(LookQuestion::Leaked)), (0, 0), "{calls:?}");
    }
    let day = at_rest(30, true);
    let count = |of| day.iter().filter(|(_, question)| *question == of).count();
    assert_eq!((count(LookQuestion::Subnets), count(LookQuestion::Leaked)), (4, 1), "{day:?}");
}

#[test]
fn what_earlier_processes_left_is_looked_for_two_hours_after_the_start_and_then_each_day() {
    let mut questions = Questions::new(seconds(1000));
    questions.interfaces_asked(Some(false), seconds(1000), 1000);
    questions.subnets_asked(true, seconds(1000), 1000);
    let agreed = |now| Circumstances { agreed: Some(seconds(now)), ..at(now) };
    assert!(!questions.due(&agreed(8199)).contains(&LookQuestion::Leaked));
    assert!(questions.times(&agreed(8200)).contains(&(seconds(8200), LookQuestion::Leaked)));
    questions.leaked_asked(true, seconds(8200), 1000);
    assert!(questions.times(&agreed(8200)).contains(&(seconds(8200 + 86400), LookQuestion::Leaked)));
}

#[test]
fn the_metadata_services_word_counts_for_twenty_minutes() {
    let mut questions = answered();
    let wait = |questions: &Questions, agreed| {
        questions.wait(&Circumstances { agreed: Some(seconds(agreed)), ..at(3000) })
    };
    assert_eq!(wait(&questions, 1801), seconds(5200));
    assert_eq!(wait(&questions, 1800), Duration::ZERO);
    let waits = Circumstances { agreed: Some(seconds(2900)), waits: true, ..at(3000) };
    assert_eq!(questions.wait(&waits), seconds(5200), "a pod waits for what is on its way");
    questions.planned(true, true, seconds(2999));
    questions.subnets_asked(true, seconds(2999), 1000);
    assert_eq!(questions.wait(&waits), Duration::ZERO, "nothing can be planned, and the last look is old");
}

#[test]
fn what_begins_to_lack_brings_the_next_question_near_and_what_lasts_is_asked_less_often() {
    let mut questions = answered();
    assert_eq!(questions.wait(&at(1100)), seconds(800));
    questions.planned(true, false, seconds(1100));
    assert_eq!(questions.wait(&at(1100)), seconds(20), "two minutes after the last");
    questions.planned(true, true, seconds(1100));
    assert_eq!(questions.wait(&at(1100)), Duration::ZERO, "a pod waits");
    let (mut now, mut waits) = (1100, Vec::new());
    for _ in 0..12 {
        questions.subnets_asked(true, seconds(now), 1000);
        questions.planned(true, true, seconds(now));
        waits.push(questions.wait_for_subnets(&at(now)).as_secs());
        now += waits[waits.len() - 1];
    }
    assert_eq!(waits, [8, 8, 8, 8, 8, 8, 16, 32, 60, 60, 60, 60]);
    questions.planned(false, true, seconds(now));
    assert!(questions.wait(&at(now)) > seconds(200));
}

#[test]
fn what_was_not_answered_is_asked_again_within_seconds() {
    let mut questions = answered();
    let mut waits = |urgent: bool| {
        let waits = (0..5).map(|_| {
            questions.interfaces_asked(None, seconds(2000), 1000);
            questions.wait(&Circumstances { waits: urgent, ..at(2000) }).as_secs()
        });
        waits.collect::<Vec<_>>()
    };
    assert_eq!(waits(false), [2, 4, 8, 15, 15]);
    assert_eq!(waits(true), [8; 5], "a pod waits");
    let mut first = Questions::new(seconds(0));
    first.interfaces_asked(Some(true), seconds(0), 1000);
    (0..9).for_each(|_| first.subnets_asked(false, seconds(0), 1000));
    assert_eq!(first.wait(&at(0)), seconds(8));
    assert_eq!(first.due(&at(8)), [LookQuestion::Subnets]);
}

#[test]
fn a_doubt_lasts_a_window_and_a_hint_no_time() {
    let mut questions = answered();
    assert_eq!(questions.wait(&Circumstances { doubts: true, ..at(1010) }), seconds(50));
    assert!(questions.hint());
    assert_eq!(questions.wait(&at(1010)), Duration::ZERO);
    assert_eq!(questions.due(&at(1010)), [LookQuestion::Interfaces]);
    assert_eq!(questions.due(&at(1010)), []);
}

#[test]
fn what_may_have_leaked_is_looked_for_twice_before_that_becomes_rare() {
    let mut questions = answered();
    questions.may_leak();
    for now in [1300, 1600] {
        assert_eq!(questions.due(&at(now)), [LookQuestion::Leaked], "{now}");
        questions.leaked_asked(true, seconds(now), 1000);
    }
    assert_eq!(questions.due(&at(1899)), []);
    assert_eq!(questions.due(&Circumstances { leaked: true, ..at(1899) }), []);
    assert!(questions.due(&Circumstances { leaked: true, ..at(1900) }).contains(&LookQuestion::Interfaces));
}

#[test]
fn a_hint_does_not_repeat_sooner_what_is_not_answered() {
    let mut questions = answered();
    questions.interfaces_asked(None, seconds(1100), 1000);
    assert!(!questions.hint());
    assert_eq!(questions.wait(&at(1100)), seconds(2));
    assert_eq!(questions.due(&at(1101)), []);
    questions.interfaces_asked(Some(false), seconds(1102), 1000);
    assert!(questions.hint());
    assert_eq!(questions.wait(&at(1102)), Duration::ZERO);
}
