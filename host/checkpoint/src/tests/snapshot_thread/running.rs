//! A node whose writer runs in its thread, on a disk that is watched.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use tenure_engine::ports::{Images, Journal, Ticket};
use tenure_types::Error;

use super::watched::{LIMIT, Watch, WatchedDisk};
use crate::sim::SimDisk;
use crate::tests::fixture::{Memory, NOW, Node, boot, everything, options, owner, plain};
use crate::{CheckpointJournal, Options, RunningWriter, recover};

/// A length from which a node compacts now and then.
pub(super) const ABOVE: u64 = 2_000;

const A_MOMENT: Duration = Duration::from_millis(1);

/// The result of a ticket.
pub(super) fn durable(ticket: Ticket) -> Result<(), Error> {
    let (answers, answered) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        // The test may have given up.
        _ = answers.send(runtime.block_on(ticket.durable()));
    });
    answered.recv_timeout(LIMIT).expect("a group waits")
}

/// A length from which a node compacts that the first group makes the log reach, and its header alone does not.
pub(super) fn at_once() -> u64 {
    let disk = SimDisk::new(0);
    drop(Node::start(&disk, 1));
    disk.contents("log.0000000001").unwrap().len() as u64 + 1
}

pub(super) struct Running {
    pub(super) disk: SimDisk,
    pub(super) journal: CheckpointJournal,
    pub(super) thread: RunningWriter,
    pub(super) memory: Memory,
    /// The owners that have an address in network 0.
    holders: BTreeSet<u64>,
}

impl Running {
    /// A node with network 0 that compacts from this length on.
    pub(super) fn start(compact_above: u64, watch: Watch) -> Self {
        Self::start_with(compact_above, watch, |memory| Arc::new(memory.clone()))
    }

    /// A node whose snapshots read this instead of its memory.
    pub(super) fn start_with(
        compact_above: u64,
        watch: Watch,
        source: impl FnOnce(&Memory) -> Arc<dyn Images>,
    ) -> Self {
        let disk = SimDisk::new(0);
        let watched = Arc::new(WatchedDisk::new(disk.clone(), watch));
        let options = Options { disk: watched, compact_above, ..options(&disk, 1) };
        Self::start_on(disk, options, source)
    }

    /// A node on this disk, which the options may lead to in another way.
    pub(super) fn start_on(
        disk: SimDisk,
        options: Options,
        source: impl FnOnce(&Memory) -> Arc<dyn Images>,
    ) -> Self {
        let Node { writer, journal, memory } = Node::start_with(&disk, options);
        let thread = writer.run(source(&memory)).unwrap();
        durable(memory.define(&journal, &plain(0))).unwrap();
        Self { disk, journal, thread, memory, holders: BTreeSet::new() }
    }

    /// Gives an owner an address, or takes it back.
    pub(super) fn stage(&mut self, who: u64) -> Ticket {
        if self.holders.remove(&who) {
            return self.memory.release(&self.journal, 0, &owner(who), NOW).unwrap();
        }
        self.holders.insert(who);
        self.memory.give(&self.journal, 0, &owner(who)).unwrap()
    }

    /// As [`stage`](Self::stage), and waits for the answer.
    pub(super) fn toggle(&mut self, who: u64) -> Result<(), Error> {
        durable(self.stage(who))
    }

    /// Writes groups until an event arrives.
    pub(super) fn write_until(&mut self, event: &Receiver<()>) {
        for number in 0..60_000 {
            match event.recv_timeout(A_MOMENT) {
                Ok(()) => return,
                Err(RecvTimeoutError::Disconnected) => panic!("it can no longer happen"),
                Err(RecvTimeoutError::Timeout) => self.toggle(number % 16).unwrap(),
            }
        }
        panic!("it has not happened");
    }

    /// Waits until the journal refuses.
    pub(super) fn wait_for_refusal(&self) {
        let (_keeps, never) = mpsc::channel::<()>();
        assert!((0..60_000).any(|_| self.journal.health().is_err() || never.recv_timeout(A_MOMENT).is_ok()));
    }

    /// Stops the writer, and checks that a start finds what memory has.
    pub(super) fn stop(self) {
        drop(self.thread);
        let found = recover(&self.disk, &boot(1), NOW).unwrap();
        assert_eq!(everything(&found), self.memory.everything());
    }
}
