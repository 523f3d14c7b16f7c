//! A node: the engine, an executor, pods, and a crash of all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ipnet::IpNet;
use tenure_aws::executor::{Config, Executor, Handle, Parts, TaskFailure, Timer};
use tenure_aws::port::InstanceLimits;
use tenure_aws::witness::UseWitness;
use tenure_ec2_double::state::{Interface, Status};
use tenure_engine::ports::{Clock, Journal};
use tenure_engine::{Abandoned, Add, Define, Del, Engine, Ports};
use tenure_fixtures::ports::{ManualJournal, NoLinks, Silent, restored, settings};
use tenure_ledger::{Book, LedgerState};
use tenure_types::{
    ContainerId, Definer, Error, ErrorCode, InterfaceName, Moment, NetworkConfig, NetworkName, Owner,
    PolicyName, Request, RequestContext, Sandbox,
};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::cloud::{Cloud, Face, limits};
use crate::metadata::{self, Metadata};
use crate::policy;

/// The time of the cloud.
struct Time(Arc<Cloud>);

impl Clock for Time {
    fn now(&self) -> Moment {
        let wall_ms = self.0.now().millis();
        Moment { boot_ns: wall_ms * 1_000_000, wall_ms }
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.now().millis())
    }
}

impl Timer for Time {
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(sleep(time))
    }
}

/// The kernel and the runtime: they name the pods' addresses, or nobody knows.
#[derive(Default)]
pub(crate) struct Routes {
    pub(crate) pods: Mutex<BTreeSet<IpAddr>>,
    pub(crate) unknown: Mutex<Option<String>>,
    /// The account and the instance whose links the kernel has; without them, nobody knows the links.
    pub(crate) links: Mutex<Option<(Arc<Cloud>, String)>>,
}

impl UseWitness for Routes {
    fn named(&self, net: IpNet) -> Result<Vec<(IpAddr, String)>, String> {
        if let Some(why) = self.unknown.lock().unwrap().clone() {
            return Err(why);
        }
        let pods = self.pods.lock().unwrap();
        let named = pods.iter().filter(|pod| net.contains(*pod));
        Ok(named.map(|pod| (*pod, format!("a route to {pod}"))).collect())
    }

    fn has_link(&self, mac: &str) -> Option<bool> {
        let links = self.links.lock().unwrap();
        let (cloud, instance) = links.as_ref()?;
        let inner = cloud.inner();
        let is_here = |known: &&Arc<Interface>| known.status == Status::InUse && known.is_on(instance);
        Some(inner.state.interfaces().all().filter(is_here).any(|known| known.mac == mac))
    }
}

/// A node.
pub(crate) struct Node {
    pub(crate) cloud: Arc<Cloud>,
    pub(crate) instance: String,
    pub(crate) engine: Arc<Engine>,
    pub(crate) journal: Arc<ManualJournal>,
    pub(crate) routes: Arc<Routes>,
    pub(crate) handle: Handle,
    pub(crate) pods: BTreeMap<u32, IpAddr>,
    limits: InstanceLimits,
    pub(crate) config: Arc<NetworkConfig>,
    task: JoinHandle<TaskFailure>,
    /// The task that tells the executor what the metadata service shows, if there is one.
    hints: Option<JoinHandle<()>>,
    starts: u64,
    _abandoned: Abandoned,
}

impl Node {
    /// A node whose executor runs.
    pub(crate) async fn start(cloud: &Arc<Cloud>, kind: &str, ipam: &str) -> Self {
        let instance = cloud.launch(kind);
        Self::of(cloud, instance, limits(kind), ipam).await
    }

    /// The same for an instance of which these limits are believed.
    pub(crate) async fn of(cloud: &Arc<Cloud>, instance: String, limits: InstanceLimits, ipam: &str) -> Self {
        let config = Arc::new(NetworkConfig { ipam: ipam.into(), attributes: Vec::new() });
        let journal = Arc::<ManualJournal>::default();
        let (engine, abandoned) = engine(cloud, LedgerState::default(), &journal);
        define(&engine, &network(), &config).await;
        let links = Mutex::new(Some((Arc::clone(cloud), instance.clone())));
        let routes = Arc::new(Routes { links, ..Routes::default() });
        let (handle, task) = run(cloud, &engine, &routes, &instance, limits, 0);
        Self {
            cloud: Arc::clone(cloud),
            instance,
            engine,
            journal,
            routes,
            handle,
            pods: BTreeMap::new(),
            limits,
            config,
            task,
            hints: None,
            starts: 0,
            _abandoned: abandoned,
        }
    }

    /// The network gets another configuration, as by a reload.
    pub(crate) async fn redefine(&mut self, ipam: &str) {
        self.config = Arc::new(NetworkConfig { ipam: ipam.into(), attributes: Vec::new() });
        define(&self.engine, &network(), &self.config).await;
    }

