//! The run of one seed: runtimes that send, retry, abandon and repeat requests; operators that change networks; a
//! host that supplies ranges; a disk that fails; machines that lose power and reboot.

mod agents;
mod effects;
mod operators;
mod runtimes;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tenure_checkpoint::sim::{Faults, Mark, SimDisk};
use tenure_checkpoint::{CheckpointJournal, Options, Recovered, Writer, WriterProgress, recover_with};
use tenure_engine::ports::Clock;
use tenure_engine::{Abandoned, Attending, Engine, Planned, Ports, Settings};
use tenure_fixtures::ports::{ManualClock, NoLinks, Silent, restored, settings};
use tenure_fixtures::random::Random;
use tenure_types::{AgentName, BootId, Error, Moment, NetworkName};

use self::agents::{AgentRequest, Answer};
use self::effects::{BegunEffects, Cloud};
use crate::beside::{All, Beside, Shared, WithBeside};
use crate::executor::Executor;
use crate::foreign::Foreign;
use crate::oracle::{AddRequest, HeldAllocation, Key, Oracle, Picture, RESERVED, Whole};
use crate::policies;

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
    /// An agent was answered.
    Agent(Answer),
    /// A plan was made.
    Planned(std::result::Result<Planned, Error>),
    /// The end of a task that reports nothing: a GC, the freeing of a leak, the undo task.
    Other,
}

/// A request in progress that its caller waits for.
enum Request {
    Add(AddRequest),
    Del(Key, Moment),
    /// The removal of a network, and what was held in it when the request was sent.
    Remove(NetworkName, Vec<(Key, HeldAllocation)>),
    Change(NetworkName),
    /// A plan about a block of a network.
    Plan(NetworkName, usize),
    /// A request of an agent.
    Agent(AgentRequest),
    /// The end of claims whose agents are gone, which nobody abandons.
    Lapse,
    /// The work beside the requests, which nobody abandons.
    Tend,
    /// The delegate takes back what no one abandons.
    Tidy,
}

/// The daemon's process; lost in a crash.
struct Daemon {
    engine: Arc<Engine>,
    source: All,
    writer: Writer,
    executor: Executor<Outcome>,
    asked: BTreeMap<u64, Request>,
    /// The start of its engine.
    began: Moment,
    /// The owners of abandoned or failed ADDs, which may not be undone yet when the process ends.
    given_up: Vec<Key>,
    /// The executors of the networks; until the end, requests wait for supply.
    attending: Vec<Attending>,
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
    /// Intents that have begun.
    pub(crate) planned: u64,
    /// Declarations that were carried out.
    pub(crate) declared: u64,
    pub(crate) rolled_back: u64,
    /// How many addresses in use were found at the delegate.
    pub(crate) delegated: u64,
}

struct World {
    random: Random,
    disk: SimDisk,
    clock: Arc<ManualClock>,
    mark: Arc<Mark>,
    oracle: Oracle,
    foreign: Foreign,
    /// How often each container's sandbox died and was recreated with another network namespace.
    sandboxes: BTreeMap<Key, u64>,
    /// The namespaces that no longer exist.
    gone: BTreeSet<String>,
    /// The networks that an operator is emptying, with the number of steps until their removal.
    leaving: BTreeMap<NetworkName, u64>,
    /// The claims as agents that watch theirs know them.
    pictures: BTreeMap<AgentName, Picture>,
    /// The executor of effects, and the effects that it began.
    cloud: Arc<Cloud>,
    told: BegunEffects,
    boots: u64,
    tally: Tally,
}

/// The networks.
fn names() -> Result<[NetworkName; 2]> {
    Ok([NetworkName::new("net")?, NetworkName::new("blue")?])
}

/// Attends to all networks.
fn attend(engine: &Engine) -> Result<Vec<Attending>> {
    Ok(names()?.iter().map(|network| engine.attend(network)).collect())
}

/// The boot clock when the daemon starts for the first time after a boot.
fn booted(random: &mut Random) -> Duration {
    Duration::from_nanos(1 + random.below(1_000_000))
}

