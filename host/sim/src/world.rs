//! The run of one seed: runtimes that send, retry, abandon and repeat requests; operators that change networks; a
//! host that supplies ranges; a disk that fails; machines that lose power and reboot.

mod operators;
mod runtimes;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tenure_checkpoint::sim::{Faults, Mark, SimDisk};
use tenure_checkpoint::{CheckpointJournal, Options, Progress, Recovered, Writer, recover_with};
use tenure_engine::ports::Clock;
use tenure_engine::{Abandoned, Engine, Ports, Settings};
use tenure_fixtures::ports::{ManualClock, Silent};
use tenure_fixtures::random::Random;
use tenure_ledger::{Book, Choices, Page};
use tenure_types::{BootId, Error, Moment, NetworkName};

use crate::beside::{All, Beside, Shared, WithBeside};
use crate::executor::Executor;
use crate::oracle::{Asked, Held, Key, Oracle};
use crate::policies;

/// The boot clock right after a boot.
const BOOTED: Duration = Duration::from_nanos(1);

/// The boot clock advances by this before each request and each start, so that no two begin at the same time.
const TICK: Duration = Duration::from_nanos(1);

/// The outcome of a task.
enum Outcome {
    Add(std::result::Result<Vec<IpAddr>, Error>),
    Del(std::result::Result<(), Error>),
    /// A network was removed; `false` if there was none.
    Removed(std::result::Result<bool, Error>),
    /// A network was changed in another way.
    Changed(std::result::Result<(), Error>),
    /// The end of a task that reports nothing: a GC, the freeing of a leak, the undo task.
    Other,
}

/// A request in progress that its caller waits for.
enum Request {
    Add(Asked),
    Del(Key, Moment),
    /// The removal of a network, and what was held in it when the request was sent.
    Remove(NetworkName, Vec<(Key, Held)>),
    Change(NetworkName),
}

/// The daemon's process; lost in a crash.
struct Daemon {
    engine: Arc<Engine>,
    source: All,
    writer: Writer,
    executor: Executor<Outcome>,
    asked: BTreeMap<u64, Request>,
    /// When its engine started.
    began: Moment,
    /// The owners of abandoned or failed ADDs, which may not be undone yet when the process ends.
    given_up: Vec<Key>,
}

/// The counts of one seed, for the summary.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) replies: u64,
    pub(crate) crashes: u64,
    pub(crate) reboots: u64,
    pub(crate) abandoned: u64,
    pub(crate) removed: u64,
    pub(crate) changed: u64,
}

struct World {
    random: Random,
    disk: SimDisk,
    clock: Arc<ManualClock>,
    mark: Arc<Mark>,
    oracle: Oracle,
    /// How often each container's sandbox died and was recreated with another network namespace.
    sandboxes: BTreeMap<Key, u64>,
    /// The namespaces that no longer exist.
    gone: BTreeSet<String>,
    /// The networks that an operator is emptying, with the number of steps until their removal.
    leaving: BTreeMap<NetworkName, u64>,
    boots: u64,
    tally: Tally,
}

