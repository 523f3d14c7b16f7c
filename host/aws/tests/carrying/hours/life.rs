//! A trace, played to a side: the pods and their kubelets, the account's troubles, and what all that costs.
//!
//! The kubelet is the same for both sides: a pod whose ADD failed is tried again as a new sandbox, after a DEL and 10 to 15 s.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_fixtures::random::Random;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::figures::Figures;
use super::trace::{Pod, Trace, Trouble, USUAL_LAG};
use crate::cloud::Cloud;

/// A side: what gives addresses to the pods of a node.
pub(crate) trait Daemon: Send + Sync + 'static {
    /// An address for a container, or a failure.
    fn add(&self, container: &str) -> impl Future<Output = Option<IpAddr>> + Send;
    /// The container is gone.
    fn del(&self, container: &str) -> impl Future<Output = ()> + Send;
    /// The process ends and starts again.
    fn crash(&self) -> impl Future<Output = ()> + Send;
    /// The kernel's view of the pods.
    fn pods_are(&self, _: &BTreeSet<IpAddr>) {}
}

/// How long both sides have at the end to bring everything to its end: longer than a lost answer, and than two sweeps of
/// tenure's for what has leaked.
pub(crate) const SETTLE: Duration = Duration::from_secs(1200);

/// How often the nodes are looked at.
const SAMPLE: Duration = Duration::from_secs(10);

/// How long a freed address is not counted as idle, in milliseconds.
const COOLDOWN_MS: u64 = 30_000;

/// A node with its daemon and its pods.
pub(crate) struct Host<D> {
    pub(crate) daemon: D,
    pub(crate) instance: String,
    cloud: Arc<Cloud>,
    pods: Mutex<Pods>,
}

#[derive(Default)]
struct Pods {
    used: BTreeMap<IpAddr, String>,
    freed: VecDeque<(u64, IpAddr)>,
}

impl<D: Daemon> Host<D> {
    pub(crate) fn new(cloud: &Arc<Cloud>, instance: &str, daemon: D) -> Arc<Self> {
        let pods = Mutex::default();
        Arc::new(Self { daemon, instance: instance.to_owned(), cloud: Arc::clone(cloud), pods })
    }

    /// A pod has its address; answers whether another pod of the node has it, too.
    fn arrived(&self, container: &str, address: IpAddr) -> bool {
        let before = self.pods.lock().unwrap().used.insert(address, container.to_owned());
        self.tell();
        before.is_some()
    }

    fn left(&self, container: &str, address: IpAddr) {
        {
            let mut pods = self.pods.lock().unwrap();
            if pods.used.get(&address).is_some_and(|user| user == container) {
                pods.used.remove(&address);
                pods.freed.push_back((self.cloud.now().millis(), address));
            }
        }
        self.tell();
    }

    fn tell(&self) {
        let used = self.pods.lock().unwrap().used.keys().copied().collect();
        self.cloud.pods_are(&self.instance, &used);
        self.daemon.pods_are(&used);
    }

    /// The containers that have an address.
    pub(crate) fn containers(&self) -> BTreeSet<String> {
        self.pods.lock().unwrap().used.values().cloned().collect()
    }

    /// The idle addresses now, and the interfaces.
    fn sample(&self) -> (u64, u64) {
        let now = self.cloud.now().millis();
        let mut pods = self.pods.lock().unwrap();
        while pods.freed.front().is_some_and(|(at, _)| at + COOLDOWN_MS <= now) {
            pods.freed.pop_front();
        }
        let inner = self.cloud.inner();
        let here: Vec<_> = inner.state.interfaces().all().filter(|eni| eni.is_on(&self.instance)).collect();
        let addresses: usize = here.iter().map(|eni| eni.ipv4.len() - 1 + 16 * eni.ipv4_prefixes.len()).sum();
        let is_here = |address: &IpAddr| here.iter().any(|eni| eni.carries(*address));
        let busy = pods.used.keys().filter(|address| is_here(address)).count();
        let cooling: BTreeSet<_> = pods.freed.iter().map(|(_, address)| address).collect();
        let cooling =
            cooling.into_iter().filter(|address| !pods.used.contains_key(address) && is_here(address));
        ((addresses - busy - cooling.count()) as u64, here.len() as u64)
    }

