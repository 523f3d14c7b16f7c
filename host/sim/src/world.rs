//! One seed's life: runtimes that ask, retry, give up and repeat; a disk that fails; machines that stop and boot.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tenure_checkpoint::sim::{Faults, Mark, SimDisk};
use tenure_checkpoint::{CheckpointJournal, Options, Progress, Writer, recover_after};
use tenure_engine::ports::{Clock, Images};
use tenure_engine::{Abandoned, Add, Del, Engine, Gc, Ports, Settings};
use tenure_fixtures::ports::{ManualClock, Silent, rotation};
use tenure_fixtures::random::Random;
use tenure_ledger::{Book, Choices, Image, Page};
use tenure_types::{
    AssignedAddress, BootId, ContainerId, Error, ErrorCode, InterfaceName, Moment, NetworkConfig,
    NetworkName, Owner, Place, PolicyName, Sandbox,
};

use crate::executor::Executor;
use crate::oracle::{Asked, Oracle};

/// Attachments that ask; more than the /28 has addresses for.
const OWNERS: u64 = 20;
/// The boot clock just after a boot.
const BOOTED: Duration = Duration::from_nanos(1);
/// No two processes begin in one nanosecond.
const TICK: Duration = Duration::from_nanos(1);
const SUBNET: &str = "10.0.0.0/28";
/// The age from which on an ADD is refused because nobody remembers the DELs of its time.
const OLD: Duration = Duration::from_secs(600);

/// What came of a task.
enum Outcome {
    Add(std::result::Result<IpAddr, Error>),
    Del(std::result::Result<(), Error>),
    /// Nobody is told anything by its end: a GC, the freeing of a leak, the task that undoes.
    Other,
}

/// A request under way that its caller waits for.
enum Request {
    Add(Asked),
    Del(Owner, Moment),
}

