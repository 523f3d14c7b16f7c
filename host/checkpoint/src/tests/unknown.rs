//! Lines that a newer program wrote: a start refuses them and touches nothing, or skips optional
//! ones.

use std::collections::BTreeMap;

use super::fixture::{NOW, Node, PROGRAM, boot, everything};
use crate::sim::SimDisk;
use crate::{Disk, Error, frame, recover, recover_read_only};

const LOG: &str = "log.0000000001";
const SNAPSHOT: &str = "snapshot.0000000002";

/// Every file with its bytes.
fn files(disk: &SimDisk) -> BTreeMap<String, Vec<u8>> {
    let with_bytes = |name: String| {
        let bytes = disk.contents(&name).unwrap();
        (name, bytes)
    };
    disk.list().unwrap().into_iter().map(with_bytes).collect()
}

/// Appends a line with the next place to a log, in a group of its own.
fn appended(log: &[u8], line: &str) -> Vec<u8> {
    let text = std::str::from_utf8(log).unwrap();
    let place_of = |line: &str| line.split(' ').nth(1).unwrap().parse::<u64>().unwrap();
    let place = match text.lines().last().map(place_of) {
        // After a header: the first of its segment.
        None | Some(0) => {
            text.split(r#""first":"#).nth(1).unwrap().split(',').next().unwrap().parse().unwrap()
        }
        Some(last) => last + 1,
    };
    let mut log = log.to_vec();
    frame::encode(&mut log, place, format!(r#"{{"group":[{place},{place}],{line}}}"#).as_bytes());
    log
}

/// Inserts a line into a snapshot.
fn inserted(snapshot: &[u8], at: usize, line: &str) -> Vec<u8> {
    let text = std::str::from_utf8(snapshot).unwrap();
    let mut lines: Vec<String> =
        text.lines().map(|line| line.splitn(4, ' ').nth(3).unwrap().to_owned()).collect();
    let end = lines.len() - 1;
    lines[end] = lines[end].replace(&format!(r#""lines":{end}"#), &format!(r#""lines":{}"#, end + 1));
    lines.insert(at, format!("{{{line}}}"));
    let mut snapshot = Vec::new();
    (0..).zip(lines).for_each(|(number, json)| frame::encode(&mut snapshot, number, json.as_bytes()));
    snapshot
}

/// The state of a node that has compacted once, with facts before and after the snapshot.
fn state() -> (SimDisk, Node) {
    let disk = SimDisk::new(0);
    let mut node = Node::start_compacting(&disk, 1_500);
    for number in 0..2 {
        drop((node.define(number), node.give(number, 1), node.give(number, 2)));
        node.settle();
    }
    assert!(files(&disk).contains_key(SNAPSHOT));
    (disk, node)
}

/// The same state on another disk, with one file changed.
fn changed(disk: &SimDisk, file: &str, change: impl FnOnce(&[u8]) -> Vec<u8>) -> SimDisk {
    let other = SimDisk::new(1);
    files(disk).iter().for_each(|(name, bytes)| other.put(name, bytes));
    other.put(file, &change(&disk.contents(file).unwrap()));
    other
}

/// The chapter and version that a start does not know; checks that it has touched nothing.
fn refused(disk: &SimDisk) -> (String, u32) {
    let before = files(disk);
    let operations = disk.operations();
    for _ in 0..2 {
        let error = recover(disk, &boot(1), NOW).map(|_| ()).unwrap_err();
        let Error::UnknownChapter { chapter, version, program, .. } = &error else { panic!("{error}") };
        assert_eq!(program, PROGRAM);
        let text = error.to_string();
        for told in [chapter.as_str(), &format!("version {version}"), program] {
            assert!(text.contains(told), "{text} does not contain {told}");
        }
        assert!(recover_read_only(disk, &boot(1), NOW).is_err());
    }
    assert_eq!(files(disk), before, "something was touched");
    assert_eq!(disk.operations(), operations, "something was written");
    let error = recover(disk, &boot(2), NOW).map(|_| ()).unwrap_err();
    let Error::UnknownChapter { chapter, version, .. } = error else { panic!("{error}") };
    (chapter, version)
}

const UNKNOWN: [(&str, u32); 4] = [("leases", 1), ("ledger", 2), ("choices", 0), ("Ledger", 1)];

#[test]
fn a_fact_that_is_not_known_is_refused_by_name_and_touches_nothing() {
    let (disk, _) = state();
    for (chapter, version) in UNKNOWN {
        for optional in ["", r#""optional":false,"#] {
            let line = format!(r#""chapter":"{chapter}","version":{version},{optional}"fact":{{"a":[1]}}"#);
            for file in ["log.0000000001", "log.0000000002"] {
                // Without the snapshot, the first segment is read as well.
                let state = changed(&disk, file, |log| appended(log, &line));
                if file == LOG {
                    state.remove(SNAPSHOT).unwrap();
                    state.remove("log.0000000002").unwrap();
                }
                assert_eq!(refused(&state), (chapter.to_owned(), version));
                // Nor is anything repaired that would otherwise be.
                let torn = changed(&state, file, |log| [log, b"0123abcd "].concat());
                torn.put("snapshot.0000000009.tmp", b"half");
                assert_eq!(refused(&torn), (chapter.to_owned(), version));
            }
        }
    }
}

#[test]
fn an_item_of_a_snapshot_that_is_not_known_is_refused_and_no_older_state_taken() {
    let (disk, _) = state();
    let lines = disk.contents(SNAPSHOT).unwrap().iter().filter(|byte| **byte == b'\n').count();
    for (chapter, version) in UNKNOWN {
        let item = ("", "item");
        for (at, (place, key)) in [(1, item), (lines - 1, item), (lines - 1, (r#""place":99,"#, "fact"))] {
            let line = format!(r#"{place}"chapter":"{chapter}","version":{version},"{key}":{{"a":[1]}}"#);
            let state = changed(&disk, SNAPSHOT, |snapshot| inserted(snapshot, at, &line));
            assert!(files(&state).contains_key(LOG), "everything since the beginning is there");
            assert_eq!(refused(&state), (chapter.to_owned(), version));
        }
    }
}

/// The newest snapshot is damaged, and what would replace it has an unknown fact: that is reported, and nothing is
/// quarantined.
#[test]
fn an_unknown_fact_behind_a_damaged_snapshot_is_told_and_nothing_is_put_aside() {
    let (disk, _) = state();
    let line = r#""chapter":"leases","version":3,"fact":{}"#;
    let state = changed(&disk, "log.0000000002", |log| appended(log, line));
    let state = changed(&state, SNAPSHOT, |snapshot| snapshot[..snapshot.len() - 9].to_vec());
    assert_eq!(refused(&state), ("leases".to_owned(), 3));
}

#[test]
fn what_says_that_it_can_be_done_without_is_skipped_counted_and_told() {
    let (disk, node) = state();
    let optional = |chapter: &str, version: u32, rest: &str| {
        format!(r#""chapter":"{chapter}","version":{version},"optional":true,{rest}"#)
    };
    let with_facts = changed(&disk, "log.0000000002", |log| {
        let log = appended(log, &optional("leases", 1, r#""fact":{"moon":"full"}"#));
        let log = appended(&log, &optional("leases", 1, r#""fact":{}"#));
        appended(&log, &optional("ledger", 2, r#""fact":{"allocated":{}}"#))
    });
    let state = changed(&with_facts, SNAPSHOT, |snapshot| {
        inserted(snapshot, 1, &optional("choices", 7, r#""item":[]"#))
    });
    let before = files(&state);
    let found = recover(&state, &boot(1), NOW).unwrap();
    assert_eq!(files(&state), before);
    assert_eq!(everything(&found), node.memory.everything());
    assert_eq!(found.report.findings().collect::<Vec<_>>(), ["skipped-facts"]);
    let text = found.report.to_string();
    let told =
        "1 of chapter choices, version 7, 2 of chapter leases, version 1, 1 of chapter ledger, version 2";
    assert!(text.ends_with(told), "{text}");
    let last = recover(&disk, &boot(1), NOW).unwrap().report.last;
    assert_eq!(found.report.last, last + 3, "their places are taken");

    // What comes next has places of its own, and the next start finds it.
    let mut node = Node::from(super::fixture::options(&state, 1), found);
    drop(node.give(0, 7));
    node.settle();
    assert_eq!(everything(&recover(&state, &boot(1), NOW).unwrap()), node.memory.everything());
}

#[test]
fn a_line_of_a_known_form_that_says_something_unknown_is_damage() {
    let (disk, _) = state();
    for line in [
        r#""chapter":"ledger","version":1,"fact":{"leased":{}}"#,
        r#""chapter":"ledger","version":1,"optional":true,"fact":{"leased":{}}"#,
        r#""chapter":"choices","version":1,"fact":{}"#,
    ] {
        let state = changed(&disk, "log.0000000002", |log| appended(log, line));
        let error = recover(&state, &boot(1), NOW).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
    }
}

#[test]
fn the_format_that_was_never_released_is_refused_by_name() {
    for (file, header) in [
        (LOG, r#"{"log":{"version":1,"number":1,"first":1,"base":"log","boot":"b","node":"n"}}"#),
        (SNAPSHOT, r#"{"snapshot":{"version":1,"number":2}}"#),
    ] {
        let (disk, _) = state();
        let mut line = Vec::new();
        frame::encode(&mut line, 0, header.as_bytes());
        disk.put(file, &line);
        if file == LOG {
            disk.remove(SNAPSHOT).unwrap();
        }
        let before = files(&disk);
        let error = recover(&disk, &boot(1), NOW).map(|_| ()).unwrap_err();
        assert!(matches!(&error, Error::Unreleased { file: found } if found == file), "{error}");
        assert!(error.to_string().contains("never released"), "{error}");
        assert_eq!(files(&disk), before, "something was touched");
    }
}
