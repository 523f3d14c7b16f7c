//! State directories of every shape that a node leaves behind, with everything that was acknowledged on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::sim::{Faults, Mark, SimDisk};
use crate::tests::corpus::{Files, disk_of, files, happen};
use crate::tests::fixture::{Everything, Node, answer, boot, options};
use crate::{Durable, Options, Witness, recover};

/// A state directory.
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) files: Files,
    /// The boot that ended with it.
    pub(super) boot: u64,
    /// The latest report to the witness.
    pub(super) durable: Durable,
    /// Each state that was acknowledged, oldest first; the last one is the truth.
    pub(super) states: Vec<Everything>,
    /// The earlier contents of each file.
    pub(super) older: BTreeMap<String, BTreeSet<Vec<u8>>>,
    /// The files of another history that begins as this one does.
    pub(super) fork: Files,
}

/// A node whose history is recorded.
struct Recorded {
    disk: SimDisk,
    node: Node,
    mark: Arc<Mark>,
    boot: u64,
    compact_above: u64,
    states: Vec<Everything>,
    older: BTreeMap<String, BTreeSet<Vec<u8>>>,
    /// The files from which the other history goes on.
    fork: Option<Files>,
}

/// A node with its witness.
fn started(disk: &SimDisk, boot_number: u64, compact_above: u64) -> (Node, Arc<Mark>) {
    let mark = Arc::new(Mark::default());
    let witness = Some(Arc::clone(&mark) as Arc<dyn Witness>);
    (Node::start_with(disk, Options { witness, compact_above, ..options(disk, boot_number) }), mark)
}

impl Recorded {
    fn start(compact_above: u64) -> Self {
        let disk = SimDisk::new(0);
        let (node, mark) = started(&disk, 1, compact_above);
        let states = vec![node.memory.everything()];
        Self { disk, node, mark, boot: 1, compact_above, states, older: BTreeMap::new(), fork: None }
    }

    /// Lets everything that is due happen, and remembers the state and the files.
    fn record(&mut self) {
        self.node.settle();
        self.remember();
    }

    fn remember(&mut self) {
        self.states.push(self.node.memory.everything());
        for (name, bytes) in files(&self.disk) {
            self.older.entry(name).or_default().insert(bytes);
        }
    }

    fn tell(mut self, part: usize) -> Self {
        let Self { node, states, older, disk, .. } = &mut self;
        happen(node, part, |node| {
            states.push(node.memory.everything());
            for (name, bytes) in files(disk) {
                older.entry(name).or_default().insert(bytes);
            }
        });
        self
    }

    /// Assigns and releases addresses of a network of its own, one group each.
    fn pods(mut self, pods: std::ops::Range<u64>) -> Self {
        drop(self.node.define(50));
        self.record();
        for who in pods {
            drop(self.node.give(50, who));
            self.record();
            if who % 3 == 0 {
                drop((self.node.free(50, who), self.node.give(50, who + 1_000)));
                self.record();
            }
        }
        self
    }

    /// Gives addresses until a snapshot with this number is complete, also while it is taken: what is given behind the part
    /// that was read already is only in the segment beside it.
    fn until_snapshot(mut self, number: u64) -> Self {
        let snapshot = crate::names::snapshot(number);
        for who in 10_000.. {
            if files(&self.disk).contains_key(&snapshot) {
                break;
            }
            let ticket = self.node.give(50, who).unwrap();
            self.node.writer.step(&self.node.memory);
            assert_eq!(answer(ticket), Some(Ok(())));
            self.remember();
        }
        self
    }

    /// A sync fails, and the log is reopened from memory.
    fn reopen(mut self) -> Self {
        drop(self.node.define(51));
        self.record();
        self.disk.set_faults(Faults { sync: 1_000, ..Faults::default() });
        drop(self.node.give(51, 1));
        self.node.writer.step(&self.node.memory);
        self.disk.set_faults(Faults::default());
        drop((self.node.give(51, 2), self.node.give(51, 3)));
        self.record();
        self
    }

    /// The other history begins here.
    fn fork(mut self) -> Self {
        self.fork = Some(files(&self.disk));
        self
    }

