//! A node on a simulated disk, and the truth about it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tenure_engine::ports::{Clock, Journal, Ticket};
use tenure_fixtures::ports::ManualClock;
use tenure_ledger::{Book, Image};
use tenure_types::{Cooling, Moment, NetworkName};

use super::machine::{End, OWNERS, Sizes, Transition};
use super::meddled::Meddled;
use super::paper::{COOLDOWN, Paper};
use super::truth::{Extent, Truth};
use crate::sim::{Faults, Mark, SimDisk};
use crate::tests::fixture::{Node, Wanted, answer, boot, images, name, network, options, owner};
use crate::{Recovered, recover_after, recover_read_only};

pub(super) struct System {
    disk: SimDisk,
    clock: Arc<ManualClock>,
    /// The last durable end that the checkpoint reported.
    ear: Arc<Mark>,
    boot: u64,
    /// Whether something of this boot is durable; until then a start ends the previous boot again.
    settled: bool,
    node: Node,
    meddled: Meddled,
    truth: Truth,
    waiting: Vec<(Ticket, Extent)>,
    faults: Faults,
}

impl System {
    /// A node that starts on an empty disk.
    pub(super) fn new(seed: u64, sizes: Sizes) -> Self {
        let disk = SimDisk::new(seed);
        let clock = Arc::new(ManualClock::default());
        let ear = Arc::new(Mark::default());
        let node = Node::start_with(&disk, sized(&disk, &clock, &ear, 0, sizes));
        Self {
            disk,
            clock,
            ear,
            boot: 0,
            settled: true,
            meddled: Meddled::new(&node),
            node,
            truth: Truth::default(),
            waiting: Vec::new(),
            faults: Faults::default(),
        }
    }

    pub(super) fn apply(&mut self, transition: &Transition) {
        match *transition {
            Transition::Define { network, wide, strict } => self.define(&defined(network, wide, strict)),
            Transition::Remove { network } => {
                (0..OWNERS).for_each(|who| self.release(network, who));
                self.remove(network);
            }
            Transition::Allocate { network, owner: who, address } => {
                self.allocate(network, who, IpAddr::from([10, 0, u8::try_from(network).unwrap(), address]));
            }
            Transition::Release { network, owner: who } => self.release(network, who),
            Transition::Barrier => self.wait_for(self.node.journal.barrier()),
            Transition::Pass { seconds } => {
                self.clock.advance(Duration::from_secs(seconds));
                let now = self.clock.now();
                self.node.memory.expire(now, COOLDOWN);
                self.truth.all_newest_mut().for_each(|paper| paper.expire(now));
            }
            Transition::Step { ref meanwhile } => self.step(meanwhile),
            Transition::Look => self.look(),
            Transition::Trouble(faults) => self.set_faults(faults),
            Transition::Fill { room } => self.disk.set_capacity(Some(self.disk.used() + room)),
            Transition::Mend => {
                self.set_faults(Faults::default());
                self.disk.set_capacity(None);
            }
            Transition::StopAfter { operations } => self.disk.stop_after(operations),
            Transition::Restart { end, stop_after, sizes } => {
                self.end_by(end);
                if let Some(operations) = stop_after {
                    self.disk.stop_after(operations);
                }
                self.start(end, sizes);
            }
        }
    }

    /// Checks that memory equals paper.
    pub(super) fn check(&self) {
        let memory = papers(&self.node.memory.images());
        let truth = self.truth.all_newest();
        assert!(memory.keys().eq(truth.keys().copied()));
        for (name, paper) in &memory {
            assert!(paper.is(truth[name]), "{name} is {paper:#?}, and on paper {:#?}", truth[name]);
        }
    }

    fn define(&mut self, wanted: &Wanted) {
        let ticket = self.node.memory.define(&self.node.journal, wanted);
        let mut paper = self.truth.newest(&wanted.name).cloned().unwrap_or_else(Paper::new);
        paper.define(self.place(&wanted.name), wanted, &self.node.memory.cooling(&wanted.name));
        self.note(&wanted.name, Some(paper), ticket);
    }

    fn allocate(&mut self, network: u64, who: u64, address: IpAddr) {
        let (name, owner, now) = (name(network), owner(who), self.clock.now());
        let Some(mut paper) = self.truth.newest(&name).cloned() else { return };
        let ticket = self.node.memory.admit(&self.node.journal, network, &owner, address, now);
        assert_eq!(ticket.is_some(), paper.may_get(&owner, address), "{address} for {owner}");
        let Some(ticket) = ticket else { return };
        paper.get(self.place(&name), owner, address);
        self.note(&name, Some(paper), ticket);
    }

    fn release(&mut self, network: u64, who: u64) {
        let (name, owner, now) = (name(network), owner(who), self.clock.now());
        let Some(mut paper) = self.truth.newest(&name).cloned() else { return };
        let ticket = self.node.memory.release(&self.node.journal, network, &owner, now);
        assert_eq!(ticket.is_some(), paper.give_back(self.place(&name), &owner, now));
        let Some(ticket) = ticket else { return };
        self.note(&name, Some(paper), ticket);
    }

    fn remove(&mut self, network: u64) {
        let ticket = self.node.memory.remove(&self.node.journal, network);
        let may_go = self.truth.newest(&name(network)).is_some_and(Paper::holds_nothing);
        assert_eq!(ticket.is_some(), may_go, "the removal of {network}");
        if let Some(ticket) = ticket {
            let cooling = self.truth.newest(&name(network)).map(Paper::cooling).unwrap_or_default();
            self.note(&name(network), None, ticket);
            let removed = self.node.memory.removed_cooling(&name(network));
            assert!(cooling.iter().all(|one| removed.contains(one)), "{cooling:?} but {removed:?}");
        }
    }

