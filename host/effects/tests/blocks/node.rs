//! A node whose network gets its blocks from the server, and a crash of all of it. The time is tokio's, which tests pause.

use std::collections::BTreeSet;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tenure_effects::{Config, Executor, Handle, TaskFailure, Timer, Tools};
use tenure_engine::ports::Clock;
use tenure_engine::{Abandoned, Add, Del, Engine, Ports};
use tenure_fixtures::ports::{ManualJournal, NoLinks, Silent, policy, restored, settings};
use tenure_ledger::{Book, LedgerState};
use tenure_types::{
    ContainerId, ErrorCode, InterfaceName, Moment, NetworkConfig, NetworkName, Owner, PolicyName, Request,
    RequestContext, Sandbox,
};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};

use crate::server::Server;
use crate::wing::{Blocks, blocks};

/// Tokio's time since the test began.
#[derive(Clone, Copy)]
struct Time(Instant);

impl Clock for Time {
    fn now(&self) -> Moment {
        let since = self.monotonic();
        let wall_ms = u64::try_from(since.as_millis()).unwrap();
        Moment { boot_ns: u64::try_from(since.as_nanos()).unwrap(), wall_ms }
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed() + Duration::from_secs(1000)
    }
}

impl Timer for Time {
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(sleep(time))
    }
}

pub(crate) struct Node {
    pub(crate) server: Arc<Server>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) handle: Handle<Blocks>,
    pub(crate) task: JoinHandle<TaskFailure>,
    time: Time,
    starts: u64,
    _abandoned: Abandoned,
}

impl Node {
    pub(crate) fn start() -> Self {
        let (server, time) = (Arc::new(Server::default()), Time(Instant::now()));
        let (engine, abandoned) = engine(time, LedgerState::default(), ManualJournal::default());
        let (handle, task) = run(&server, &engine, time, 0);
        Self { server, engine, handle, task, time, starts: 0, _abandoned: abandoned }
    }

    /// The process ends, and another begins with what is durable.
    pub(crate) async fn crash(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
        let state = restored(self.engine.images().pages(1)).unwrap();
        let before = state.books.iter().map(Book::through).chain([state.node.through()]).max();
        let journal = ManualJournal::after(before.unwrap_or_default() + 1000);
        (self.engine, self._abandoned) = engine(self.time, state, journal);
        self.restart();
    }

    /// The executor is started again, as a supervisor does.
    pub(crate) fn restart(&mut self) {
        self.starts += 1;
        (self.handle, self.task) = run(&self.server, &self.engine, self.time, self.starts);
    }

    /// Waits; if the process is killed meanwhile, it is started again.
    pub(crate) async fn rest(&mut self, seconds: u64) {
        let (server, end) = (Arc::clone(&self.server), Instant::now() + Duration::from_secs(seconds));
        while timeout_at(end, server.killed.notified()).await.is_ok() {
            self.crash().await;
        }
    }

    /// Adds a pod, as runtimes do: again and again until it has an address, or until its time is over.
    pub(crate) async fn add(&mut self, pod: u32) -> IpAddr {
        let (server, end) = (Arc::clone(&self.server), Instant::now() + Duration::from_secs(120));
        loop {
            let engine = Arc::clone(&self.engine);
            tokio::select! {
                answer = timeout_at(end, engine.add(self.request(pod), |_| Ok(()))) => match answer.unwrap() {
                    Err(error) if error.code == ErrorCode::NotYet => sleep(Duration::from_millis(500)).await,
                    answer => return answer.unwrap().addresses[0].ip(),
                },
                () = server.killed.notified() => self.crash().await,
            }
        }
    }

    pub(crate) async fn del(&self, pod: u32) {
        // The DEL begins after the ADD.
        sleep(Duration::from_millis(1)).await;
        let requested_at = self.engine.now();
        self.engine.del(Del { network: network(), owner: owner(pod), requested_at }).await.unwrap();
    }

    pub(crate) fn request(&self, pod: u32) -> Add {
        Add {
            request: Request {
                network: network(),
                owner: owner(pod),
                requested: Vec::new(),
                sandbox: Sandbox::default(),
                supply_full: false,
                context: RequestContext::default(),
                requested_at: self.engine.now(),
            },
            policy: PolicyName::new("blocks").unwrap(),
            config: Arc::new(NetworkConfig { ipam: "".into(), attributes: Vec::new() }),
        }
    }

    /// Lets everything come to its end: nothing is under way, and the ledger has the blocks that the server leases; returns them.
    pub(crate) async fn settles(&mut self, words: &str) -> BTreeSet<String> {
        self.rest(600).await;
        let open: Vec<_> = self.engine.intents().iter().map(|intent| intent.kind.name()).collect();
        assert_eq!(open, [""; 0], "{words}: under way");
        let book = self.engine.book(&network()).await.unwrap();
        let ledger: BTreeSet<String> = blocks(&book).into_iter().collect();
        let leased: BTreeSet<String> = self.server.leases().leased.values().cloned().collect();
        assert_eq!(ledger, leased, "{words}: the ledger and the server");
        ledger
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn run(
    server: &Arc<Server>,
    engine: &Arc<Engine>,
    time: Time,
    seed: u64,
) -> (Handle<Blocks>, JoinHandle<TaskFailure>) {
    let tools = Tools::new(Arc::clone(engine), network(), Arc::new(time), Arc::new(time));
    let config = Config { node: "node-1".to_owned(), plan_every: Duration::from_secs(5), seed };
    let executor = Executor::new(tools, Blocks(Arc::clone(server)), config);
    (executor.handle(), tokio::spawn(executor.run()))
}

fn engine(time: Time, state: LedgerState, journal: ManualJournal) -> (Arc<Engine>, Abandoned) {
    let ports = Ports {
        clock: Arc::new(time),
        catalogue: policy::catalogue(),
        journal: Arc::new(journal),
        observer: Arc::new(Silent),
        links: Arc::new(NoLinks),
    };
    Engine::new(state, ports, settings())
}

pub(crate) fn network() -> NetworkName {
    NetworkName::new("pods").unwrap()
}

fn owner(pod: u32) -> Owner {
    Owner::Attachment {
        container: ContainerId::new(format!("c{pod}")).unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
    }
}
