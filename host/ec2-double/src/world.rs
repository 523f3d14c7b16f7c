//! State that the faces share: the account, the faults, the journal of calls and the oracle.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::clock::Clock;
use crate::faults::{Faults, Kind};
use crate::held::Holds;
use crate::journal::{Call, Face, Journal};
use crate::oracle::Oracle;
use crate::permissions::Permissions;
use crate::state::{State, Time};

/// All that a call may look at and change.
#[derive(Debug)]
pub struct World {
    /// The account.
    pub state: State,
    /// The faults to inject.
    pub faults: Faults,
    /// The journal of calls.
    pub journal: Journal,
    /// The actions denied to callers.
    pub permissions: Permissions,
    /// The oracle, which records what must never happen.
    pub oracle: Oracle,
    /// The instances by the access keys that their metadata services give out.
    pub keys: BTreeMap<String, String>,
    /// How EC2 checks who calls.
    pub signature: Signature,
    /// The network namespaces of nodes, by instance, for the wire.
    pub namespaces: BTreeMap<String, String>,
    /// The calls that wait.
    pub held: Holds,
}

/// How EC2 checks who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// Whether a call needs one.
    #[serde(default = "yes")]
    pub required: bool,
    /// How far EC2's clock is ahead of the caller's, in seconds.
    #[serde(default)]
    pub skew_s: i64,
}

const fn yes() -> bool {
    true
}

/// A world that several tasks use, and its clock.
#[derive(Debug)]
pub struct Shared {
    /// Held only for the time of a call, and never while something waits.
    world: Mutex<World>,
    /// The double's clock.
    pub clock: Clock,
    /// Counts the calls and the other changes, for those who wait for one.
    changes: watch::Sender<u64>,
}

impl Shared {
    /// A world with a clock.
    #[must_use]
    pub fn new(world: World, clock: Clock) -> Self {
        Self { world: Mutex::new(world), clock, changes: watch::Sender::new(0) }
    }

    /// Looks at the world, or changes it, after everything that is due has happened.
    pub fn with<T>(&self, change: impl FnOnce(&mut World, Time) -> T) -> T {
        let now = self.clock.now();
        let mut world = self.lock();
        world.state.run_until(now);
        let result = change(&mut world, now);
        world.state.note(now);
        result
    }

    /// Writes a call down, after checking what it did to the pods.
    pub fn record(&self, world: &mut World, call: Call, now: Time) {
        let World { oracle, state, journal, .. } = world;
        if call.face == Face::Ec2 && call.refused.is_none() {
            oracle.after(&call.call, state, now);
        }
        journal.add(call, now);
        self.changed();
    }

    /// Wakes those who wait for a change.
    pub fn changed(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// A count of changes to wait on.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Says what goes wrong with a call, and waits if it is to be applied later.
    pub async fn strike(&self, call: &str) -> Option<Kind> {
        let kind = self.with(|world, now| world.faults.strike(call, now));
        if let Some(Kind::DelayBefore { delay_ms }) = kind {
            self.hold(call, false, delay_ms).await;
        }
        kind
    }

    /// Holds a call until its time has passed or its user lets it go on.
    pub async fn hold(&self, call: &str, is_applied: bool, delay_ms: u64) {
        let (number, gate, until) = self.with(|world, now| {
            let (number, gate) = world.held.begin(call, is_applied, now);
            (number, gate, now.after(delay_ms))
        });
        self.changed();
        tokio::select! {
            () = self.clock.wait_until(until) => {}
            () = gate.notified() => {}
        }
        self.with(|world, _| world.held.end(number));
        self.changed();
    }

    fn lock(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The access key that an instance's metadata service gives out.
pub(crate) fn access_key(instance: &str) -> String {
    let digits = instance.rsplit('-').next().unwrap_or_default().to_ascii_uppercase();
    format!("ASIA{digits:.16}")
}
