//! Concurrent callers, each with its own pods, and a journal of the answers that they received.
//!
//! The callers continue until the daemon breaks, or for a number of requests each. A fuse breaks the daemon: the caller that
//! receives the nth answer triggers it, so that the seed determines the moment, not a timer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, anyhow};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::client::{Client, Failure};
use crate::journal::{Journal, Pod};
use crate::random::Random;
use crate::victim::Victim;
use crate::{Attachment, Plugin};

/// The most pods that a caller has at a time.
const PODS: usize = 8;
/// One caller in this many uses the network whose configuration changes all the time.
const EVERY: u32 = 4;

/// The action of a fuse.
type Act = Box<dyn FnOnce() -> anyhow::Result<()> + Send>;

/// An action that happens once, after a number of answers.
pub struct Fuse {
    answers: AtomicU64,
    left: AtomicU64,
    act: Mutex<Option<Act>>,
    /// Whether the power fails with it, so that no later answer counts.
    cuts_power: bool,
    power_is_cut: AtomicBool,
}

impl Fuse {
    fn new(answers: u64, act: Option<Act>, cuts_power: bool) -> Arc<Self> {
        Arc::new(Self {
            answers: AtomicU64::new(0),
            left: AtomicU64::new(answers),
            act: Mutex::new(act),
            cuts_power,
            power_is_cut: AtomicBool::new(false),
        })
    }

    /// A fuse that only counts.
    #[must_use]
    pub fn none() -> Arc<Self> {
        Self::new(u64::MAX, None, false)
    }

    /// A fuse that acts at the nth answer, from 1 on.
    pub fn after(answers: u64, act: impl FnOnce() -> anyhow::Result<()> + Send + 'static) -> Arc<Self> {
        Self::new(answers, Some(Box::new(act)), false)
    }

    /// A fuse that crashes a disk at the nth answer. Later answers do not count, as after a power failure: while a file system
    /// shuts down, the kernel reports a running sync as successful and loses its data.
    pub fn power_cut(answers: u64, act: impl FnOnce() -> anyhow::Result<()> + Send + 'static) -> Arc<Self> {
        Self::new(answers, Some(Box::new(act)), true)
    }

    /// The number of answers so far.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    fn power_is_cut(&self) -> bool {
        self.power_is_cut.load(Ordering::SeqCst)
    }

    fn burn(&self) -> anyhow::Result<()> {
        self.answers.fetch_add(1, Ordering::Relaxed);
        if self.left.fetch_sub(1, Ordering::Relaxed) != 1 {
            return Ok(());
        }
        self.power_is_cut.store(self.cuts_power, Ordering::SeqCst);
        let act = self.act.lock().unwrap_or_else(PoisonError::into_inner).take();
        act.map_or(Ok(()), |act| act())
    }
}

/// The load: who calls, and how often.
#[derive(Debug, Clone)]
pub struct Load {
    /// The seed of every choice.
    pub seed: u64,
    /// The number of callers over gRPC.
    pub callers: u32,
    /// The number of callers through the plugin.
    pub shims: u32,
    /// The number of requests of each caller, unless the daemon breaks first.
    pub requests: u64,
    /// The size in bytes of the changing configuration, which is logged with each change.
    pub padding: usize,
    /// The CNI codes that the broken daemon may answer with; a caller that gets one stops.
    pub refusals: &'static [u32],
}

/// One caller with its pods.
struct Caller {
    load: Load,
    number: u32,
    random: Random,
    pods: Vec<Pod>,
    journal: Arc<Journal>,
    fuse: Arc<Fuse>,
}

/// A caller's next request.
enum Wish {
    New,
    Again(Pod),
    Delete(Pod),
}

impl Load {
    /// A load that continues until the daemon breaks.
    #[must_use]
    pub fn endless(seed: u64) -> Self {
        Self { seed, callers: 16, shims: 0, requests: u64::MAX, padding: 16 << 10, refusals: &[] }
    }

    /// A load that ends. At least one snapshot is taken: with the fourth new configuration among its two dozen requests.
    #[must_use]
    pub fn short(seed: u64) -> Self {
        Self { seed, callers: 4, shims: 0, requests: 24, padding: 1 << 20, refusals: &[] }
    }

