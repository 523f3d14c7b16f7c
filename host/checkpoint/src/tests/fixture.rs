//! A small engine: books, choices, and a journal to stage into.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tenure_engine::ports::{Clock, Images, Journal, Ticket};
use tenure_fixtures::ports::{ManualClock, Silent};
use tenure_ledger::{
    Book, Choice, ChoiceFact, Chooser, Defined, Direction, Fact, Image, LedgerFact, LedgerState,
    NodeChapters, Page, RemovedNetworks, Repeat, Shelf,
};
use tenure_types::{
    BootId, ContainerId, Cooling, DefinedPool, Definer, Definition, InterfaceName, Moment, NetworkName,
    Owner, PolicyName, PolicyStamp, Pool, Proposal, Range, Request, RequestContext, Sandbox,
};

use crate::header::Header;
use crate::line::ChapterLine;
use crate::sim::SimDisk;
use crate::{Base, CheckpointJournal, FORMAT_VERSION, LogHeader, Options, Recovered, Writer, recover};

/// The program that writes the files of these tests. It has version 0.0.0, so that a release changes none of them.
pub(super) const PROGRAM: &str = "tenured 0.0.0";

pub(super) const NOW: Moment = Moment { boot_ns: 5_000_000_000, wall_ms: 1_700_000_000_000 };

pub(super) fn boot(number: u64) -> BootId {
    BootId(format!("00000000-0000-4000-8000-{number:012}"))
}

pub(super) fn name(number: u64) -> NetworkName {
    NetworkName::new(format!("net{number}")).unwrap()
}

pub(super) fn owner(number: u64) -> Owner {
    Owner::Attachment {
        container: ContainerId::new(format!("{number:064x}")).unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
    }
}

pub(super) fn stamp() -> Arc<PolicyStamp> {
    let name = PolicyName::new("host-local").unwrap();
    Arc::new(PolicyStamp { name, digest: "ab".repeat(32).into() })
}

/// The target definition of a network.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) name: NetworkName,
    pub(super) definition: Definition,
}

/// A network with one pool of one range.
pub(super) fn network(number: u64, subnet: &str, first: &str, last: &str) -> Wanted {
    let range =
        Range::new(subnet.parse().unwrap(), first.parse().unwrap(), last.parse().unwrap(), None, 8).unwrap();
    let pools = vec![DefinedPool { pool: Pool::numbered(0), ranges: vec![range] }];
    let definition = Definition { pools, cooling: Cooling::Preferred, ..Definition::default() };
    Wanted { name: name(number), definition }
}

/// A network with enough addresses for everyone.
pub(super) fn plain(number: u64) -> Wanted {
    network(number, "10.0.0.0/8", "10.0.0.1", "10.0.3.255")
}

/// The facts that change a network to its target definition.
pub(super) fn redefined(book: &Book, wanted: &Wanted) -> Vec<LedgerFact> {
    let config = Arc::default();
    let defined = Defined { config: &config, definition: &wanted.definition, by: Definer::Request };
    book.redefine(defined, NOW).unwrap()
}

/// A book to which only these facts were applied.
pub(super) fn book_of(name: &NetworkName, facts: &[LedgerFact]) -> Book {
    let mut book = Book::empty(name);
    (1..).zip(facts).for_each(|(place, fact)| book.apply(place, fact).unwrap());
    book
}

/// The first line of a log segment.
pub(super) fn log_header(number: u64, first: u64, base: Base) -> Vec<u8> {
    let (version, program, node) = (FORMAT_VERSION, PROGRAM.to_owned(), "node-1".to_owned());
    let header =
        LogHeader { version, program, number, first, base, after: None, boot: boot(1), node, opened: NOW };
    let mut line = Vec::new();
    Header::Log(header).encode(&mut line).unwrap();
    line
}

/// A stopped clock, so that books can be compared to the millisecond.
pub(super) fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::at(NOW))
}

/// The state in memory.
#[derive(Default)]
struct State {
    books: BTreeMap<NetworkName, Book>,
    node: NodeChapters,
    removed: RemovedNetworks,
}

impl State {
    fn page(&self, name: &NetworkName) -> Option<Page> {
        if let Some(book) = self.books.get(name) {
            return Some(Page::Book(Box::new(book.image())));
        }
        self.gone(name)
    }

