//! State directories in every form that a release has had, and what they contain: they must load forever.
//!
//! `corpus/v1/NAME/` is a state directory as it was written, and `corpus/v1/NAME.told` what a start must find in it,
//! as [`tell`](mod@tell) prints it. A committed directory never changes: a new form gets a new directory. `v1.1` has
//! the facts about exchanges of policies, `v1.2` those about the claims of agents, `v1.3` those about policies' states, `v1.4` those
//! about delegates, and `v1.5` those about effects, which programs before them did not write; `v1.6` has an allocation with a link, in
//! `v1.7` files say what they continue, `v1.8` has moves from other IPAMs, and in `v1.9` addresses cool for longer than their network
//! asks, or although it is gone, intents say whether a policy planned them, and a component of an agent has a claim with families that it
//! can do without. In `v1.10`, addresses and owners are in quarantine.

mod doubtful;
mod moved;
mod node;
mod story;
mod tell;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tenure_fixtures::ports::{Meddled, images};

use self::node::Story;
use self::story::{AFTER, BEFORE, DURING, Deed};
use self::tell::tell;
use super::fixture::{NOW, Node, boot, options};
use crate::sim::{Faults, SimDisk};
use crate::{Disk, WriterProgress, recover, recover_read_only};

/// Set it to rewrite the corpus of the current form.
const WRITE: &str = "TENURE_WRITE_GOLDEN";

/// The current form.
const PRESENT: &str = "v1.10";

pub(super) type Files = BTreeMap<String, Vec<u8>>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/corpus")
}

fn do_all(node: &Node, deeds: &[Deed]) {
    let story = Story { memory: &node.memory, journal: &node.journal };
    deeds.iter().for_each(|deed| deed(&story));
}

/// Lets a part of the story happen on a node, each event acknowledged before the next: before, during and after its
/// snapshot. `each` is called after each.
pub(super) fn happen(node: &mut Node, part: usize, mut each: impl FnMut(&mut Node)) {
    let parts: [&[Deed]; 3] = [&BEFORE, &DURING, &AFTER];
    for deed in parts[part] {
        do_all(node, &[*deed]);
        node.settle();
        each(node);
    }
}

pub(super) fn files(disk: &SimDisk) -> Files {
    let with_bytes = |name: String| {
        let bytes = disk.contents(&name).unwrap();
        (name, bytes)
    };
    disk.list().unwrap().into_iter().map(with_bytes).collect()
}

/// The whole history in one segment.
fn one_log() -> Files {
    let disk = SimDisk::new(0);
    let mut node = Node::start(&disk, 1);
    for deed in BEFORE.iter().chain(&DURING).chain(&AFTER) {
        do_all(&node, &[*deed]);
        node.settle();
    }
    files(&disk)
}

/// A snapshot in the middle of the history, whose log has facts of a network from before its removal.
fn with_snapshot() -> Files {
    let disk = SimDisk::new(0);
    let mut node = Node::start_compacting(&disk, 4_000);
    do_all(&node, &BEFORE);
    while !files(&disk).contains_key("log.0000000002") {
        node.writer.step(&node.memory);
    }
    do_all(&node, &DURING);
    node.settle();
    do_all(&node, &AFTER);
    node.settle();
    let files = files(&disk);
    assert!(files.contains_key("snapshot.0000000002") && !files.contains_key("log.0000000003"));
    files
}

/// A snapshot that reopened the log, followed by what was staged while it was taken; the process ended there.
fn reopened() -> Files {
    let disk = SimDisk::new(0);
    let mut node = Node::start(&disk, 1);
    do_all(&node, &BEFORE[..1]);
    node.settle();
    disk.set_faults(Faults { sync: 1_000, ..Faults::default() });
    do_all(&node, &BEFORE[1..]);
    let deed = |deed: Deed| -> images::Deed {
        let (memory, journal) = (node.memory.clone(), node.journal.clone());
        Box::new(move || deed(&Story { memory: &memory, journal: &journal }))
    };
    let meddled = Meddled::new(node.memory.clone(), DURING.map(deed));
    node.writer.step(&meddled);
    disk.set_faults(Faults::default());
    node.writer.step(&meddled);
    let mut files = files(&disk);
    // As if the process had been killed before it wrote the group that waited meanwhile.
    let log = files.get_mut("log.0000000002").unwrap();
    log.truncate(log.iter().position(|byte| *byte == b'\n').unwrap() + 1);
    files
}

/// A second boot, in which all attachments have ended, and no claim.
fn rebooted() -> Files {
    let disk = SimDisk::new(0);
    let mut node = Node::start(&disk, 1);
    do_all(&node, &BEFORE);
    node.settle();
    drop(node);
    let mut node = Node::start(&disk, 2);
    do_all(&node, &[AFTER[0], AFTER[3]]);
    while node.writer.step(&node.memory) == WriterProgress::Worked {}
    files(&disk)
}

fn directories() -> BTreeMap<&'static str, (u64, Files)> {
    BTreeMap::from([
        ("one-log", (1, one_log())),
        ("rebooted", (2, rebooted())),
        ("reopened", (1, reopened())),
        ("with-snapshot", (1, with_snapshot())),
    ])
}

