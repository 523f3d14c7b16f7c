//! The delegate of the simulation: somebody else's IPAM, which knows nothing of the node's crashes and reboots.
//!
//! It keeps what the port promises: a call that has begun goes on when nobody waits for it any more, and no later call for
//! the same attachment meets it; nor does a new address meet a garbage collection that was begun before.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::{Result, ensure};
use tenure_engine::ports::{Answer, Delegate, DelegateFailure, Giving};
use tenure_engine::{Engine, Phase};
use tenure_fixtures::random::Random;
use tenure_types::cni::Success;
use tenure_types::{AssignedAddress, DelegateCall, DelegateVerb, Error, ErrorCode, hold};

use crate::thinking::Thinking;

/// The name of the policy that stands for it.
pub(crate) const FOREIGN: &str = "delegate.foreign";

/// The first and the last address, in 10.0.2.0, that it gives.
pub(crate) const GIVES: (u8, u8) = (2, 13);

/// An attachment as the delegate knows it: the network and the container.
type Key = (String, String);

/// The delegate; clones share it.
#[derive(Clone)]
pub(crate) struct Foreign(Arc<Mutex<State>>);

struct State {
    random: Random,
    given: BTreeMap<Key, IpAddr>,
    last: u8,
    /// Calls that go on although nobody waits for them.
    left: Vec<Job>,
    /// Whether each call succeeds that can.
    is_well: bool,
    /// Whether it may lose its state, and whether it has.
    may_forget: bool,
    has_forgotten: bool,
}

/// The action of a call at some time between its beginning and its end.
enum Job {
    Add(Key),
    Del(Key),
    Gc(String, BTreeSet<String>),
    Look,
}

impl Job {
    /// Whether another call has to wait for this one.
    fn holds_up(&self, later: &Self) -> bool {
        match (self, later) {
            (Self::Add(key) | Self::Del(key), Self::Add(other) | Self::Del(other)) => key == other,
            (Self::Gc(network, _), Self::Add((other, _)) | Self::Gc(other, _)) => network == other,
            _ => false,
        }
    }
}

/// A call; when dropped before its job is done, the job is done later.
struct Running {
    foreign: Foreign,
    job: Option<Job>,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(job) = self.job.take() {
            self.foreign.lock().left.push(job);
        }
    }
}

fn failure(code: ErrorCode, cause: &str, may_have_run: bool, is_refusal: bool) -> DelegateFailure {
    DelegateFailure { error: Error::new(code, cause), may_have_run, is_refusal }
}

impl State {
    fn fails(&mut self, rate: u64) -> bool {
        !self.is_well && self.random.one_in_thousand(rate)
    }

    fn carry_out(&mut self, job: Job) -> Result<Option<IpAddr>, DelegateFailure> {
        if self.fails(80) {
            return Err(failure(ErrorCode::DelegateFailed, "no", true, true));
        }
        let given = match job {
            Job::Add(key) => Some(self.give(key)?),
            Job::Del(key) => {
                self.given.remove(&key);
                None
            }
            Job::Gc(network, valid) => {
                self.given.retain(|(of, container), _| *of != network || valid.contains(container));
                None
            }
            Job::Look => None,
        };
        if self.fails(80) {
            return Err(failure(ErrorCode::DelegateUnavailable, "it was killed", true, false));
        }
        Ok(given)
    }

    fn give(&mut self, key: Key) -> Result<IpAddr, DelegateFailure> {
        if self.may_forget && self.fails(15) {
            self.given.clear();
            self.has_forgotten = true;
        }
        if self.given.contains_key(&key) {
            return Err(failure(ErrorCode::DelegateFailed, "duplicate", true, true));
        }
        let count = GIVES.1 - GIVES.0 + 1;
        for step in 1..=count {
            let number = (self.last + step) % count;
            let address = IpAddr::from([10, 0, 2, GIVES.0 + number]);
            let is_free = !self.given.iter().any(|((of, _), given)| *of == key.0 && *given == address);
            if is_free {
                self.last = number;
                self.given.insert(key, address);
                return Ok(address);
            }
        }
        Err(failure(ErrorCode::DelegateFailed, "none is left", true, true))
    }
}

