//! A model of ipamd on the same account: its formulas, its loop, its calls and its waits, and nothing of tenure's.
//!
//! ```text
//! 2.5 s ─▶ grow, else shrink (at most each 30 s); then free one interface ─▶ 2.5 s ─▶ reconcile (60 s after the last action) ─┐
//!   ▲────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! From amazon-vpc-cni-k8s v1.23, `StartNodeIPPoolManager`: one goroutine, so everything in it waits for everything else. An
//! ADD never makes it grow: without an address it fails at once. The store is behind a `std::sync::Mutex`, as ipamd's behind its own, and is
//! not held across a call.

mod calls;
mod store;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ipnet::{IpNet, Ipv4Net};
use tenure_aws::port::{Assign, CallError, Failure};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use self::calls::{Calls, is_shortage};
pub(crate) use self::store::Rules;
use self::store::Store;
use crate::cloud::Cloud;

/// Half of `ipPoolMonitorInterval`, 5 s.
const HALF: Duration = Duration::from_millis(2500);

/// `decreaseIPPoolInterval`, in milliseconds.
const DECREASE_MS: u64 = 30_000;

/// `nodeIPPoolReconcileInterval`, in milliseconds.
const RECONCILE_MS: u64 = 60_000;

/// `insufficientCidrErrorCooldown`, in milliseconds.
const SHORTAGE_MS: u64 = 120_000;

/// A node's ipamd.
pub(crate) struct Ipamd {
    daemon: Arc<Daemon>,
    task: Mutex<JoinHandle<()>>,
}

struct Daemon {
    calls: Calls,
    store: Mutex<Store>,
}

/// When the loop last did what, in milliseconds.
#[derive(Default)]
struct Last {
    action: u64,
    decrease: u64,
    shortage: Option<u64>,
}

impl Ipamd {
    pub(crate) fn start(cloud: &Arc<Cloud>, instance: &str, rules: Rules, seed: u64) -> Self {
        let calls = Calls::new(Arc::clone(cloud), instance.to_owned(), seed);
        let daemon = Arc::new(Daemon { calls, store: Mutex::new(Store::new(rules, seed)) });
        let task = Mutex::new(tokio::spawn(Arc::clone(&daemon).run()));
        Self { daemon, task }
    }

    /// The process ends wherever it is, and starts again.
    pub(crate) fn crash(&self) {
        let mut task = self.task.lock().unwrap();
        task.abort();
        self.daemon.store.lock().unwrap().restart();
        *task = tokio::spawn(Arc::clone(&self.daemon).run());
    }

    pub(crate) fn add(&self, container: &str) -> Option<IpAddr> {
        let now = self.daemon.calls.now();
        self.daemon.store.lock().unwrap().assign(container, now)
    }

    pub(crate) fn del(&self, container: &str) {
        let now = self.daemon.calls.now();
        self.daemon.store.lock().unwrap().unassign(container, now);
    }
}

impl Drop for Ipamd {
    fn drop(&mut self) {
        self.task.lock().unwrap().abort();
    }
}

impl Daemon {
    async fn run(self: Arc<Self>) {
        tokio::join!(self.pool(), self.sweeps());
    }

    async fn sweeps(&self) {
        loop {
            let hour = Duration::from_secs(3600);
            sleep(hour + self.calls.up_to(Duration::from_secs(300))).await;
            self.calls.sweep().await;
        }
    }

    async fn pool(&self) {
        self.begin().await;
        let mut last = Last::default();
        if self.store.lock().unwrap().is_low() {
            self.grow(&mut last).await;
        }
        loop {
            sleep(HALF).await;
            self.pass(&mut last).await;
            sleep(HALF).await;
            if self.calls.now() > last.action + RECONCILE_MS {
                self.reconcile().await;
                last.action = self.calls.now();
            }
        }
    }

    /// `nodeInit`: the interfaces that IMDS shows, described once; rows of the checkpoint with another address are dropped.
    async fn begin(&self) {
        let shown = self.calls.metadata();
        let ids: Vec<String> = shown.iter().map(|(id, ..)| id.clone()).collect();
        while self.calls.describe(ids.clone()).await.is_err() {
            // The process exits and is started again.
            sleep(Duration::from_secs(10)).await;
        }
        for _ in &shown {
            self.calls.check_subnet().await;
        }
        let now = self.calls.now();
        let mut store = self.store.lock().unwrap();
        shown.into_iter().for_each(|(id, is_primary, nets)| store.set(&id, is_primary, nets, now));
        store.drop_strangers();
    }

    /// `updateIPPoolIfRequired`.
    async fn pass(&self, last: &mut Last) {
        let (is_low, over, may_remove) = {
            let store = self.store.lock().unwrap();
            (store.is_low(), store.over(), store.may_remove_extra())
        };
        if is_low {
            self.grow(last).await;
        } else if over > 0 && self.calls.now() > last.decrease + DECREASE_MS {
            self.shrink(over).await;
            last.decrease = self.calls.now();
            last.action = last.decrease;
        }
        if may_remove {
            let now = self.calls.now();
            let unused = self.store.lock().unwrap().remove_unused(now);
            if let Some(id) = unused {
                self.calls.free(&id).await;
            }
        }
    }