    /// The same, with a metadata service that is asked for one thing after the other.
    pub(crate) fn with_hints(mut self) -> Self {
        self.follow_hints();
        self
    }

    fn follow_hints(&mut self) {
        let follow = metadata::follow(Arc::clone(&self.cloud), self.instance.clone(), self.handle.clone());
        self.hints = Some(tokio::spawn(follow));
    }

    fn stop_hints(&mut self) -> bool {
        self.hints.take().inspect(JoinHandle::abort).is_some()
    }

    /// Nothing is carried out any more. Its calls are cut off where they are.
    pub(crate) async fn stop(&mut self) {
        if !self.task.is_finished() {
            self.task.abort();
            let _ = (&mut self.task).await;
        }
    }

    /// The process ends, and another begins with what is durable.
    pub(crate) async fn crash(&mut self) {
        self.stop().await;
        let state = restored(self.engine.images().pages(1)).unwrap();
        let before = state.books.iter().map(Book::through).chain([state.node.through()]).max();
        self.journal = Arc::new(ManualJournal::after(before.unwrap_or_default() + 1000));
        (self.engine, self._abandoned) = engine(&self.cloud, state, &self.journal);
        self.starts += 1;
        let (cloud, routes) = (&self.cloud, &self.routes);
        let seed = self.starts;
        (self.handle, self.task) = run(cloud, &self.engine, routes, &self.instance, self.limits, seed);
        if self.stop_hints() {
            self.follow_hints();
        }
    }

    /// Waits; if the process is killed meanwhile, it is started again.
    pub(crate) async fn rest(&mut self, seconds: u64) {
        let cloud = Arc::clone(&self.cloud);
        let end = tokio::time::Instant::now() + Duration::from_secs(seconds);
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(end) => return,
                () = cloud.killed.notified() => self.crash().await,
            }
        }
    }

    /// A pod comes: it gets an address within two minutes, or none.
    pub(crate) async fn add(&mut self, pod: u32) -> Result<IpAddr, Error> {
        self.add_within(pod, 120).await
    }

    pub(crate) async fn add_within(&mut self, pod: u32, seconds: u64) -> Result<IpAddr, Error> {
        let cloud = Arc::clone(&self.cloud);
        let end = tokio::time::Instant::now() + Duration::from_secs(seconds);
        let address = loop {
            let engine = Arc::clone(&self.engine);
            let add = engine.add(self.request(pod), |_| Ok(()));
            tokio::select! {
                answer = tokio::time::timeout_at(end, add) => match answer {
                    Ok(Ok(grant)) => break grant.addresses[0].ip(),
                    // As runtimes do: while nobody attends yet, and after a restart.
                    Ok(Err(error)) if error.code == ErrorCode::NotYet => sleep(Duration::from_millis(500)).await,
                    Ok(Err(error)) => return Err(error),
                    Err(_) => return Err(Error::new(ErrorCode::NotYet, "the time is over")),
                },
                () = cloud.killed.notified() => self.crash().await,
            }
        };
        self.pods.insert(pod, address);
        self.tell();
        Ok(address)
    }

    /// Pods come at the same time.
    pub(crate) async fn add_all(&mut self, pods: std::ops::Range<u32>) -> Vec<IpAddr> {
        let mut waiting = tokio::task::JoinSet::new();
        for pod in pods.clone() {
            let (engine, request) = (Arc::clone(&self.engine), self.request(pod));
            waiting.spawn(async move {
                let grant =
                    tokio::time::timeout(Duration::from_secs(120), engine.add(request, |_| Ok(()))).await;
                (pod, grant.unwrap().unwrap().addresses[0].ip())
            });
        }
        while let Some(added) = waiting.join_next().await {
            let (pod, address) = added.unwrap();
            self.pods.insert(pod, address);
            self.tell();
        }
        pods.map(|pod| self.pods[&pod]).collect()
    }

    /// The kernel has no pod: it is another machine's.
    pub(crate) fn forget_pods(&mut self) {
        self.pods.clear();
        *self.routes.pods.lock().unwrap() = BTreeSet::new();
    }

    /// A pod goes.
    pub(crate) async fn del(&mut self, pod: u32) {
        // The DEL begins after the ADD.
        sleep(Duration::from_millis(1)).await;
        if self.pods.remove(&pod).is_some() {
            self.tell();
            let requested_at = self.engine.now();
            self.engine.del(Del { network: network(), owner: owner(pod), requested_at }).await.unwrap();
        }
    }

    fn request(&self, pod: u32) -> Add {
        self.request_of(&format!("c{pod}"))
    }

    pub(crate) fn request_of(&self, container: &str) -> Add {
        Add {
            request: Request {
                network: network(),
                owner: owner_of(container),
                requested: Vec::new(),
                sandbox: Sandbox::default(),
                supply_full: false,
                context: RequestContext::default(),
                requested_at: self.engine.now(),
            },
            policy: PolicyName::new("aws-eni").unwrap(),
            config: Arc::clone(&self.config),
        }
    }

    /// Tells the oracle and the kernel which pods there are.
    fn tell(&self) {
        let addresses: BTreeSet<IpAddr> = self.pods.values().copied().collect();
        self.cloud.pods_are(&self.instance, &addresses);
        *self.routes.pods.lock().unwrap() = addresses;
    }

    pub(crate) async fn book(&self) -> Arc<Book> {
        self.engine.book(&network()).await.unwrap()
    }

    /// The ledger's ranges by interface.
    pub(crate) async fn ranges(&self) -> BTreeMap<String, BTreeSet<IpNet>> {
        let book = self.book().await;
        let mut ranges: BTreeMap<String, BTreeSet<IpNet>> = BTreeMap::new();
        for view in (0..book.pools().len()).flat_map(|pool| book.ranges(pool)) {
            let interface = view.range.attributes().get("interface").unwrap().to_owned();
            ranges.entry(interface).or_default().insert(view.range.name().as_str().parse().unwrap());
        }
        ranges
    }

    /// The ranges that hand out nothing.
    pub(crate) async fn drains(&self) -> BTreeSet<IpNet> {
        let book = self.book().await;
        let views = (0..book.pools().len()).flat_map(|pool| book.ranges(pool));
        views.filter(|view| view.draining).map(|view| view.range.name().as_str().parse().unwrap()).collect()
    }

    /// How many addresses the node has on each interface, in order.
    pub(crate) async fn shape(&self) -> Vec<usize> {
        let mut shape: Vec<usize> = self.ranges().await.values().map(BTreeSet::len).collect();
        shape.sort_unstable();
        shape
    }

    /// EC2 and the ledger have the same, nothing is under way, and nothing happened that must not.
    #[track_caller]
    pub(crate) fn agrees(&self, ranges: &BTreeMap<String, BTreeSet<IpNet>>, words: &str) {
        let mut carried = self.cloud.carried(&self.instance);
        carried.retain(|_, nets| !nets.is_empty());
        assert_eq!((&carried, ranges), (ranges, ranges), "{words}: EC2 and the ledger");
        let open: Vec<_> = self
            .engine
            .intents()
            .iter()
            .map(|intent| format!("{} {:?}", intent.kind.name(), intent.reached))
            .collect();
        assert_eq!(open, [""; 0], "{words}: under way");
        assert_eq!(self.cloud.verdict(), [], "{words}: the oracle");
    }

    /// Lets everything come to its end, and checks it.
    pub(crate) async fn settles(&mut self, words: &str) {
        // Longer than a lost answer, and than two sweeps for what has leaked.
        self.rest(1200).await;
        let ranges = self.ranges().await;
        self.agrees(&ranges, words);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop_hints();
        self.task.abort();
    }
}