    fn place(&self, name: &NetworkName) -> u64 {
        self.node.memory.images()[name].through
    }

    fn note(&mut self, name: &NetworkName, paper: Option<Paper>, ticket: Ticket) {
        self.truth.note(name, paper);
        self.wait_for(ticket);
    }

    fn wait_for(&mut self, ticket: Ticket) {
        self.waiting.push((ticket, self.truth.extent()));
    }

    fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
        self.disk.set_faults(faults);
    }

    fn step(&mut self, meanwhile: &[u64]) {
        let done = self.meddled.step(&mut self.node.writer, meanwhile);
        for (ticket, extent) in std::mem::take(&mut self.waiting) {
            if answer(ticket).expect("a step answers all callers").is_ok() {
                self.truth.acknowledge(&extent);
            }
        }
        for (name, defined, ticket) in done {
            let paper = defined.map(|(place, wanted, cooling)| {
                let mut paper = Paper::new();
                paper.define(place, &wanted, &cooling);
                paper
            });
            self.note(&name, paper, ticket);
        }
        self.settled |= self.node.journal.health().is_ok();
    }

    /// Reads as another process does, which may be ahead of what is durable, but never behind it.
    fn look(&self) {
        match recover_read_only(&self.disk, &boot(self.boot), self.clock.now()) {
            Ok(found) => {
                assert_whole(&found);
                _ = self.expect(&papers(&images(&found.state.books)), false, self.clock.now());
            }
            Err(error) => assert!(self.disk.is_stopped(), "a reader failed while a writer ran: {error}"),
        }
    }

    fn end_by(&self, end: End) {
        match end {
            End::Killed => self.disk.kill(),
            End::PowerLost | End::Rebooted => self.disk.crash(),
        }
    }

    /// Restarts, as often as it takes.
    fn start(&mut self, end: End, sizes: Sizes) {
        let (ended, reboot) = (self.clock.now(), end == End::Rebooted);
        if reboot {
            self.boot += 1;
            self.clock.set(Duration::from_secs(1));
        }
        self.waiting.clear();
        let recovered = loop {
            match recover_after(&self.disk, &boot(self.boot), self.clock.now(), self.ear.last().as_ref()) {
                Ok(recovered) => break recovered,
                Err(error) => {
                    assert!(self.disk.is_stopped() || self.faults != Faults::default(), "{error}");
                    self.set_faults(Faults::default());
                    self.end_by(end);
                }
            }
        };
        assert!(!recovered.report.lost, "what was reported as durable is missing: {:?}", self.ear.last());
        assert_whole(&recovered);
        let found = papers(&images(&recovered.state.books));
        let extent = self.expect(&found, reboot, ended);
        self.truth.go_on(found, &extent);
        self.node = Node::from(sized(&self.disk, &self.clock, &self.ear, self.boot, sizes), recovered);
        self.meddled = Meddled::new(&self.node);
        let healthy = self.node.journal.health().is_ok();
        self.settled = healthy || (self.settled && !reboot);
        if healthy {
            // The node acts on what was found from now on, so it must not disappear again.
            self.truth.acknowledge(&self.truth.extent());
        }
    }

    /// Checks what a start found, in another boot or in the same one. Returns the extent of the truth that it equals.
    fn expect(&self, found: &BTreeMap<NetworkName, Paper>, reboot: bool, ended: Moment) -> Extent {
        let now = self.clock.now();
        self.truth.check(found, |paper, found| {
            (!reboot && paper.may_be(found, now))
                || ((reboot || !self.settled) && paper.may_be_after_reboot(found, ended, now))
        })
    }

    /// Repairs the disk: the checkpoint must recover by itself.
    pub(super) fn end(mut self) {
        let sizes = Sizes { reserve: 16_000, compact_above: u64::MAX };
        if self.disk.is_stopped() {
            self.apply(&Transition::Restart { end: End::PowerLost, stop_after: None, sizes });
        }
        self.apply(&Transition::Mend);
        self.disk.stop_after(u64::MAX);
        self.step(&[]);
        self.node.settle();
        assert_eq!(self.node.journal.health(), Ok(()));
        assert_eq!(answer(self.node.journal.barrier()), Some(Ok(())));
        self.truth.acknowledge(&self.truth.extent());
        self.look();
    }
}

fn sized(
    disk: &SimDisk,
    clock: &Arc<ManualClock>,
    ear: &Arc<Mark>,
    boot: u64,
    sizes: Sizes,
) -> crate::Options {
    let mut options = options(disk, boot);
    options.witness = Some(Arc::clone(ear) as _);
    options.clock = Arc::clone(clock) as _;
    (options.reserve, options.compact_above) = (sizes.reserve, sizes.compact_above);
    options
}

/// One of four definitions, whose wide and narrow ranges share some addresses. Networks share none: which cooling addresses of
/// removed ones come to another one depends on when a snapshot reads them.
pub(super) fn defined(number: u64, wide: bool, strict: bool) -> Wanted {
    let (first, last) = if wide { (1, 9) } else { (6, 11) };
    let address = |last: u8| format!("10.0.{number}.{last}");
    let mut wanted = network(number, &format!("10.0.{number}.0/24"), &address(first), &address(last));
    wanted.definition.cooling = if strict { Cooling::Strict } else { Cooling::Preferred };
    wanted
}

/// Checks that both chapters know each network: what was staged together is there together.
fn assert_whole(found: &Recovered) {
    let books = found.state.books.iter().map(Book::name);
    assert!(books.eq(found.state.node.choices.all().map(|(name, _)| name)), "half of a group is there");
}

fn papers(images: &BTreeMap<NetworkName, Image>) -> BTreeMap<NetworkName, Paper> {
    images.iter().map(|(name, image)| (name.clone(), Paper::of(image))).collect()
}