    fn gone(&self, name: &NetworkName) -> Option<Page> {
        Some(Page::Gone { network: name.clone(), removed: self.removed.get(name)? })
    }

    /// Stages facts of a network and applies them.
    fn put(&mut self, journal: &CheckpointJournal, name: &NetworkName, facts: &[Fact]) -> Ticket {
        let (first, ticket) = journal.stage(facts);
        self.apply(first, name, facts);
        ticket
    }

    fn apply(&mut self, first: u64, name: &NetworkName, facts: &[Fact]) {
        for (place, fact) in (first..).zip(facts) {
            match fact {
                Fact::Ledger(fact) => {
                    if matches!(fact, LedgerFact::Defined(_)) {
                        self.books.entry(name.clone()).or_insert_with(|| Book::empty(name));
                    }
                    let book = self.books.get_mut(name).unwrap();
                    book.apply(place, fact).unwrap();
                    assert_eq!(book.through(), place, "the book skipped the fact");
                    self.removed.follow(place, fact, book);
                    if matches!(fact, LedgerFact::Removed { .. }) {
                        self.books.remove(name);
                    }
                }
                fact => {
                    self.node.apply(place, fact);
                    assert_eq!(self.node.through(), place, "the chapter skipped the fact");
                }
            }
        }
    }

    /// The facts that change a network to its target definition, as the engine stages them.
    fn defining(&self, wanted: &Wanted) -> Vec<Fact> {
        let name = &wanted.name;
        let mut facts = Vec::new();
        if self.node.choices.of(name).is_none() {
            let choice = Choice {
                policy: stamp().as_ref().clone(),
                by: Chooser::Configuration,
                at: NOW,
                why: String::new(),
                watched: false,
            };
            facts.push(ChoiceFact::Chosen { network: name.clone(), choice }.into());
        }
        let empty = Book::empty(name);
        let book = self.books.get(name).unwrap_or(&empty);
        facts.extend(redefined(book, wanted).into_iter().map(Fact::from));
        facts
    }

    /// The facts that remove a network; `None` if it does not exist or holds something.
    fn removing(&self, name: &NetworkName) -> Option<[Fact; 2]> {
        if self.books.get(name)?.allocations().len() > 0 {
            return None;
        }
        let network = name.clone();
        let forgotten = ChoiceFact::Forgotten { network: network.clone(), at: NOW };
        Some([forgotten.into(), LedgerFact::Removed { network, at: NOW }.into()])
    }
}

/// The state in memory; clones share it.
#[derive(Clone, Default)]
pub(super) struct Memory(Arc<Mutex<State>>);

/// The whole state as data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Everything {
    pub(super) books: BTreeMap<NetworkName, Image>,
    pub(super) node: NodeChapters,
}

impl Images for Memory {
    fn pages(&self, first: u64) -> Box<dyn Iterator<Item = Page> + Send> {
        let (gone, names): (Vec<Page>, Vec<NetworkName>) = {
            let mut state = self.lock();
            state.removed.forget_before(first);
            let gone = state.removed.names().filter_map(|name| state.gone(name)).collect();
            (gone, state.books.keys().cloned().collect())
        };
        let (books, node) = (self.clone(), self.clone());
        let books = names.into_iter().filter_map(move |name| books.lock().page(&name));
        let node = std::iter::once_with(move || Page::Node(Box::new(node.lock().node.clone())));
        Box::new(gone.into_iter().chain(books).chain(node))
    }
}