/// Defines a network, as the configuration file does.
pub(crate) async fn define(engine: &Engine, network: &NetworkName, config: &Arc<NetworkConfig>) {
    let define = Define {
        network: network.clone(),
        policy: PolicyName::new("aws-eni").unwrap(),
        config: Arc::clone(config),
        by: Definer::Configuration,
        apply: true,
        change_ranges: true,
    };
    engine.define_network(&define).await.unwrap();
}

fn engine(cloud: &Arc<Cloud>, state: LedgerState, journal: &Arc<ManualJournal>) -> (Arc<Engine>, Abandoned) {
    let ports = Ports {
        clock: Arc::new(Time(Arc::clone(cloud))),
        catalogue: policy::catalogue(),
        journal: Arc::clone(journal) as Arc<dyn Journal>,
        observer: Arc::new(Silent),
        links: Arc::new(NoLinks),
    };
    Engine::new(state, ports, settings())
}

fn run(
    cloud: &Arc<Cloud>,
    engine: &Arc<Engine>,
    routes: &Arc<Routes>,
    instance: &str,
    limits: InstanceLimits,
    seed: u64,
) -> (Handle, JoinHandle<TaskFailure>) {
    let time = Arc::new(Time(Arc::clone(cloud)));
    let parts = Parts {
        engine: Arc::clone(engine),
        ec2: Arc::new(Face(Arc::clone(cloud))),
        metadata: Arc::new(Metadata { cloud: Arc::clone(cloud), instance: instance.to_owned() }),
        clock: time.clone(),
        timer: time,
        witness: Arc::clone(routes) as Arc<dyn UseWitness>,
    };
    let mut config = Config::new(network(), instance, "vpc-1", "a", seed);
    config.limits = Some(limits);
    let executor = Executor::new(parts, config);
    (executor.handle(), tokio::spawn(executor.run()))
}

pub(crate) fn network() -> NetworkName {
    NetworkName::new("pods").unwrap()
}

fn owner(pod: u32) -> Owner {
    owner_of(&format!("c{pod}"))
}

pub(crate) fn owner_of(container: &str) -> Owner {
    Owner::Attachment {
        container: ContainerId::new(container).unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
    }
}
