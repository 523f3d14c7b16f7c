//! One seed's life: runtimes that ask, retry, give up and repeat; a disk that fails; machines that stop and boot.

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tenure_checkpoint::sim::{Faults, Random, SimDisk};
use tenure_checkpoint::{CheckpointJournal, Options, Progress, Writer, recover};
use tenure_engine::ports::{Clock, Images};
use tenure_engine::{Abandoned, Add, Del, Engine, Gc, Ports, Settings};
use tenure_types::{
    BootId, ContainerId, Error, InterfaceName, Moment, NetworkConfig, NetworkName, Owner, PolicyName, Request,
};

use crate::executor::Executor;
use crate::oracle::Oracle;
use crate::parts::{OnePolicy, Refusals, SimClock};

/// Attachments that ask; more than the /28 has addresses for.
const OWNERS: u64 = 20;
const SUBNET: &str = "10.0.0.0/28";

/// What came of a task.
enum Outcome {
    Add(std::result::Result<IpAddr, Error>),
    Del(std::result::Result<(), Error>),
    /// A GC that may have ended what these owners held.
    Gc(Vec<Owner>),
    /// The task that undoes.
    Other,
}

/// A request under way.
struct Asked {
    owner: Owner,
    began: Moment,
    /// What had happened to this owner when it was sent; it is current while nothing has since.
    number: u64,
    /// Whether it may end what the owner holds.
    ends: bool,
    /// Whether it is an ADD.
    adds: bool,
}

/// The process: gone with a crash.
struct Daemon {
    engine: Arc<Engine>,
    images: Arc<dyn Images>,
    writer: Writer,
    executor: Executor<Outcome>,
    asked: BTreeMap<u64, Asked>,
    /// Whose ADDs were given up or failed: a process that ends may not have undone them yet.
    given_up: Vec<Owner>,
}

/// What one seed did, for the summary.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) replies: u64,
    pub(crate) crashes: u64,
    pub(crate) reboots: u64,
    pub(crate) abandoned: u64,
}

struct World {
    random: Random,
    disk: SimDisk,
    clock: Arc<SimClock>,
    refusals: Arc<Refusals>,
    oracle: Oracle,
    /// How much has happened to each owner: requests that were sent, and ends of those that may end what it holds.
    happened: BTreeMap<Owner, u64>,
    /// How many requests are under way that may end what the owner holds. Next to one of them an ADD's answer says nothing.
    ending: BTreeMap<Owner, u64>,
    boots: u64,
    tally: Tally,
}

/// Lives one seed.
///
/// # Errors
/// Which promise was broken, and how.
pub(crate) fn live(seed: u64, steps: u64) -> Result<Tally> {
    let mut random = Random::new(seed);
    let disk = SimDisk::new(random.below(u64::MAX));
    let clock = Arc::new(SimClock::default());
    clock.boot();
    let refusals = Arc::new(Refusals::default());
    let oracle = Oracle::default();
    let mut world = World {
        random,
        disk,
        clock,
        refusals,
        oracle,
        happened: BTreeMap::new(),
        ending: BTreeMap::new(),
        boots: 1,
        tally: Tally::default(),
    };
    let mut daemon = world.start()?;
    for step in 0..steps {
        daemon = world.step(daemon).with_context(|| format!("at step {step}"))?;
    }
    world.settle(daemon)?;
    world.tally.replies = world.oracle.replies;
    Ok(world.tally)
}

impl World {
    fn boot(&self) -> BootId {
        BootId(format!("boot-{}", self.boots))
    }

    /// Recovers, and holds what was recovered against what was answered.
    fn start(&mut self) -> Result<Daemon> {
        // A start on a disk that fails is tried again by whoever starts daemons; here the disk rests meanwhile.
        self.disk.set_faults(Faults::default());
        let recovered = recover(&self.disk, &self.boot(), self.clock.now()).context("recovery stopped")?;
        self.oracle.check(recovered.books.first()).context("after recovery")?;
        let mut options = Options::new(
            Arc::new(self.disk.clone()),
            Arc::clone(&self.clock) as Arc<dyn Clock>,
            Arc::clone(&self.refusals) as _,
            self.boot(),
            "sim",
        );
        options.reserve = 16 << 10;
        options.compact_above = 4 << 10;
        let (writer, journal) = Writer::open(options, &recovered);
        let (engine, abandoned) = self.engine(recovered.books, journal);
        let mut executor = Executor::new();
        executor.spawn(async move {
            Abandoned::run(abandoned).await;
            Outcome::Other
        });
        Ok(Daemon {
            images: engine.images(),
            engine,
            writer,
            executor,
            asked: BTreeMap::new(),
            given_up: Vec::new(),
        })
    }

