//! A small engine: books, and a journal to stage into.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tenure_engine::ports::{Clock, Decision, Images, Journal, Observer, Ticket};
use tenure_ledger::{Book, Direction, Image, Repeat};
use tenure_types::{
    BootId, ContainerId, Cooling, Definition, ErrorCode, InterfaceName, Moment, Network, NetworkConfig,
    NetworkName, Owner, PolicyName, PolicyStamp, Pool, Proposal, Range, Record, Request,
};

use crate::header::Header;
use crate::sim::SimDisk;
use crate::{Base, CheckpointJournal, FORMAT_VERSION, LogHeader, Options, Recovered, Writer, recover};

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

fn stamp() -> PolicyStamp {
    PolicyStamp { name: PolicyName::new("host-local").unwrap(), digest: "ab".repeat(32).into() }
}

pub(super) fn network(number: u64, subnet: &str, first: &str, last: &str) -> Network {
    let range =
        Range::new(subnet.parse().unwrap(), first.parse().unwrap(), last.parse().unwrap(), None, 8).unwrap();
    Network {
        name: name(number),
        policy: stamp(),
        activated: false,
        config: NetworkConfig::default(),
        definition: Definition { pools: vec![Pool { ranges: vec![range] }], cooling: Cooling::Preferred },
        changed_at: None,
        importing: false,
    }
}

/// The first line of a log segment.
pub(super) fn log_header(number: u64, first: u64, base: Base) -> Vec<u8> {
    let (version, node) = (FORMAT_VERSION, "node-1".to_owned());
    let header = LogHeader { version, number, first, base, boot: boot(1), node, opened: NOW };
    let mut line = Vec::new();
    Header::Log(header).encode(&mut line).unwrap();
    line
}

/// A clock that stands still, so that books can be compared to the millisecond.
pub(super) struct Still;

