use std::os::unix::fs::MetadataExt;

use serde_json::json;
use tenure_types::NetworkName;

use super::super::decision::{FORMAT, RecordedLimits};
use super::super::read::{DecisionFiles, Unreadable};
use super::*;

fn header() -> DecisionHeader {
    let limits = RecordedLimits { deadline_ms: 50, memory: 1, answer: 2 };
    DecisionHeader { format: FORMAT, program: "0.1.0".into(), limits }
}

/// A decision that needs none before it.
fn line() -> PendingDecision {
    PendingDecision { network: NetworkName::new("pods").unwrap(), body: body(), is_whole: true }
}

fn lines(count: usize) -> Vec<PendingDecision> {
    std::iter::repeat_with(line).take(count).collect()
}

/// A decision without its first brace and number.
fn body() -> Vec<u8> {
    let decision = json!({
        "at_ms": 1, "network": "pods", "policy": "mine", "digest": "00", "function": "propose", "given": {},
        "asked": [], "outcome": { "proposal": {} },
    });
    decision.to_string().into_bytes().split_off(1)
}

/// The numbers of the decisions at a path, and how many lines were passed over.
fn numbers(path: &Path) -> (Vec<u64>, u64) {
    let mut files = DecisionFiles::at(path).unwrap();
    let mut numbers = Vec::new();
    while let Some(recorded) = files.next_decision().unwrap() {
        assert_eq!(recorded.limits, header().limits);
        numbers.push(recorded.decision.number);
    }
    (numbers, files.passed_over())
}

#[test]
fn at_least_as_many_are_kept_as_are_wanted_and_at_most_twice_as_many() {
    let directory = tempfile::tempdir().unwrap();
    let pods = directory.path().join("pods");
    let mut files = NetworkFiles::new(pods.clone());
    let mut last = 0;
    for pieces in [1, 2, 1, 1, 14, 3, 1] {
        files.append(&header(), &lines(pieces), 3).unwrap();
        last += u64::try_from(pieces).unwrap();
        let (numbers, passed_over) = numbers(directory.path());
        let first = *numbers.first().unwrap();
        assert_eq!((numbers, passed_over), ((first..=last).collect(), 0));
        assert!(first <= last.saturating_sub(2).max(1) && first + 6 > last, "{first} to {last}");
    }
    for file in [NOW, BEFORE] {
        assert_eq!(std::fs::metadata(pods.join(file)).unwrap().mode() & 0o777, 0o600);
    }
    assert_eq!(std::fs::metadata(pods).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn a_file_begins_with_a_line_that_needs_none_before_it_and_is_bounded_without_one() {
    let directory = tempfile::tempdir().unwrap();
    let pods = directory.path().join("pods");
    let mut files = NetworkFiles::new(pods.clone());
    let needs =
        |count| Vec::from_iter(lines(count).into_iter().map(|of| PendingDecision { is_whole: false, ..of }));
    let now = || numbers(&pods.join(NOW)).0;
    files.append(&header(), &needs(4).into_iter().chain(lines(1)).collect::<Vec<_>>(), 3).unwrap();
    assert_eq!(now(), [5], "the whole one begins the next file");
    files.append(&header(), &needs(4), 3).unwrap();
    assert_eq!(now(), [5, 6, 7, 8, 9]);
    files.append(&header(), &needs(2), 3).unwrap();
    assert_eq!(now(), [11], "but no file is more than twice as long as it should be");
}

#[test]
fn a_later_daemon_goes_on_behind_a_torn_line() {
    let directory = tempfile::tempdir().unwrap();
    let pods = directory.path().join("pods");
    NetworkFiles::new(pods.clone()).append(&header(), &lines(4), 3).unwrap();
    let now = pods.join(NOW);
    let text = std::fs::read(&now).unwrap();
    for cut in 1..body().len() {
        std::fs::write(&now, [&text[..], &text[text.len() - body().len() - 5..text.len() - cut]].concat())
            .unwrap();
        NetworkFiles::new(pods.clone()).append(&header(), &lines(2), 3).unwrap();
        let (numbers, passed_over) = numbers(&pods);
        assert_eq!((numbers.as_slice(), passed_over), (&[1, 2, 3, 4, 5, 6][..], 1), "{cut}");
    }
    // The numbers go on even if the last file has just been turned.
    std::fs::rename(&now, pods.join(BEFORE)).unwrap();
    NetworkFiles::new(pods.clone()).append(&header(), &lines(1), 3).unwrap();
    assert_eq!(numbers(&pods).0.last(), Some(&7));
}

#[test]
fn what_is_not_a_record_of_this_version_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.jsonl");
    let refused = |text: &str| {
        std::fs::write(&path, text).unwrap();
        DecisionFiles::at(&path).unwrap().next_decision().unwrap_err()
    };
    assert!(matches!(refused("nonsense\n"), Unreadable::Foreign(_)));
    assert!(matches!(refused("{\"a\": 1}\n"), Unreadable::Foreign(_)));
    let later = "{\"decisions\": 2, \"something\": \"new\"}\n";
    assert!(matches!(refused(later), Unreadable::Later { format: 2, .. }));
    assert!(matches!(DecisionFiles::at(&path.join("none")), Err(Unreadable::File { .. })));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(DecisionFiles::at(directory.path()), Err(Unreadable::Empty(_))));
}

#[test]
fn a_link_in_the_folder_is_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let pods = directory.path().join("pods");
    std::fs::create_dir(&pods).unwrap();
    std::os::unix::fs::symlink(directory.path().join("elsewhere"), pods.join(NOW)).unwrap();
    assert!(NetworkFiles::new(pods).append(&header(), &lines(1), 3).is_err());
    assert!(!directory.path().join("elsewhere").exists());
}