    fn reboot(mut self) -> Self {
        self.boot += 1;
        (self.node, self.mark) = started(&self.disk, self.boot, self.compact_above);
        self.record();
        self
    }

    fn end(self, name: &'static str) -> Shape {
        let Self { disk, mark, boot, states, older, fork, compact_above, .. } = self;
        let files = files(&disk);
        let fork = fork.map(|files| other(&files, boot, compact_above)).unwrap_or_default();
        Shape { name, files, boot, durable: mark.last().unwrap(), states, older, fork }
    }
}

/// Another history from the same files on.
fn other(files: &Files, boot_number: u64, compact_above: u64) -> Files {
    let disk = disk_of(files);
    let mut recorded = Recorded::start(compact_above);
    recorded.disk = disk;
    (recorded.node, recorded.mark) = started(&recorded.disk, boot_number, compact_above);
    recorded.boot = boot_number;
    let recorded = recorded.pods(20_000..20_012).reboot().pods(30_000..30_003);
    crate::tests::corpus::files(&recorded.disk)
}

/// The same as a program wrote it whose headers do not say what a file continues: the places alone must do.
fn by_older_program(shape: &Shape, name: &'static str) -> Shape {
    let mut files = shape.files.clone();
    let mut durable = shape.durable;
    for (file, bytes) in &mut files {
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let text = std::str::from_utf8(&bytes[..end - 1]).unwrap();
        let mut json: serde_json::Value = serde_json::from_str(text.splitn(4, ' ').nth(3).unwrap()).unwrap();
        for kind in ["log", "snapshot"] {
            let Some(header) = json.get_mut(kind).and_then(|header| header.as_object_mut()) else { continue };
            header.remove("after");
            header.remove("segment");
        }
        let mut header = Vec::new();
        crate::frame::encode(&mut header, 0, json.to_string().as_bytes());
        if *file == crate::names::log(durable.log) {
            durable.length -= (end - header.len()) as u64;
            if durable.group == end as u64 {
                durable =
                    Durable { group: header.len() as u64, checksum: crc32c::crc32c(&header), ..durable };
            }
        }
        bytes.splice(..end, header);
    }
    let states = shape.states.clone();
    Shape { name, files, boot: shape.boot, durable, states, older: BTreeMap::new(), fork: Files::new() }
}

/// All shapes.
pub(super) fn all() -> Vec<Shape> {
    let never = u64::MAX;
    let mut shapes = vec![
        Recorded::start(never).tell(0).tell(1).tell(2).end("one segment"),
        Recorded::start(4_000).tell(0).tell(1).tell(2).end("a snapshot"),
        Recorded::start(6_000).pods(1..4).fork().until_snapshot(3).pods(4..7).end("two snapshots"),
        Recorded::start(never).tell(0).reopen().pods(1..3).end("reopened after a failure"),
        Recorded::start(never)
            .pods(1..4)
            .reboot()
            .pods(4..6)
            .fork()
            .pods(6..8)
            .reboot()
            .pods(8..10)
            .end("three boots"),
        Recorded::start(4_000).pods(1..4).until_snapshot(2).reboot().end("a boot right behind a snapshot"),
        Recorded::start(6_000)
            .pods(1..4)
            .until_snapshot(3)
            .reboot()
            .pods(4..6)
            .reopen()
            .reboot()
            .pods(6..8)
            .end("all of it"),
    ];
    for (number, name) in
        [(4, "three boots, by an older program"), (5, "a boot behind a snapshot, by an older program")]
    {
        shapes.push(by_older_program(&shapes[number], name));
    }
    for shape in &shapes {
        let found = recover(&disk_of(&shape.files), &boot(shape.boot), crate::tests::fixture::NOW).unwrap();
        let state = crate::tests::fixture::everything(&found);
        assert!(state == *shape.states.last().unwrap(), "{}: intact, and not the state", shape.name);
    }
    let with = |name: &str| {
        shapes.iter().filter(|shape| shape.files.keys().any(|file| file.starts_with(name))).count()
    };
    assert!(with("snapshot.") >= 5);
    shapes
}