    /// `increaseDatastorePool`: fills one interface, or else creates one.
    async fn grow(&self, last: &mut Last) {
        if last.shortage.is_some_and(|at| self.calls.now() < at + SHORTAGE_MS) {
            return;
        }
        let grown = match self.fill().await {
            Ok(false) => self.bring().await,
            filled => filled,
        };
        match grown {
            Ok(true) => last.action = self.calls.now(),
            Ok(false) => {}
            Err(error) if is_shortage(&error) => last.shortage = Some(self.calls.now()),
            Err(_) => {}
        }
    }

    /// `tryAssignCidrs`: with subnet discovery, an interface whose subnet has nothing is passed over.
    async fn fill(&self) -> Result<bool, CallError> {
        let (interfaces, needed, prefixes) = {
            let mut store = self.store.lock().unwrap();
            (store.allocatable(), store.needed(), store.rules.prefixes)
        };
        for (id, room) in interfaces.into_iter().filter(|_| needed > 0) {
            let many = u32::try_from(room.min(needed)).unwrap();
            match self.calls.assign(&id, many, prefixes).await {
                Ok(new) => self.store.lock().unwrap().add(&id, &new),
                Err(error) if is_shortage(&error) => continue,
                // The view is old: EC2 says what is there.
                Err(error) if error.failure == Failure::InterfaceFull => self.ask(&id).await,
                Err(error) => return Err(error),
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// `tryAllocateENI`.
    async fn bring(&self) -> Result<bool, CallError> {
        let carries = {
            let store = self.store.lock().unwrap();
            let many = u32::try_from(store.needed().min(store.rules.slots)).unwrap();
            match store.enis.len() < store.rules.interfaces && many > 0 {
                true if store.rules.prefixes => Assign::Prefixes(many),
                true => Assign::Addresses(many),
                false => return Ok(false),
            }
        };
        let id = self.calls.allocate(&carries).await?;
        let Some(nets) = self.calls.wait_for(&id).await else { return Ok(false) };
        self.calls.check_subnet().await;
        let now = self.calls.now();
        self.store.lock().unwrap().set(&id, false, nets, now);
        Ok(true)
    }

    /// `tryUnassignCidrsFromAll`: from one interface after the other, cooling addresses too, from memory first and then from EC2.
    async fn shrink(&self, over: i64) {
        let (mut left, ids) = (usize::try_from(over).unwrap(), self.store.lock().unwrap().ids());
        for id in ids {
            let gone: Vec<Ipv4Net> = {
                let mut store = self.store.lock().unwrap();
                let gone: Vec<_> = store.freeable(&id).into_iter().take(left).collect();
                store.take(&id, &gone);
                gone
            };
            if !gone.is_empty() {
                self.calls.unassign(&id, &gone).await;
                left -= gone.len();
            }
            if left == 0 {
                return;
            }
        }
    }

    /// `nodeIPPoolReconcile`: IMDS says which interfaces there are; where their addresses differ, EC2 does.
    async fn reconcile(&self) {
        let shown = self.calls.metadata();
        let is_known = |id: &str| self.store.lock().unwrap().enis.iter().any(|eni| eni.id == *id);
        if shown.iter().any(|(id, ..)| !is_known(id)) {
            // `DescribeAllENIs`; without an answer, everything waits for the next time.
            let ids = shown.iter().map(|(id, ..)| id.clone()).collect();
            if self.calls.describe(ids).await.is_err() {
                return;
            }
        }
        for (id, is_primary, nets) in &shown {
            let known =
                self.store.lock().unwrap().enis.iter().find(|eni| eni.id == *id).map(|eni| eni.nets.clone());
            match known {
                Some(known) if known == *nets => {}
                Some(_) => self.ask(id).await,
                None => self.store.lock().unwrap().set(id, *is_primary, nets.clone(), self.calls.now()),
            }
        }
        let mut store = self.store.lock().unwrap();
        store.enis.retain(|eni| shown.iter().any(|(id, ..)| *id == eni.id));
        store.drop_strangers();
    }

    /// `GetIPv4sFromEC2`: EC2 says what an interface has, and wins.
    async fn ask(&self, id: &str) {
        let Ok(shown) = self.calls.describe(vec![id.to_owned()]).await else { return };
        let Some(shown) = shown.first() else { return };
        let four = |net: &IpNet| if let IpNet::V4(net) = net { Some(*net) } else { None };
        let nets: BTreeSet<Ipv4Net> = shown.carries.iter().filter_map(four).collect();
        let now = self.calls.now();
        self.store.lock().unwrap().set(id, false, nets, now);
    }
}