pub(super) fn disk_of(files: &Files) -> SimDisk {
    let disk = SimDisk::new(0);
    files.iter().for_each(|(name, bytes)| disk.put(name, bytes));
    disk
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The entries of a directory, sorted by name.
fn entries(path: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

/// All committed state directories, with the expected contents.
fn committed() -> Vec<(String, Files, String)> {
    let forms = entries(&folder()).into_iter().filter(|path| path.is_dir());
    let states = forms.flat_map(|form| entries(&form)).filter(|path| path.is_dir());
    let with_files = |path: PathBuf| {
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let files = entries(&path).iter().map(|path| (name(path), read(path))).collect();
        let told = String::from_utf8(read(&path.with_added_extension("told"))).unwrap();
        (path.display().to_string(), files, told)
    };
    states.map(with_files).collect()
}

#[test]
fn the_writer_writes_the_corpus_of_the_present_form() {
    let form = folder().join(PRESENT);
    for (name, (boot_number, files)) in directories() {
        let told = tell(&recover(&disk_of(&files), &boot(boot_number), NOW).unwrap());
        let (state, told_file) = (form.join(name), form.join(name).with_added_extension("told"));
        if std::env::var_os(WRITE).is_some() {
            std::fs::create_dir_all(&state).unwrap();
            files.iter().for_each(|(name, bytes)| std::fs::write(state.join(name), bytes).unwrap());
            std::fs::write(&told_file, &told).unwrap();
        }
        let committed: Files = entries(&state)
            .iter()
            .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), read(path)))
            .collect();
        assert!(committed.keys().eq(files.keys()), "{name}: {:?}", files.keys());
        for (file, bytes) in files {
            let [committed, written] =
                [&committed[&file], &bytes].map(|bytes| String::from_utf8_lossy(bytes));
            for (committed, written) in committed.lines().zip(written.lines()) {
                assert_eq!(committed, written, "{name}/{file}: the stored form has changed");
            }
            assert_eq!(committed.len(), written.len(), "{name}/{file}: the stored form has changed");
        }
    }
}

#[test]
fn every_state_directory_that_was_committed_loads() {
    let committed = committed();
    assert!(committed.len() >= 4);
    for (name, files, told) in committed {
        let boot_number = if name.ends_with("rebooted") { 2 } else { 1 };
        let disk = disk_of(&files);
        let read_only = recover_read_only(&disk, &boot(boot_number), NOW).unwrap();
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(Path::new(&name).with_added_extension("told"), tell(&read_only)).unwrap();
        }
        assert_eq!(tell(&read_only), told, "{name}");
        let found = recover(&disk, &boot(boot_number), NOW).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(tell(&found), told, "{name}");
        assert!(found.report.skipped.is_empty() && found.report.cut_bytes == 0, "{name}: {}", found.report);
        // A daemon continues from it, and the next start finds the same.
        let mut node = Node::from(options(&disk, boot_number), found);
        drop(node.define(77));
        node.settle();
        let again = recover(&disk, &boot(boot_number), NOW).unwrap();
        assert_eq!(again.state.books.len(), read_only.state.books.len() + 1, "{name}");
    }
}

/// Adds the path of every value in a JSON text, made of its keys; for enumerations also the value.
fn add_paths(found: &mut BTreeSet<String>, at: &str, value: &Value) {
    const CLOSED: [&str; 6] = [".supply", ".need", ".cooling", ".defined_by", ".by", ".kind"];
    match value {
        Value::Bool(_) => _ = found.insert(format!("{at} {value}")),
        Value::String(value) if CLOSED.iter().any(|key| at.ends_with(key)) => {
            found.insert(format!("{at} {value}"));
        }
        // The keys below are user-defined names.
        Value::Object(_) if ["attributes", ".tags", ".reached"].iter().any(|key| at.ends_with(key)) => {
            _ = found.insert(at.to_owned());
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| add_paths(found, &format!("{at}.{key}"), value));
        }
        Value::Array(values) => values.iter().for_each(|value| add_paths(found, &format!("{at}[]"), value)),
        _ => _ = found.insert(at.to_owned()),
    }
}

/// The paths in a line: its chapter and the keys of its JSON.
pub(crate) fn paths(chapter: &str, kind: &str, json: &[u8]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    add_paths(&mut found, &format!("{chapter} {kind}"), &serde_json::from_slice(json).unwrap());
    found
}

/// The paths in all lines of the current form's corpus.
pub(crate) fn paths_of_corpus() -> BTreeSet<String> {
    let present = committed().into_iter().filter(|(name, ..)| name.contains(&format!("/{PRESENT}/")));
    let files = present.flat_map(|(_, files, _)| files.into_values());
    let mut found = BTreeSet::new();
    for file in files {
        for line in std::str::from_utf8(&file).unwrap().lines() {
            let line: Value = serde_json::from_str(line.splitn(4, ' ').nth(3).unwrap()).unwrap();
            let Some(chapter) = line["chapter"].as_str() else { continue };
            for kind in ["fact", "item"] {
                let json = serde_json::to_vec(&line[kind]).unwrap();
                found.extend(paths(chapter, kind, &json));
            }
        }
    }
    found
}