    fn engine(
        &self,
        books: Vec<tenure_ledger::Book>,
        journal: CheckpointJournal,
    ) -> (Arc<Engine>, Abandoned) {
        let ports = Ports {
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            catalogue: Arc::new(OnePolicy),
            journal: Arc::new(journal),
            observer: Arc::clone(&self.refusals) as _,
        };
        let settings = Settings { cooldown: Duration::from_secs(30), in_flight: 8, queue: 16 };
        Engine::new(books, ports, settings)
    }

    fn step(&mut self, mut daemon: Daemon) -> Result<Daemon> {
        match self.random.below(100) {
            0..=19 => self.send_add(&mut daemon)?,
            20..=34 => self.send_del(&mut daemon)?,
            35 => self.send_gc(&mut daemon)?,
            36..=38 => self.abandon(&mut daemon),
            39..=44 => self.clock.advance(1 + self.random.below(20_000)),
            45..=64 => _ = daemon.writer.step(daemon.images.as_ref()),
            65 => self.bother_the_disk(),
            66 if self.random.below(6) == 0 => return self.crash(daemon),
            66 => {}
            _ => _ = self.run_one(&mut daemon)?,
        }
        if self.disk.is_stopped() { self.crash(daemon) } else { Ok(daemon) }
    }

    fn run_one(&mut self, daemon: &mut Daemon) -> Result<bool> {
        let Some(ended) = daemon.executor.step(&mut self.random) else { return Ok(false) };
        let Some((id, outcome)) = ended else { return Ok(true) };
        if let Outcome::Gc(owners) = &outcome {
            owners.iter().for_each(|owner| self.ended(owner));
        }
        let Some(asked) = daemon.asked.remove(&id) else { return Ok(true) };
        let current = self.happened.get(&asked.owner) == Some(&asked.number);
        let contested = self.ending.get(&asked.owner).is_some_and(|under_way| *under_way > 0);
        if asked.ends {
            self.ended(&asked.owner);
        }
        match outcome {
            Outcome::Add(Ok(address)) => self.oracle.added(&asked.owner, address, current && !contested)?,
            Outcome::Del(Ok(())) => self.oracle.deleted(&asked.owner, asked.began, current),
            Outcome::Add(Err(_)) => daemon.given_up.push(asked.owner),
            Outcome::Del(Err(_)) | Outcome::Gc(_) | Outcome::Other => {}
        }
        Ok(true)
    }

    fn owner(&mut self) -> Result<Owner> {
        let container = ContainerId::new(format!("c{}", self.random.below(OWNERS)))?;
        Ok(Owner::Attachment { container, interface: InterfaceName::new("eth0")? })
    }

    /// When a request began: now or, where it is a duplicate or was held up on its way, a while ago.
    fn began(&mut self) -> Moment {
        let now = self.clock.now();
        let late = if self.random.below(8) == 0 { self.random.below(5_000) } else { 0 };
        Moment { boot_ms: now.boot_ms.saturating_sub(late), ..now }
    }

    /// Counts a request as sent.
    fn ask(&mut self, owner: &Owner, began: Moment, ends: bool) -> Asked {
        let number = self.happens(owner);
        if ends {
            *self.ending.entry(owner.clone()).or_default() += 1;
            self.oracle.may_end(owner, began);
        }
        Asked { owner: owner.clone(), began, number, ends, adds: false }
    }

    fn happens(&mut self, owner: &Owner) -> u64 {
        let happened = self.happened.entry(owner.clone()).or_default();
        *happened += 1;
        *happened
    }

    /// A request that may have ended what the owner held is answered or given up.
    fn ended(&mut self, owner: &Owner) {
        self.happens(owner);
        if let Some(under_way) = self.ending.get_mut(owner) {
            *under_way -= 1;
        }
    }

    fn send_add(&mut self, daemon: &mut Daemon) -> Result<()> {
        let owner = self.owner()?;
        let began = self.began();
        let mut asked = self.ask(&owner, began, false);
        asked.adds = true;
        self.oracle.add_sent(&owner, asked.began, self.clock.now());
        let add = Add {
            request: Request {
                network: NetworkName::new("net")?,
                owner,
                requested: Vec::new(),
                pod: None,
                netns: String::new(),
                requested_at: asked.began,
            },
            policy: PolicyName::new("rotation")?,
            config: NetworkConfig { ipam: SUBNET.to_owned(), attributes: Vec::new() },
        };
        let engine = Arc::clone(&daemon.engine);
        let id = daemon.executor.spawn(async move {
            let grant = engine.add(add, |_| Ok(())).await;
            Outcome::Add(grant.and_then(|grant| {
                let first = grant.addresses.first().map(|address| address.address.addr());
                first
                    .ok_or_else(|| Error::new(tenure_types::ErrorCode::Internal, "an ADD without an address"))
            }))
        });
        daemon.asked.insert(id, asked);
        Ok(())
    }

