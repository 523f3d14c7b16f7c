//! State to which something is done while a snapshot looks at it, one page after the other.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tenure_engine::ports::{Images, Ticket};
use tenure_ledger::Page;
use tenure_types::NetworkName;

use super::system::defined;
use crate::tests::fixture::{Memory, Node, Wanted, name};
use crate::{CheckpointJournal, Writer};

/// What was done to a network: it was defined as of a place in the log, or it was removed.
type Done = (NetworkName, Option<(u64, Wanted)>, Ticket);

/// A node's state, the networks to which something is done in this step, and what was done. Clones share them: a snapshot that is
/// under way goes on looking in later steps.
#[derive(Clone)]
pub(super) struct Meddled {
    memory: Memory,
    journal: CheckpointJournal,
    deeds: Arc<Mutex<VecDeque<u64>>>,
    done: Arc<Mutex<Vec<Done>>>,
}

impl Meddled {
    pub(super) fn new(node: &Node) -> Self {
        let (memory, journal) = (node.memory.clone(), node.journal.clone());
        Self { memory, journal, deeds: Arc::default(), done: Arc::default() }
    }

    /// Does something to these networks while the writer steps, as far as pages are looked at. Says what was done, in that order.
    pub(super) fn step(&self, writer: &mut Writer, deeds: &[u64]) -> Vec<Done> {
        *self.deeds.lock().unwrap() = deeds.iter().copied().collect();
        writer.step(self);
        self.deeds.lock().unwrap().clear();
        std::mem::take(&mut *self.done.lock().unwrap())
    }

    fn meddle(&self) {
        let Some(number) = self.deeds.lock().unwrap().pop_front() else { return };
        self.done.lock().unwrap().extend(toggle(&self.memory, &self.journal, number));
    }
}

/// Defines a network or, where it is there and holds nothing, removes it.
fn toggle(memory: &Memory, journal: &CheckpointJournal, number: u64) -> Option<Done> {
    let network = name(number);
    if memory.images().contains_key(&network) {
        return Some((network, None, memory.remove(journal, number)?));
    }
    let wanted = defined(number, false, false);
    let ticket = memory.define(journal, &wanted);
    let place = memory.images()[&network].through;
    Some((network, Some((place, wanted)), ticket))
}

impl Images for Meddled {
    fn pages(&self, first: u64) -> Box<dyn Iterator<Item = Page> + Send> {
        let meddled = self.clone();
        Box::new(self.memory.pages(first).inspect(move |_| meddled.meddle()))
    }
}