/// The process: gone with a crash.
struct Daemon {
    engine: Arc<Engine>,
    images: Arc<dyn Images>,
    writer: Writer,
    executor: Executor<Outcome>,
    asked: BTreeMap<u64, Request>,
    /// When its engine began.
    began: Moment,
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
    clock: Arc<ManualClock>,
    mark: Arc<Mark>,
    oracle: Oracle,
    /// How often each container was given another network namespace, as its sandbox died and was made anew.
    sandboxes: BTreeMap<Owner, u64>,
    /// The namespaces that are gone.
    gone: BTreeSet<String>,
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
        let last = self.mark.last();
        let recovered = recover_after(&self.disk, &self.boot(), self.clock.now(), last.as_ref());
        let recovered = recovered.context("recovery stopped")?;
        ensure!(!recovered.report.lost, "the state is taken for lost, which was durable up to {last:?}");
        self.oracle.check(recovered.books.first()).context("after recovery")?;
        let mut options = Options::new(
            Arc::new(self.disk.clone()),
            Arc::clone(&self.clock) as Arc<dyn Clock>,
            Arc::new(Silent),
            self.boot(),
            "sim",
        );
        options.witness = Some(Arc::clone(&self.mark) as _);
        options.reserve = 16 << 10;
        options.compact_above = 4 << 10;
        let (writer, journal) = Writer::open(options, &recovered.tail);
        let (engine, abandoned) = self.engine(recovered.books, recovered.choices, journal);
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
            began: self.clock.now(),
            given_up: Vec::new(),
        })
    }

    fn engine(
        &self,
        books: Vec<Book>,
        choices: Choices,
        journal: CheckpointJournal,
    ) -> (Arc<Engine>, Abandoned) {
        let ports = Ports {
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            catalogue: rotation::catalogue(),
            journal: Arc::new(journal),
            observer: Arc::new(Silent),
        };
        let settings = Settings {
            cooldown: Duration::from_secs(30),
            in_flight: 8,
            queue: 16,
            networks: 4,
            bounds: Arc::default(),
        };
        Engine::new(books, choices, ports, settings)
    }

    fn step(&mut self, mut daemon: Daemon) -> Result<Daemon> {
        match self.random.below(100) {
            0..=19 => self.send_add(&mut daemon)?,
            20..=34 => self.send_del(&mut daemon)?,
            35 => self.send_gc(&mut daemon)?,
            36..=38 => self.abandon(&mut daemon),
            39..=44 => self.clock.advance(Duration::from_millis(1 + self.random.below(20_000))),
            45 => self.end_sandbox()?,
            46 => self.look_for_leaks(&mut daemon),
            47..=64 => _ = daemon.writer.step(daemon.images.as_ref()),
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
            (Some(Request::Add(asked)), Outcome::Add(Ok(address))) => {
                let lives = !self.gone.contains(&asked.netns);
                self.oracle.added(&asked, address, lives)?;
            }
            (Some(Request::Add(asked)), Outcome::Add(Err(error))) => {
                let is_old = self.clock.now().since(asked.began) >= OLD;
                if error.code == ErrorCode::Superseded && !is_old {
                    self.oracle.superseded(&asked, daemon.began)?;
                }
                daemon.given_up.push(asked.owner);
            }
            (Some(Request::Del(owner, began)), Outcome::Del(Ok(()))) => self.oracle.deleted(&owner, began),
            _ => {}
        }
        Ok(true)
    }

    fn owner(&mut self) -> Result<Owner> {
        let container = ContainerId::new(format!("c{}", self.random.below(OWNERS)))?;
        Ok(Owner::Attachment { container, interface: InterfaceName::new("eth0")? })
    }

    /// When a request began: now or, where it is a duplicate or was held up on its way, a while ago.
    fn began(&mut self) -> Moment {
        self.clock.advance(TICK);
        let now = self.clock.now();
        let late = if self.random.below(8) == 0 { self.random.below(5_000_000_000) } else { 0 };
        Moment { boot_ns: now.boot_ns.saturating_sub(late), ..now }
    }

    /// The namespace of a container's sandbox.
    fn netns(&self, owner: &Owner) -> String {
        format!(
            "/run/netns/{owner}-{}-{}",
            self.boots,
            self.sandboxes.get(owner).copied().unwrap_or_default()
        )
    }

    /// A container's sandbox dies. Its runtime makes another one, and its DEL fails.
    fn end_sandbox(&mut self) -> Result<()> {
        let owner = self.owner()?;
        self.gone.insert(self.netns(&owner));
        *self.sandboxes.entry(owner).or_default() += 1;
        Ok(())
    }

    /// Frees what is held in namespaces that are gone, as the daemon does by two witnesses' word.
    fn look_for_leaks(&mut self, daemon: &mut Daemon) {
        let images: Vec<_> = books(daemon).collect();
        for held in images.into_iter().flat_map(|image| image.allocations) {
            if self.gone.contains(held.netns()) {
                self.oracle.may_reap(&held.owner, held.netns());
                let engine = Arc::clone(&daemon.engine);
                daemon.executor.spawn(async move {
                    drop(engine.reap(&held, tenure_types::End::Leak, "").await);
                    Outcome::Other
                });
            }
        }
    }

    fn send_add(&mut self, daemon: &mut Daemon) -> Result<()> {
        let owner = self.owner()?;
        let asked = Asked { netns: self.netns(&owner), began: self.began(), owner };
        self.oracle.add_sent(&asked);
        let add = Add {
            request: tenure_types::Request {
                network: NetworkName::new("net")?,
                owner: asked.owner.clone(),
                requested: Vec::new(),
                sandbox: Sandbox {
                    pod: None,
                    netns: asked.netns.as_str().into(),
                    netns_seen: Some(Place { device: 1, inode: 1 }),
                },
                requested_at: asked.began,
            },
            policy: PolicyName::new("rotation")?,
            config: Arc::new(NetworkConfig { ipam: SUBNET.to_owned(), attributes: Vec::new() }),
        };
        let engine = Arc::clone(&daemon.engine);
        let id = daemon.executor.spawn(async move {
            let grant = engine.add(add, |_| Ok(())).await;
            Outcome::Add(grant.and_then(|grant| {
                let first = grant.addresses.first().map(AssignedAddress::ip);
                first.ok_or_else(|| Error::new(ErrorCode::Internal, "an ADD without an address"))
            }))
        });
        daemon.asked.insert(id, Request::Add(asked));
        Ok(())
    }

    fn send_del(&mut self, daemon: &mut Daemon) -> Result<()> {
        let owner = self.owner()?;
        let began = self.began();
        self.oracle.may_end(&owner, began);
        let del = Del { network: NetworkName::new("net")?, owner: owner.clone(), requested_at: began };
        let engine = Arc::clone(&daemon.engine);
        let id = daemon.executor.spawn(async move { Outcome::Del(engine.del(del).await) });
        daemon.asked.insert(id, Request::Del(owner, began));
        Ok(())
    }

    fn send_gc(&mut self, daemon: &mut Daemon) -> Result<()> {
        let mut valid = HashSet::new();
        let requested_at = self.began();
        for number in 0..OWNERS {
            let container = ContainerId::new(format!("c{number}"))?;
            let interface = InterfaceName::new("eth0")?;
            if self.random.below(3) > 0 {
                valid.insert((container, interface));
            } else {
                self.oracle.may_end(&Owner::Attachment { container, interface }, requested_at);
            }
        }
        let gc = Gc { network: NetworkName::new("net")?, valid, requested_at };
        let engine = Arc::clone(&daemon.engine);
        daemon.executor.spawn(async move {
            drop(engine.gc(gc).await);
            Outcome::Other
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
            if let Some(Request::Add(asked)) = daemon.asked.remove(id) {
                daemon.given_up.push(asked.owner);
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
        let under_way = daemon.asked.values().filter_map(|asked| match asked {
            Request::Add(asked) => Some(&asked.owner),
            Request::Del(..) => None,
        });
        under_way.chain(&daemon.given_up).for_each(|owner| self.oracle.cut_off(owner));
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
        let book = books(&daemon).next().map(Book::restore).transpose()?;
        self.oracle.check_at_rest(book.as_ref()).context("at rest")?;
        drop(daemon);
        self.disk.crash();
        self.start().map(drop).context("at the end")
    }
}

/// Every book, as data.
fn books(daemon: &Daemon) -> impl Iterator<Item = Image> {
    daemon.images.pages(1).filter_map(|page| match page {
        Page::Book(image) => Some(*image),
        Page::Gone { .. } | Page::Choices(_) => None,
    })
}