impl Memory {
    pub(super) fn of(recovered: Recovered) -> Self {
        let LedgerState { books, removed, node } = recovered.state;
        let books = books.into_iter().map(|book| (book.name().clone(), book)).collect();
        let state = State { books, removed, node };
        Self(Arc::new(Mutex::new(state)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Every book in its current state.
    pub(super) fn books(&self) -> Vec<Book> {
        self.lock().books.values().cloned().collect()
    }

    /// Every book, as data.
    pub(super) fn images(&self) -> BTreeMap<NetworkName, Image> {
        images(&self.books())
    }

    pub(super) fn everything(&self) -> Everything {
        let node = self.lock().node.clone();
        Everything { books: self.images(), node }
    }

    /// The addresses that cool in a network.
    pub(super) fn cooling(&self, name: &NetworkName) -> Vec<(IpAddr, Moment)> {
        self.with(name, |book| book.cooling_addresses().collect())
    }

    /// The addresses that cooled in a network when it was removed.
    pub(super) fn removed_cooling(&self, name: &NetworkName) -> Vec<(IpAddr, Moment)> {
        let removed = self.lock().removed.get(name).unwrap_or_default();
        removed.cooling.into_iter().map(|cooling| (cooling.address, cooling.since)).collect()
    }

    /// Reads a network, which is empty if it does not exist.
    pub(super) fn with<T>(&self, name: &NetworkName, look: impl FnOnce(&Book) -> T) -> T {
        let state = self.lock();
        let empty = Book::empty(name);
        look(state.books.get(name).unwrap_or(&empty))
    }

    /// Stages facts of a network together and applies them.
    pub(super) fn put(&self, journal: &CheckpointJournal, name: &NetworkName, facts: &[Fact]) -> Ticket {
        self.lock().put(journal, name, facts)
    }

    /// Changes a network to its target definition in one group.
    pub(super) fn define(&self, journal: &CheckpointJournal, wanted: &Wanted) -> Ticket {
        let mut state = self.lock();
        match &state.defining(wanted)[..] {
            [] => journal.barrier(),
            facts => state.put(journal, &wanted.name, facts),
        }
    }

    /// Removes a network; `None` if it does not exist or holds something.
    pub(super) fn remove(&self, journal: &CheckpointJournal, network: u64) -> Option<Ticket> {
        let mut state = self.lock();
        let facts = state.removing(&name(network))?;
        Some(state.put(journal, &name(network), &facts))
    }

    /// Removes a network or, if it does not exist, defines it, with a line of another chapter in the same group.
    /// Returns the place of that line.
    pub(super) fn toggle(
        &self,
        journal: &CheckpointJournal,
        wanted: &Wanted,
        beside: impl FnOnce(bool) -> ChapterLine,
    ) -> (u64, Ticket) {
        let mut state = self.lock();
        let removing = state.removing(&wanted.name).map(Vec::from);
        let line = beside(removing.is_none());
        let facts = removing.unwrap_or_else(|| state.defining(wanted));
        let (first, ticket) = journal.stage_lines(facts.iter().map(ChapterLine::from).chain([line]));
        state.apply(first, &wanted.name, &facts);
        (first + facts.len() as u64, ticket)
    }

    /// Assigns the next free address to an owner; `None` if it has one or none is free.
    pub(super) fn give(&self, journal: &CheckpointJournal, network: u64, owner: &Owner) -> Option<Ticket> {
        let shelf = Shelf::whole(0);
        let free = self.lock().books.get(&name(network))?.free(shelf, None, Direction::Ascending, 1);
        self.admit(journal, network, owner, *free.first()?, NOW)
    }

    /// Assigns this address to an owner; `None` if the book refuses.
    pub(super) fn admit(
        &self,
        journal: &CheckpointJournal,
        network: u64,
        owner: &Owner,
        address: IpAddr,
        now: Moment,
    ) -> Option<Ticket> {
        let mut state = self.lock();
        let request = request(network, owner, "cni-0f3f6f1e-1111-2222-3333-444455556666", now);
        let book = state.books.get(&name(network))?;
        let allocation = book.admit(&request, &Proposal::of([(0, address)]), &stamp(), now).ok()?;
        let fact = LedgerFact::Allocated(Arc::new(allocation));
        Some(state.put(journal, &name(network), &[fact.into()]))
    }

    /// Releases an owner's address; `None` if it has none.
    pub(super) fn release(
        &self,
        journal: &CheckpointJournal,
        network: u64,
        owner: &Owner,
        now: Moment,
    ) -> Option<Ticket> {
        let mut state = self.lock();
        let fact = state.books.get(&name(network))?.release(owner, now, "del")?;
        Some(state.put(journal, &name(network), &[fact.into()]))
    }

    /// Lets an owner repeat its request in another namespace; `None` if it has no address.
    pub(super) fn renew(
        &self,
        journal: &CheckpointJournal,
        network: u64,
        owner: &Owner,
        now: Moment,
    ) -> Option<Ticket> {
        let mut state = self.lock();
        let request = request(network, owner, "cni-0f3f6f1e-aaaa-bbbb-cccc-444455556666", now);
        let Repeat::Renews(fact) = state.books.get(&name(network))?.repeat(&request)? else { return None };
        Some(state.put(journal, &name(network), &[fact.into()]))
    }

    /// Ends the cooling of addresses whose cooldown is over.
    pub(super) fn expire(&self, now: Moment, cooldown: Duration) {
        self.lock().books.values_mut().for_each(|book| book.expire(now, cooldown));
    }

    pub(super) fn address_of(&self, network: u64, owner: &Owner) -> Option<IpAddr> {
        let state = self.lock();
        Some(state.books.get(&name(network))?.owned_by(owner)?.addresses.first()?.ip())
    }
}

/// A request for an attachment in a network namespace.
fn request(network: u64, owner: &Owner, netns: &str, now: Moment) -> Request {
    let netns = format!("/var/run/netns/{netns}").into();
    Request {
        network: name(network),
        owner: owner.clone(),
        requested: Vec::new(),
        sandbox: Sandbox { netns, ..Sandbox::default() },
        supply_full: false,
        context: RequestContext::default(),
        requested_at: now,
    }
}

pub(super) fn images(books: &[Book]) -> BTreeMap<NetworkName, Image> {
    books.iter().map(|book| (book.name().clone(), book.image())).collect()
}

/// Everything that a start has found.
pub(super) fn everything(found: &Recovered) -> Everything {
    Everything { books: images(&found.state.books), node: found.state.node.clone() }
}

/// The result of a ticket, without waiting.
pub(super) fn answer(ticket: Ticket) -> Option<Result<(), tenure_types::Error>> {
    match pin!(ticket.durable()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

/// A node: a disk, a writer without a thread, and its state in memory.
pub(super) struct Node {
    pub(super) writer: Writer,
    pub(super) journal: CheckpointJournal,
    pub(super) memory: Memory,
}

pub(super) fn options(disk: &SimDisk, boot_number: u64) -> Options {
    let mut options =
        Options::new(Arc::new(disk.clone()), clock(), Arc::new(Silent), boot(boot_number), "node-1");
    options.program = PROGRAM.to_owned();
    options.reserve = 16 << 10;
    options.compact_above = u64::MAX;
    options
}

impl Node {
    /// Starts from the disk.
    pub(super) fn start(disk: &SimDisk, boot_number: u64) -> Self {
        Self::start_with(disk, options(disk, boot_number))
    }

    /// Starts a node that takes a snapshot when a segment has this length.
    pub(super) fn start_compacting(disk: &SimDisk, compact_above: u64) -> Self {
        Self::start_with(disk, Options { compact_above, ..options(disk, 1) })
    }

    pub(super) fn start_with(disk: &SimDisk, options: Options) -> Self {
        let recovered = recover(disk, &options.boot, NOW).unwrap();
        Self::from(options, recovered)
    }

    pub(super) fn from(options: Options, recovered: Recovered) -> Self {
        let (writer, journal) = Writer::open(options, &recovered.tail);
        Self { writer, journal, memory: Memory::of(recovered) }
    }

    /// Steps until nothing is due.
    pub(super) fn settle(&mut self) {
        while self.writer.step(&self.memory) == crate::WriterProgress::Worked {}
    }

    pub(super) fn define(&self, number: u64) -> Ticket {
        self.memory.define(&self.journal, &plain(number))
    }

    pub(super) fn give(&self, network: u64, who: u64) -> Option<Ticket> {
        self.memory.give(&self.journal, network, &owner(who))
    }

    pub(super) fn renew(&self, network: u64, who: u64) -> Option<Ticket> {
        let later = Moment { boot_ns: NOW.boot_ns + 1, ..NOW };
        self.memory.renew(&self.journal, network, &owner(who), later)
    }

    pub(super) fn free(&self, network: u64, who: u64) -> Option<Ticket> {
        self.memory.release(&self.journal, network, &owner(who), NOW)
    }
}