impl Foreign {
    pub(crate) fn new(random: &mut Random) -> Self {
        Self(Arc::new(Mutex::new(State {
            random: Random::new(random.below(u64::MAX)),
            given: BTreeMap::new(),
            last: 0,
            left: Vec::new(),
            is_well: false,
            may_forget: random.below(3) == 0,
            has_forgotten: false,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        hold(&self.0)
    }

    /// From now on it works without fail, or not.
    pub(crate) fn set_well(&self, is_well: bool) {
        self.lock().is_well = is_well;
    }

    /// A call that nobody waits for ends.
    pub(crate) fn go_on(&self) {
        let mut state = self.lock();
        if let Some(job) = state.left.pop() {
            let _ = state.carry_out(job);
        }
    }

    /// A daemon starts: it waits for what an earlier one has begun, and kills some of it.
    pub(crate) fn restarted(&self) {
        let mut state = self.lock();
        for job in std::mem::take(&mut state.left) {
            if state.random.below(3) > 0 {
                let _ = state.carry_out(job);
            }
        }
    }

    async fn call(&self, job: Job) -> Result<Option<IpAddr>, DelegateFailure> {
        let (before, after) = {
            let mut state = self.lock();
            if state.fails(80) {
                return Err(failure(ErrorCode::DelegateUnavailable, "it cannot be run", false, false));
            }
            let (waited_for, left) =
                std::mem::take(&mut state.left).into_iter().partition(|left: &Job| left.holds_up(&job));
            state.left = left;
            for earlier in waited_for {
                let _ = state.carry_out(earlier);
            }
            (state.random.below(4), state.random.below(3))
        };
        let mut running = Running { foreign: self.clone(), job: Some(job) };
        for _ in 0..before {
            Thinking::default().await;
        }
        let done = running.job.take().map(|job| self.lock().carry_out(job));
        for _ in 0..after {
            Thinking::default().await;
        }
        done.unwrap_or(Ok(None))
    }

    /// Checks, while nothing is under way, that it has given what the ledger says is in use, and nothing else. Returns how
    /// many that are.
    pub(crate) fn check(&self, engine: &Engine) -> Result<usize> {
        let state = self.lock();
        let mut in_use = BTreeMap::new();
        for pending in engine.delegations() {
            ensure!(pending.phase == Phase::InUse, "I3: {pending:?} is not undone");
            let delegation = &pending.delegation;
            let key = (delegation.network.to_string(), delegation.container.to_string());
            in_use.insert(key, delegation.given.as_ref().map_or(&[][..], |given| &given.addresses).to_vec());
        }
        for (key, address) in &state.given {
            let known = in_use.get(key);
            ensure!(
                known.is_some_and(|known| known == &[*address]),
                "I3: the delegate has given {address} to {key:?}, and the ledger knows of {known:?}"
            );
        }
        let forgotten = in_use.keys().find(|key| !state.given.contains_key(*key));
        ensure!(
            state.has_forgotten || forgotten.is_none(),
            "I2: {forgotten:?} has an address that the delegate has taken back"
        );
        Ok(in_use.len())
    }
}

impl Delegate for Foreign {
    fn add<'a>(&'a self, call: &'a DelegateCall) -> Giving<'a> {
        Box::pin(async {
            let address = self.call(Job::Add((call.network.to_string(), call.container.to_string()))).await?;
            let prefix = address.and_then(|address| ipnet::IpNet::new(address, 28).ok());
            let gateway = Some(IpAddr::from([10, 0, 2, 1]));
            let addresses =
                prefix.into_iter().map(|prefix| AssignedAddress::plain(prefix, gateway)).collect();
            Ok(Success { addresses, ..Success::default() })
        })
    }

    fn tell<'a>(&'a self, call: &'a DelegateCall, verb: &'a DelegateVerb) -> Answer<'a, bool> {
        Box::pin(async move {
            let network = call.network.to_string();
            let job = match verb {
                DelegateVerb::Del => Job::Del((network, call.container.to_string())),
                DelegateVerb::Gc { valid } => {
                    Job::Gc(network, valid.iter().map(|(container, _)| container.to_string()).collect())
                }
                DelegateVerb::Check { .. } | DelegateVerb::Status => Job::Look,
            };
            self.call(job).await.map(|_| true).map_err(|failure| failure.error)
        })
    }
}
