//! The oracle: knows which pods live where, and notes everything that must never happen.
//!
//! Pods are told by the double's user. What EC2 calls do to their addresses is checked after each call; what is left at the
//! end is checked when the verdict is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::state::{State, Time};

/// The assumptions of the oracle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Terms {
    /// How long an address rests after its pod before another node may use it, in milliseconds.
    pub cooldown_ms: u64,
    /// How long an interface may be attached to nothing, in milliseconds.
    pub idle_ms: u64,
    /// The number of EC2 calls that are allowed within a minute.
    pub calls_per_minute: Option<usize>,
}

impl Default for Terms {
    fn default() -> Self {
        Self { cooldown_ms: 30_000, idle_ms: 0, calls_per_minute: None }
    }
}

/// Something that must never happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "violation")]
pub enum Violation {
    /// A call took a living pod's address from its node.
    Taken {
        /// The address.
        address: IpAddr,
        /// The pod's node.
        instance: String,
        /// The call.
        call: String,
        /// The time of the violation.
        at: Time,
    },
    /// A pod has an address that is not on its node.
    NotOnNode {
        /// The address.
        address: IpAddr,
        /// The pod's node.
        instance: String,
        /// The time of the violation.
        at: Time,
    },
    /// Two nodes use an address at the same time, or one so soon after the other.
    TwoNodes {
        /// The address.
        address: IpAddr,
        /// The first holder and the present one.
        instances: [String; 2],
        /// How long after the first, in milliseconds; 0 if at the same time.
        after_ms: u64,
        /// The time of the violation.
        at: Time,
    },
    /// An interface is attached to nothing.
    WithoutOwner {
        /// The interface.
        interface: String,
        /// Since when.
        since: Time,
    },
    /// More calls within a minute than the budget allows.
    TooManyCalls {
        /// The number of calls.
        calls: usize,
        /// The budget.
        budget: usize,
    },
}

/// The history from which the oracle judges.
#[derive(Debug, Default)]
pub struct Oracle {
    /// The oracle's assumptions.
    pub terms: Terms,
    /// The pod that uses each address.
    pods: BTreeMap<IpAddr, String>,
    /// The pod that last used each address, and the time at which it stopped.
    before: BTreeMap<IpAddr, (String, Time)>,
    found: Vec<Violation>,
    /// Violations are noted once for each pod.
    missing: BTreeSet<IpAddr>,
}

impl Oracle {
    /// Notes the addresses of all pods of a node.
    pub fn pods_are(&mut self, instance: &str, addresses: &BTreeSet<IpAddr>, state: &State, now: Time) {
        let gone: Vec<IpAddr> = self
            .pods
            .iter()
            .filter(|(address, owner)| *owner == instance && !addresses.contains(address))
            .map(|(address, _)| *address)
            .collect();
        for address in gone {
            self.pods.remove(&address);
            self.missing.remove(&address);
            self.before.insert(address, (instance.to_owned(), now));
        }
        for address in addresses {
            if self.pods.get(address).is_some_and(|owner| owner == instance) {
                continue;
            }
            let earlier = match self.pods.get(address) {
                Some(owner) => Some((owner.clone(), 0)),
                None => self.before.get(address).map(|(owner, until)| (owner.clone(), now.since(*until))),
            };
            if let Some((owner, after_ms)) = earlier
                && owner != instance
                && after_ms < self.terms.cooldown_ms.max(1)
            {
                let instances = [owner, instance.to_owned()];
                self.found.push(Violation::TwoNodes { address: *address, instances, after_ms, at: now });
            }
            self.pods.insert(*address, instance.to_owned());
            if !is_on(state, *address, instance) {
                self.missing.insert(*address);
                let instance = instance.to_owned();
                self.found.push(Violation::NotOnNode { address: *address, instance, at: now });
            }
        }
    }

    /// The addresses of a node's pods.
    pub fn pods_of(&self, instance: &str) -> impl Iterator<Item = IpAddr> {
        self.pods.iter().filter(move |(_, owner)| *owner == instance).map(|(address, _)| *address)
    }

    /// Checks the pods after a call.
    pub fn after(&mut self, call: &str, state: &State, now: Time) {
        for (address, instance) in &self.pods {
            let is_there = is_on(state, *address, instance);
            if !is_there && self.missing.insert(*address) {
                let (address, instance, call) = (*address, instance.clone(), call.to_owned());
                self.found.push(Violation::Taken { address, instance, call, at: now });
            }
        }
    }

    /// Everything that must never happen and did; `busiest` is the largest number of calls within a minute.
    #[must_use]
    pub fn verdict(&self, state: &State, busiest: usize, now: Time) -> Vec<Violation> {
        let mut found = self.found.clone();
        // These were taken away by the late effect of a call, not by a call itself.
        let missing = self.pods.iter().filter(|(address, instance)| {
            !self.missing.contains(address) && !is_on(state, **address, instance)
        });
        found.extend(missing.map(|(address, instance)| Violation::NotOnNode {
            address: *address,
            instance: instance.clone(),
            at: now,
        }));
        let idle = state.interfaces().all().filter_map(|interface| Some((interface, interface.idle_since?)));
        found
            .extend(idle.filter(|(_, since)| now.since(*since) >= self.terms.idle_ms).map(
                |(interface, since)| Violation::WithoutOwner { interface: interface.id.clone(), since },
            ));
        if let Some(budget) = self.terms.calls_per_minute.filter(|budget| busiest > *budget) {
            found.push(Violation::TooManyCalls { calls: busiest, budget });
        }
        found
    }
}

/// Whether an address arrives at a node.
fn is_on(state: &State, address: IpAddr, instance: &str) -> bool {
    state.interfaces().all().any(|interface| interface.is_on(instance) && interface.carries(address))
}
