//! State that is changed while a snapshot reads it page by page.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use tenure_engine::ports::Ticket;
use tenure_fixtures::ports::images;
use tenure_types::{Moment, NetworkName};

use super::system::defined;
use crate::tests::fixture::{Memory, Node, Wanted, name};
use crate::{CheckpointJournal, Writer};

/// A change of a network: it was defined at a place in the log, or it was removed.
type Done = (NetworkName, Option<(u64, Wanted, Vec<(IpAddr, Moment)>)>, Ticket);

/// A node's state, and its changes. A snapshot in progress continues to read in later steps.
pub(super) struct Meddled {
    memory: Memory,
    journal: CheckpointJournal,
    images: images::Meddled<Memory>,
    done: Arc<Mutex<Vec<Done>>>,
}

impl Meddled {
    pub(super) fn new(node: &Node) -> Self {
        let (memory, journal) = (node.memory.clone(), node.journal.clone());
        let images = images::Meddled::new(memory.clone(), []);
        Self { memory, journal, images, done: Arc::default() }
    }

    /// Changes these networks while the writer steps, one after each page that it reads. Returns the changes, in that
    /// order.
    pub(super) fn step(&self, writer: &mut Writer, networks: &[u64]) -> Vec<Done> {
        self.images.set(networks.iter().map(|number| self.deed(*number)));
        writer.step(&self.images);
        self.images.set([]);
        std::mem::take(&mut *self.done.lock().unwrap())
    }

    fn deed(&self, number: u64) -> images::Deed {
        let (memory, journal, done) = (self.memory.clone(), self.journal.clone(), Arc::clone(&self.done));
        Box::new(move || done.lock().unwrap().extend(toggle(&memory, &journal, number)))
    }
}

/// Defines a network or, if it exists and holds nothing, removes it.
fn toggle(memory: &Memory, journal: &CheckpointJournal, number: u64) -> Option<Done> {
    let network = name(number);
    if memory.images().contains_key(&network) {
        return Some((network, None, memory.remove(journal, number)?));
    }
    let wanted = defined(number, false, false);
    let ticket = memory.define(journal, &wanted);
    let place = memory.images()[&network].through;
    let cooling = memory.cooling(&network);
    Some((network, Some((place, wanted, cooling)), ticket))
}