    /// Runs the load against a daemon until every caller has stopped.
    ///
    /// # Errors
    /// When an answer breaks a promise, or cannot be explained by the fault.
    pub fn run(&self, victim: &Victim, journal: &Arc<Journal>, fuse: &Arc<Fuse>) -> anyhow::Result<()> {
        let shim = victim.shim()?;
        let client = victim.client()?;
        let held = journal.held();
        let caller = |number: u32| {
            // The pods of earlier callers are taken over.
            let all = (self.callers + self.shims) as usize;
            let pods = held.iter().skip(number as usize).step_by(all).cloned().collect();
            let random = Random::new(self.seed ^ (u64::from(number) << 32));
            Caller { load: self.clone(), number, random, pods, journal: journal.clone(), fuse: fuse.clone() }
        };
        thread::scope(|scope| {
            let shims: Vec<_> = (self.callers..self.callers + self.shims)
                .map(|number| {
                    let (caller, shim) = (caller(number), &shim);
                    scope.spawn(move || caller.call_shim(shim))
                })
                .collect();
            let result = victim.block_on(async {
                let mut calling = JoinSet::new();
                for number in 0..self.callers {
                    calling.spawn(caller(number).call(client.clone()));
                }
                while let Some(result) = calling.join_next().await {
                    result??;
                }
                anyhow::Ok(())
            });
            for shim in shims {
                shim.join().map_err(|_| anyhow!("a caller panicked"))??;
            }
            result
        })
    }
}

impl Caller {
    /// Calls over gRPC.
    async fn call(mut self, client: Client) -> anyhow::Result<()> {
        for number in 0..self.load.requests {
            let wish = self.wish();
            let (pod, result) = match wish {
                Wish::Delete(pod) => {
                    self.journal.del_sent(&pod);
                    let result = client.del(&pod).await;
                    (pod, result.map(|()| None))
                }
                Wish::Again(pod) => {
                    let result = client.add(&pod, &self.config(&pod, number)).await;
                    (pod, result.map(Some))
                }
                Wish::New => {
                    let pod = self.new_pod(number);
                    self.journal.add_sent(&pod);
                    let result = client.add(&pod, &self.config(&pod, number)).await;
                    (pod, result.map(Some))
                }
            };
            if self.fuse.power_is_cut() {
                break;
            }
            match result {
                Ok(address) => self.heard(&pod, address)?,
                Err(Failure::Unanswered(_)) => break,
                Err(Failure::Refused { code, .. }) if self.load.refusals.contains(&code) => break,
                Err(failure) => return Err(failure).with_context(|| pod.to_string()),
            }
        }
        Ok(())
    }

    /// Calls through the plugin, as a container runtime does.
    fn call_shim(mut self, shim: &Plugin) -> anyhow::Result<()> {
        for number in 0..self.load.requests {
            let (verb, pod) = match self.wish() {
                Wish::Delete(pod) => {
                    self.journal.del_sent(&pod);
                    ("DEL", pod)
                }
                Wish::Again(pod) => ("ADD", pod),
                Wish::New => {
                    let pod = self.new_pod(number);
                    self.journal.add_sent(&pod);
                    ("ADD", pod)
                }
            };
            let outcome = shim.call(verb, &Attachment::of(&pod.container), &self.config(&pod, number))?;
            if !outcome.succeeded {
                outcome.error()?;
                break;
            }
            let address = if verb == "ADD" { Some(outcome.address()?) } else { None };
            self.heard(&pod, address)?;
        }
        Ok(())
    }

    fn wish(&mut self) -> Wish {
        let choice = self.random.below(8);
        let which = usize::try_from(self.random.below(self.pods.len() as u64)).unwrap_or_default();
        match self.pods.get(which) {
            None => Wish::New,
            Some(pod) if choice == 0 => Wish::Again(pod.clone()),
            Some(_) if choice > 3 && self.pods.len() < PODS => Wish::New,
            Some(_) => Wish::Delete(self.pods.swap_remove(which)),
        }
    }

    /// A pod with a name that has not been used before.
    fn new_pod(&self, number: u64) -> Pod {
        let network = if self.number.is_multiple_of(EVERY) { "changing" } else { "net" };
        let container = format!("p{:x}-{}-{number}", self.load.seed, self.number);
        Pod { network: network.to_owned(), container }
    }

    /// The network's configuration: small ranges, so that addresses are reused soon.
    fn config(&self, pod: &Pod, number: u64) -> Value {
        let comment = match pod.network.as_str() {
            "changing" => format!("{}-{number}-{}", self.number, "x".repeat(self.load.padding)),
            _ => String::new(),
        };
        let ipam = json!({ "type": "tenure", "wait": 0, "ranges": [[{ "subnet": "10.91.0.0/24" }]], "comment": comment });
        json!({ "cniVersion": "1.1.0", "name": pod.network, "ipam": ipam })
    }

    fn heard(&mut self, pod: &Pod, address: Option<String>) -> anyhow::Result<()> {
        match address {
            Some(address) => {
                self.journal.added(pod, &address)?;
                if !self.pods.contains(pod) {
                    self.pods.push(pod.clone());
                }
            }
            None => self.journal.deleted(pod),
        }
        self.fuse.burn()
    }
}