    /// The life of a pod. Its address, if it has one at its end.
    async fn live(self: Arc<Self>, number: usize, pod: Pod, figures: Arc<Mutex<Figures>>) {
        let began = Instant::now();
        let end = began + Duration::from_millis(pod.goes - pod.comes);
        let mut random = Random::new(number as u64);
        let mut attempt = 0;
        let got = loop {
            let container = format!("c{number}-{attempt}");
            let answer = timeout_at(end, self.daemon.add(&container)).await;
            if let Ok(Some(address)) = answer {
                if self.arrived(&container, address) {
                    figures.lock().unwrap().twice();
                }
                break Some((container, address));
            }
            self.daemon.del(&container).await;
            figures.lock().unwrap().failed += u64::from(answer.is_ok());
            attempt += 1;
            let again = Instant::now() + Duration::from_millis(10_000 + random.below(5000));
            sleep_until(again.min(end)).await;
            if Instant::now() >= end {
                break None;
            }
        };
        {
            let mut figures = figures.lock().unwrap();
            figures.waits.push(u32::try_from(began.elapsed().as_millis()).unwrap());
            figures.unserved += u64::from(got.is_none());
        }
        if let Some((container, address)) = got {
            sleep_until(end).await;
            self.left(&container, address);
            self.daemon.del(&container).await;
        }
    }
}

fn lag(cloud: &Cloud, [describe, call, metadata]: [u64; 3]) {
    let consistency = &mut cloud.inner().state.consistency;
    consistency.describe_lag_ms = describe;
    consistency.call_lag_ms = call;
    consistency.imds_lag_ms = metadata;
}

/// The account of a trace.
pub(crate) fn account(trace: &Trace) -> Arc<Cloud> {
    let cloud = Cloud::new(trace.seed, trace.subnets);
    lag(&cloud, USUAL_LAG);
    cloud.inner().state.timing.attach_ms = trace.attach_ms;
    cloud
}

async fn strike<D: Daemon>(cloud: &Cloud, hosts: &[Arc<Host<D>>], trouble: &Trouble) {
    let now = cloud.now();
    match trouble {
        Trouble::Neighbours(action, load) => cloud.inner().state.throttle.set_load(action, *load, now),
        Trouble::Fault(fault, lasts) => {
            let until_ms = lasts.map(|lasts| now.after(lasts).millis());
            cloud.fault(tenure_ec2_double::Fault { until_ms, ..fault.clone() });
        }
        Trouble::Lag(by) => lag(cloud, *by),
        Trouble::Deny(Some(action)) => cloud.deny(action),
        Trouble::Deny(None) => cloud.allow(),
        Trouble::Crash(node) => hosts[*node].daemon.crash().await,
    }
}

/// Plays a trace to its end. Everything that went wrong in it is over then.
pub(crate) async fn play<D: Daemon>(trace: &Trace, cloud: &Arc<Cloud>, hosts: &[Arc<Host<D>>]) -> Figures {
    let (began, figures) = (Instant::now(), Arc::new(Mutex::new(Figures::default())));
    let end = began + Duration::from_secs(trace.hours * 3600);
    let at = |millis: u64| began + Duration::from_millis(millis);
    let sampling = async {
        loop {
            for host in hosts {
                let (idle, interfaces) = host.sample();
                let mut figures = figures.lock().unwrap();
                figures.samples += 1;
                figures.idle += idle;
                figures.interfaces += interfaces;
            }
            sleep(SAMPLE).await;
        }
    };
    let trouble = async {
        for (moment, trouble) in &trace.troubles {
            sleep_until(at(*moment)).await;
            strike(cloud, hosts, trouble).await;
        }
    };
    let pods = async {
        let mut lives = JoinSet::new();
        for (number, pod) in trace.pods.iter().enumerate() {
            sleep_until(at(pod.comes)).await;
            lives.spawn(Arc::clone(&hosts[pod.node]).live(number, *pod, Arc::clone(&figures)));
            while lives.try_join_next().is_some_and(|ended| ended.is_ok()) {}
        }
        while let Some(ended) = lives.join_next().await {
            ended.unwrap();
        }
    };
    let all = async { tokio::join!(pods, trouble, sleep_until(end)) };
    tokio::select! {
        _ = all => {}
        () = sampling => {}
    }
    let mut inner = cloud.inner();
    inner.faults.clear();
    for action in inner.state.throttle.load().clone().into_keys() {
        inner.state.throttle.set_load(&action, 0, cloud.now());
    }
    let calls = inner.calls.clone();
    drop(inner);
    cloud.allow();
    lag(cloud, USUAL_LAG);
    let mut figures = std::mem::take(&mut *figures.lock().unwrap());
    (figures.minutes, figures.pods, figures.calls) = (trace.hours * 60, trace.pods.len() as u64, calls);
    figures
}