/// Runs one seed.
///
/// # Errors
/// The broken promise, and how it was broken.
pub(crate) fn live(seed: u64, steps: u64) -> Result<Tally> {
    let mut random = Random::new(seed);
    let disk = SimDisk::new(random.below(u64::MAX));
    let clock = Arc::new(ManualClock::default());
    clock.set(BOOTED);
    let oracle = Oracle::default();
    let mut world = World {
        random,
        disk,
        clock,
        mark: Arc::default(),
        oracle,
        sandboxes: BTreeMap::new(),
        gone: BTreeSet::new(),
        leaving: BTreeMap::new(),
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

    /// Recovers, and checks the recovered state against all answers.
    fn start(&mut self) -> Result<Daemon> {
        // The service manager retries a start on a failing disk; to keep it simple, the disk does not fail during
        // recovery here.
        self.disk.set_faults(Faults::default());
        let last = self.mark.last();
        let mut beside = Beside::default();
        let (boot, now) = (self.boot(), self.clock.now());
        let recovered = recover_with(&self.disk, &boot, now, last.as_ref(), &mut [&mut beside]);
        let recovered = recovered.context("recovery stopped")?;
        ensure!(
            !recovered.report.lost,
            "recovery reports the state as lost, but it was durable up to {last:?}"
        );
        self.oracle.check(&recovered.books, &recovered.choices).context("after recovery")?;
        beside.check(&recovered).context("after recovery")?;
        let mut options = Options::new(
            Arc::new(self.disk.clone()),
            Arc::clone(&self.clock) as Arc<dyn Clock>,
            Arc::new(Silent),
            boot,
            "sim",
        );
        options.witness = Some(Arc::clone(&self.mark) as _);
        options.reserve = 16 << 10;
        options.compact_above = 4 << 10;
        let (writer, journal) = Writer::open(options, &recovered.tail);
        let beside = Shared::of(beside);
        let (engine, abandoned) = self.engine(recovered, journal, &beside);
        let mut executor = Executor::new();
        executor.spawn(async move {
            Abandoned::run(abandoned).await;
            Outcome::Other
        });
        Ok(Daemon {
            source: All { images: engine.images(), beside },
            engine,
            writer,
            executor,
            asked: BTreeMap::new(),
            began: self.clock.now(),
            given_up: Vec::new(),
        })
    }

    fn engine(
        &self,
        recovered: Recovered,
        journal: CheckpointJournal,
        beside: &Shared,
    ) -> (Arc<Engine>, Abandoned) {
        let ports = Ports {
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            catalogue: policies::catalogue(),
            journal: Arc::new(WithBeside { journal, beside: beside.clone() }),
            observer: Arc::new(Silent),
        };
        let settings = Settings {
            cooldown: Duration::from_secs(30),
            in_flight: 8,
            queue: 16,
            networks: 4,
            bounds: Arc::default(),
            exchange: tenure_engine::ExchangeSettings::default(),
        };
        let state = tenure_engine::Recovered {
            books: recovered.books,
            choices: recovered.choices,
            components: recovered.components,
        };
        Engine::new(state, ports, settings)
    }

    fn step(&mut self, mut daemon: Daemon) -> Result<Daemon> {
        self.end_leaving(&mut daemon)?;
        match self.random.below(100) {
            0..=19 => self.send_add(&mut daemon)?,
            20..=34 => self.send_del(&mut daemon)?,
            35 => self.send_gc(&mut daemon)?,
            36..=38 => self.abandon(&mut daemon),
            39..=42 => self.clock.advance(Duration::from_millis(1 + self.random.below(20_000))),
            43..=44 => self.operate(&mut daemon)?,
            45 => self.end_sandbox()?,
            46 => self.look_for_leaks(&mut daemon)?,
            47..=64 => _ = daemon.writer.step(&daemon.source),
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
        match (daemon.asked.remove(&id), outcome) {
            (Some(Request::Add(asked)), Outcome::Add(outcome)) => {
                self.add_ended(daemon, id, &asked, outcome)?;
            }
            (Some(Request::Del(key, began)), Outcome::Del(Ok(()))) => self.oracle.deleted(&key, began),
            (Some(Request::Remove(network, holders)), Outcome::Removed(outcome)) => match outcome {
                Ok(true) => {
                    self.tally.removed += 1;
                    self.oracle.removed(id, &network, &holders)?;
                }
                Ok(false) => self.oracle.none_to_remove(id, &network)?,
                Err(_) => self.oracle.ended(id, &network, false),
            },
            (Some(Request::Change(network)), Outcome::Changed(outcome)) => {
                self.tally.changed += u64::from(outcome.is_ok());
                self.oracle.ended(id, &network, outcome.is_ok());
            }
            _ => {}
        }
        Ok(true)
    }

    fn network(&mut self) -> Result<NetworkName> {
        Ok(NetworkName::new(if self.random.below(4) == 0 { "blue" } else { "net" })?)
    }

    /// When a request began: now or, for a duplicate or a delayed request, a while ago.
    fn began(&mut self) -> Moment {
        self.clock.advance(TICK);
        let now = self.clock.now();
        let late = if self.random.below(8) == 0 { self.random.below(5_000_000_000) } else { 0 };
        Moment { boot_ns: now.boot_ns.saturating_sub(late), ..now }
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

    /// The process is killed, the machine loses power, or the machine reboots.
    fn crash(&mut self, daemon: Daemon) -> Result<Daemon> {
        let under_way = daemon.asked.values().filter_map(|asked| match asked {
            Request::Add(asked) => Some(asked.key()),
            Request::Del(..) | Request::Remove(..) | Request::Change(_) => None,
        });
        let under_way: Vec<Key> = under_way.chain(daemon.given_up.iter().cloned()).collect();
        self.oracle.cut_off(&under_way);
        drop(daemon);
        self.tally.crashes += 1;
        self.clock.advance(TICK);
        self.disk.set_capacity(None);
        match self.random.below(4) {
            0 => self.disk.kill(),
            3 => {
                self.disk.crash();
                self.tally.reboots += 1;
                self.boots += 1;
                self.clock.set(BOOTED);
                self.oracle.rebooted();
            }
            // The disk loses unsynced writes, but the boot and its clock continue.
            _ => self.disk.crash(),
        }
        self.start()
    }

    /// Lets every request end on a working disk, then checks the state against all answers.
    fn settle(&mut self, mut daemon: Daemon) -> Result<()> {
        loop {
            self.disk.set_faults(Faults::default());
            self.disk.set_capacity(None);
            self.come_to_rest(&mut daemon)?;
            if !self.disk.is_stopped() {
                break;
            }
            // Facts that the stopped disk has not stored were never acknowledged, so only the next process can come
            // to rest.
            daemon = self.crash(daemon)?;
        }
        ensure!(daemon.asked.is_empty(), "{} requests never ended", daemon.asked.len());
        ensure!(daemon.executor.ids().len() == 1, "a task other than the undo task never ended");
        let (books, choices) = state(&daemon)?;
        self.oracle.check_at_rest(&books, &choices).context("at rest")?;
        drop(daemon);
        self.disk.crash();
        self.start().map(drop).context("at the end")
    }

    /// Runs tasks and the writer until neither has anything left to do.
    fn come_to_rest(&mut self, daemon: &mut Daemon) -> Result<()> {
        for _ in 0..10_000 {
            let ran = self.run_one(daemon)?;
            let wrote = daemon.writer.step(&daemon.source) == Progress::Worked;
            if !ran && !wrote {
                break;
            }
        }
        Ok(())
    }
}

/// The state in memory.
fn state(daemon: &Daemon) -> Result<(Vec<Book>, Choices)> {
    let (mut books, mut choices) = (Vec::new(), Choices::default());
    for page in daemon.source.images.pages(1) {
        match page {
            Page::Book(image) => books.push(Book::restore(*image)?),
            Page::Choices(known) => choices = known,
            Page::Gone { .. } | Page::Components(_) => {}
        }
    }
    Ok((books, choices))
}