    fn send_del(&mut self, daemon: &mut Daemon) -> Result<()> {
        let owner = self.owner()?;
        let began = self.began();
        let asked = self.ask(&owner, began, true);
        let del = Del { network: NetworkName::new("net")?, owner, requested_at: asked.began };
        let engine = Arc::clone(&daemon.engine);
        let id = daemon.executor.spawn(async move { Outcome::Del(engine.del(del).await) });
        daemon.asked.insert(id, asked);
        Ok(())
    }

    fn send_gc(&mut self, daemon: &mut Daemon) -> Result<()> {
        let (mut valid, mut gone) = (HashSet::new(), Vec::new());
        let requested_at = self.clock.now();
        for number in 0..OWNERS {
            let container = ContainerId::new(format!("c{number}"))?;
            let interface = InterfaceName::new("eth0")?;
            if self.random.below(3) > 0 {
                valid.insert((container, interface));
            } else {
                let owner = Owner::Attachment { container, interface };
                self.ask(&owner, requested_at, true);
                gone.push(owner);
            }
        }
        let gc = Gc { network: NetworkName::new("net")?, valid, requested_at };
        let engine = Arc::clone(&daemon.engine);
        daemon.executor.spawn(async move {
            drop(engine.gc(gc).await);
            Outcome::Gc(gone)
        });
        Ok(())
    }

    /// A caller goes away. The task that undoes was spawned first and stays.
    fn abandon(&mut self, daemon: &mut Daemon) {
        let ids: Vec<u64> = daemon.asked.keys().copied().collect();
        let pick = usize::try_from(self.random.below(ids.len().max(1) as u64)).unwrap_or_default();
        if let Some(id) = ids.get(pick) {
            self.tally.abandoned += 1;
            daemon.executor.cancel(*id);
            match daemon.asked.remove(id) {
                Some(asked) if asked.ends => self.ended(&asked.owner),
                Some(asked) if asked.adds => daemon.given_up.push(asked.owner),
                _ => {}
            }
        }
    }

    fn bother_the_disk(&mut self) {
        match self.random.below(4) {
            0 => self.disk.set_faults(Faults { sync: 100, append: 50, name: 20 }),
            1 => self.disk.set_faults(Faults::default()),
            2 => {
                let room = self.disk.used() + self.random.below(48 << 10);
                self.disk.set_capacity((self.random.below(2) == 0).then_some(room));
            }
            _ => self.disk.stop_after(self.random.below(30)),
        }
    }

    /// The process is killed, the machine stops, or it boots.
    fn crash(&mut self, daemon: Daemon) -> Result<Daemon> {
        let under_way = daemon.asked.values().filter(|asked| asked.adds).map(|asked| &asked.owner);
        under_way.chain(&daemon.given_up).for_each(|owner| self.oracle.cut_off(owner));
        drop(daemon);
        self.tally.crashes += 1;
        // No process is there again in the millisecond in which another has ended.
        self.clock.advance(1);
        self.disk.set_capacity(None);
        // What was under way has come to its end, one way or the other, and no answer will come.
        self.ending.clear();
        match self.random.below(4) {
            0 => self.disk.kill(),
            3 => {
                self.disk.crash();
                self.tally.reboots += 1;
                self.boots += 1;
                self.clock.boot();
                self.oracle.rebooted();
            }
            // The machine stopped, and its clock of this boot goes on: power that came back to a suspended one.
            _ => self.disk.crash(),
        }
        self.start()
    }

    /// Lets everything come to rest on a disk that works: every request ends, and the book says what was answered.
    fn settle(&mut self, mut daemon: Daemon) -> Result<()> {
        self.disk.set_faults(Faults::default());
        self.disk.set_capacity(None);
        for _ in 0..10_000 {
            let ran = self.run_one(&mut daemon)?;
            let wrote = daemon.writer.step(daemon.images.as_ref()) == Progress::Worked;
            if !ran && !wrote {
                break;
            }
        }
        ensure!(daemon.asked.is_empty(), "{} requests never ended", daemon.asked.len());
        ensure!(daemon.executor.ids().len() == 1, "a task beside the one that undoes never ended");
        let book = daemon.images.networks().first().and_then(|name| daemon.images.image(name));
        let book = book.map(tenure_ledger::Book::restore).transpose()?;
        self.oracle.check_at_rest(book.as_ref()).context("at rest")?;
        drop(daemon);
        self.disk.crash();
        self.start().map(drop).context("at the end")
    }
}