/// Runs one seed.
///
/// # Errors
/// The broken promise, and how it was broken.
pub(crate) fn live(seed: u64, steps: u64) -> Result<Tally> {
    let mut random = Random::new(seed);
    let disk = SimDisk::new(random.below(u64::MAX));
    let clock = Arc::new(ManualClock::default());
    clock.set(booted(&mut random));
    let oracle = Oracle::default();
    let foreign = Foreign::new(&mut random);
    let mut world = World {
        random,
        disk,
        clock,
        mark: Arc::default(),
        oracle,
        foreign,
        sandboxes: BTreeMap::new(),
        gone: BTreeSet::new(),
        leaving: BTreeMap::new(),
        pictures: BTreeMap::new(),
        cloud: Arc::default(),
        told: BegunEffects::default(),
        boots: 1,
        tally: Tally::default(),
    };
    let mut daemon = world.start()?;
    for step in 0..steps {
        daemon = world.step(daemon).with_context(|| format!("at step {step}"))?;
    }
    world.settle(daemon)?;
    world.tally.replies = world.oracle.replies;
    world.tally.rolled_back = world.oracle.rolled_back;
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
        self.oracle.check(&recovered.state).context("after recovery")?;
        beside.check(&recovered).context("after recovery")?;
        self.foreign.restarted();
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
        self.oracle.claims.started(self.clock.now());
        let mut executor = Executor::new();
        executor.spawn(async move {
            Abandoned::run(abandoned).await;
            Outcome::Other
        });
        let daemon = Daemon {
            attending: attend(&engine)?,
            source: All { images: engine.images(), beside },
            engine,
            writer,
            executor,
            asked: BTreeMap::new(),
            began: self.clock.now(),
            given_up: Vec::new(),
        };
        self.check_intents(&daemon).context("after recovery")?;
        Ok(daemon)
    }

    fn engine(
        &self,
        recovered: Recovered,
        journal: CheckpointJournal,
        beside: &Shared,
    ) -> (Arc<Engine>, Abandoned) {
        let ports = Ports {
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            catalogue: Arc::new(policies::SimCatalogue(self.foreign.clone())),
            journal: Arc::new(WithBeside { journal, beside: beside.clone() }),
            links: Arc::new(NoLinks),
            observer: Arc::new(Silent),
        };
        let settings = Settings { in_flight: 8, queue: 16, networks: 4, reserved: RESERVED, ..settings() };
        Engine::new(recovered.state, ports, settings)
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
            45 if self.random.below(4) == 0 => self.rest(&mut daemon)?,
            45 => self.end_sandbox()?,
            46 => self.look_for_leaks(&mut daemon)?,
            47..=52 => self.send_of_agent(&mut daemon)?,
            53..=64 => return self.write(daemon),
            65 => self.bother_the_disk(),
            66 if self.random.below(6) == 0 => return self.crash(daemon),
            66 => self.send_tend(&mut daemon)?,
            67 => self.foreign.go_on(),
            68 => Self::send_tidy(&mut daemon),
            69 => self.carry_out(&mut daemon)?,
            _ => _ = self.run_one(&mut daemon)?,
        }
        if self.disk.is_stopped() { self.crash(daemon) } else { Ok(daemon) }
    }

    /// The writer does what is due. It has a thread of its own, so it may have looked before the latest groups were staged.
    fn write(&mut self, mut daemon: Daemon) -> Result<Daemon> {
        if self.random.below(3) > 0 {
            daemon.writer.step(&daemon.source);
        } else {
            let most = usize::try_from(self.random.below(6))?;
            daemon.writer.step_early(&daemon.source, most);
            // That is when a crash would separate what belongs together.
            if self.random.below(10) == 0 {
                return self.crash(daemon);
            }
        }
        if self.disk.is_stopped() { self.crash(daemon) } else { Ok(daemon) }
    }

    fn run_one(&mut self, daemon: &mut Daemon) -> Result<bool> {
        if daemon.asked.values().any(|request| matches!(request, Request::Lapse)) {
            self.oracle.claims.lapsing(self.clock.now());
        }
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
                // What it did to the others, it does not say.
                names()?.iter().for_each(|network| self.oracle.ended(id, network, false));
            }
            (Some(Request::Plan(network, number)), Outcome::Planned(planned)) => {
                self.planned(id, &network, number, planned)?;
            }
            (Some(Request::Agent(asked)), Outcome::Agent(answer)) => {
                self.agent_answered(id, &asked, answer)?;
            }
            (Some(Request::Tend), _) => {
                // It says nothing about what it did.
                names()?.iter().for_each(|network| self.oracle.ended(id, network, false));
            }
            _ => {}
        }
        Ok(true)
    }

    fn network(&mut self) -> Result<NetworkName> {
        let [net, blue] = names()?;
        Ok(if self.random.below(4) == 0 { blue } else { net })
    }

    /// Returns the time at which a request began: now or, for a duplicate or a delayed request, a while ago.
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
            Request::Del(..) | Request::Remove(..) | Request::Change(_) | Request::Plan(..) => None,
            Request::Agent(_) | Request::Lapse | Request::Tend | Request::Tidy => None,
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
                let booted = booted(&mut self.random);
                self.clock.set(booted);
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
            // Who still waits for supply is refused.
            daemon.attending.clear();
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
        let state = restored(daemon.source.images.pages(1))?;
        self.oracle.check_at_rest(&state).context("at rest")?;
        self.check_pictures(&mut daemon).context("at rest")?;
        self.check_foreign(&mut daemon).context("at rest")?;
        drop(daemon);
        self.disk.crash();
        self.start().map(drop).context("at the end")
    }

    /// Lets every request end, and checks what agents have been told by then.
    fn rest(&mut self, daemon: &mut Daemon) -> Result<()> {
        self.disk.set_faults(Faults::default());
        self.disk.set_capacity(None);
        // Who waits for supply is refused, and may wait again from now on.
        daemon.attending.clear();
        self.come_to_rest(daemon)?;
        daemon.attending = attend(&daemon.engine)?;
        if self.disk.is_stopped() {
            return Ok(());
        }
        ensure!(daemon.asked.is_empty(), "{} requests wait for ever", daemon.asked.len());
        self.check_pictures(daemon).context("while nothing is under way")?;
        self.check_foreign(daemon).context("while nothing is under way")?;
        // No agent would be told about anything else that happens, so a watch that misses this one change is noticed.
        let network = self.network()?;
        self.send_supply(daemon, network)?;
        self.come_to_rest(daemon)?;
        if self.disk.is_stopped() {
            return Ok(());
        }
        self.check_pictures(daemon).context("after a change of the supply alone")
    }

    /// The work beside the requests, which rolls networks back.
    fn send_tend(&mut self, daemon: &mut Daemon) -> Result<()> {
        let engine = Arc::clone(&daemon.engine);
        let id = daemon.executor.spawn(async move {
            engine.tend().await;
            Outcome::Other
        });
        names()?.iter().for_each(|network| self.oracle.change_sent(id, network, Whole::Tend));
        daemon.asked.insert(id, Request::Tend);
        Ok(())
    }

    /// The daemon gives back to the delegate what nobody uses.
    fn send_tidy(daemon: &mut Daemon) {
        let engine = Arc::clone(&daemon.engine);
        let id = daemon.executor.spawn(async move {
            engine.tidy().await;
            Outcome::Other
        });
        daemon.asked.insert(id, Request::Tidy);
    }

    /// Checks that the delegate, once it works, has given what the ledger says, and nothing else.
    fn check_foreign(&mut self, daemon: &mut Daemon) -> Result<()> {
        self.foreign.set_well(true);
        // What could not be given back, or had no place to wait in, is tried again after a while.
        for _ in 0..4 {
            self.clock.advance(Duration::from_secs(61));
            Self::send_tidy(daemon);
            self.come_to_rest(daemon)?;
            if self.disk.is_stopped() {
                return Ok(());
            }
        }
        self.tally.delegated += self.foreign.check(&daemon.engine)? as u64;
        self.foreign.set_well(false);
        Ok(())
    }

    /// Runs tasks and the writer until neither has anything left to do.
    fn come_to_rest(&mut self, daemon: &mut Daemon) -> Result<()> {
        for _ in 0..10_000 {
            let ran = self.run_one(daemon)?;
            let wrote = daemon.writer.step(&daemon.source) == WriterProgress::Worked;
            if !ran && !wrote {
                break;
            }
        }
        Ok(())
    }
}