impl Clock for Still {
    fn now(&self) -> Moment {
        NOW
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

impl Observer for Still {
    fn request(&self, _: &Decision<'_>) {}
    fn policy_call(&self, _: &PolicyStamp, _: Duration, _: Result<(), ErrorCode>) {}
    fn sync(&self, _: Duration, _: Result<usize, ErrorCode>, _: u64) {}
}

/// The books in memory.
#[derive(Default)]
pub(super) struct Memory(Mutex<BTreeMap<NetworkName, Book>>);

impl Images for Memory {
    fn networks(&self) -> Vec<NetworkName> {
        self.0.lock().unwrap().keys().cloned().collect()
    }

    fn image(&self, network: &NetworkName) -> Option<Image> {
        Some(self.0.lock().unwrap().get(network)?.image())
    }
}

impl Memory {
    pub(super) fn of(books: Vec<Book>) -> Self {
        Self(Mutex::new(books.into_iter().map(|book| (book.network().name.clone(), book)).collect()))
    }

    /// Every book as it is now.
    pub(super) fn books(&self) -> Vec<Book> {
        self.0.lock().unwrap().values().cloned().collect()
    }

    /// Every book, as data.
    pub(super) fn images(&self) -> BTreeMap<NetworkName, Image> {
        images(&self.books())
    }

    pub(super) fn define(&self, journal: &CheckpointJournal, network: Network) -> Ticket {
        let mut books = self.0.lock().unwrap();
        let record = Record::Network(Box::new(network.clone()));
        let book = books.entry(network.name.clone()).or_insert_with(|| Book::new(network));
        put(journal, book, &record)
    }

    /// Gives an owner the next free address; `None` when it has one or there is none.
    pub(super) fn give(&self, journal: &CheckpointJournal, network: u64, owner: &Owner) -> Option<Ticket> {
        let free = self.0.lock().unwrap().get(&name(network))?.free(0, None, Direction::Ascending, 1);
        self.admit(journal, network, owner, *free.first()?, NOW)
    }

    /// Gives an owner this address; `None` when the book refuses.
    pub(super) fn admit(
        &self,
        journal: &CheckpointJournal,
        network: u64,
        owner: &Owner,
        address: IpAddr,
        now: Moment,
    ) -> Option<Ticket> {
        let mut books = self.0.lock().unwrap();
        let book = books.get_mut(&name(network))?;
        let request = Request {
            network: name(network),
            owner: owner.clone(),
            requested: Vec::new(),
            pod: None,
            netns: "/var/run/netns/cni-0f3f6f1e-1111-2222-3333-444455556666".to_owned(),
            netns_seen: None,
            requested_at: now,
        };
        let proposal = Proposal { addresses: vec![(0, address)] };
        let record = Record::Allocate(Arc::new(book.admit(&request, &proposal, &stamp(), now).ok()?));
        Some(put(journal, book, &record))
    }

    /// Frees what an owner has; `None` when it has nothing.
    pub(super) fn release(
        &self,
        journal: &CheckpointJournal,
        network: u64,
        owner: &Owner,
        now: Moment,
    ) -> Option<Ticket> {
        let mut books = self.0.lock().unwrap();
        let book = books.get_mut(&name(network))?;
        let record = book.release(owner, now, "del")?;
        Some(put(journal, book, &record))
    }

    /// Lets an owner ask again for what it has, in another namespace; `None` when it has nothing.
    pub(super) fn renew(
        &self,
        journal: &CheckpointJournal,
        network: u64,
        owner: &Owner,
        now: Moment,
    ) -> Option<Ticket> {
        let mut books = self.0.lock().unwrap();
        let book = books.get_mut(&name(network))?;
        let request = Request {
            network: name(network),
            owner: owner.clone(),
            requested: Vec::new(),
            pod: None,
            netns: "/var/run/netns/cni-0f3f6f1e-aaaa-bbbb-cccc-444455556666".to_owned(),
            netns_seen: None,
            requested_at: now,
        };
        let Repeat::Renews(record) = book.repeat(&request)? else { return None };
        Some(put(journal, book, &record))
    }

    /// Lets what has cooled long enough become free.
    pub(super) fn expire(&self, now: Moment, cooldown: Duration) {
        self.0.lock().unwrap().values_mut().for_each(|book| book.expire(now, cooldown));
    }

    pub(super) fn address_of(&self, network: u64, owner: &Owner) -> Option<IpAddr> {
        let books = self.0.lock().unwrap();
        Some(books.get(&name(network))?.owned_by(owner)?.addresses.first()?.address.addr())
    }
}

fn put(journal: &CheckpointJournal, book: &mut Book, record: &Record) -> Ticket {
    let (place, ticket) = journal.stage(record);
    book.apply(place, record).unwrap();
    assert_eq!(book.through(), place, "the book knows this place already, and took the record for another");
    ticket
}

pub(super) fn images(books: &[Book]) -> BTreeMap<NetworkName, Image> {
    books.iter().map(|book| (book.network().name.clone(), book.image())).collect()
}

/// What has become of a ticket, without waiting.
pub(super) fn answer(ticket: Ticket) -> Option<Result<(), tenure_types::Error>> {
    match pin!(ticket.durable()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

/// A node: a disk, a writer without a thread, and books.
pub(super) struct Node {
    pub(super) writer: Writer,
    pub(super) journal: CheckpointJournal,
    pub(super) memory: Memory,
}

pub(super) fn options(disk: &SimDisk, boot_number: u64) -> Options {
    let mut options =
        Options::new(Arc::new(disk.clone()), Arc::new(Still), Arc::new(Still), boot(boot_number), "node-1");
    options.reserve = 16 << 10;
    options.compact_above = u64::MAX;
    options
}

impl Node {
    /// Starts on what the disk has.
    pub(super) fn start(disk: &SimDisk, boot_number: u64) -> Self {
        Self::start_with(disk, options(disk, boot_number))
    }

    /// Starts one that takes a snapshot when a segment has this length.
    pub(super) fn start_compacting(disk: &SimDisk, compact_above: u64) -> Self {
        Self::start_with(disk, Options { compact_above, ..options(disk, 1) })
    }

    pub(super) fn start_with(disk: &SimDisk, options: Options) -> Self {
        let recovered = recover(disk, &options.boot, NOW).unwrap();
        Self::from(options, recovered)
    }

    pub(super) fn from(options: Options, recovered: Recovered) -> Self {
        let (writer, journal) = Writer::open(options, &recovered);
        Self { writer, journal, memory: Memory::of(recovered.books) }
    }

    /// Steps until nothing is due.
    pub(super) fn settle(&mut self) {
        while self.writer.step(&self.memory) == crate::Progress::Worked {}
    }

    pub(super) fn define(&self, number: u64) -> Ticket {
        self.memory.define(&self.journal, network(number, "10.0.0.0/8", "10.0.0.1", "10.0.3.255"))
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
