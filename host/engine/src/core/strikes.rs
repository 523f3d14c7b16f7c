//! Policies that keep failing, and how long their calls are refused without being made.
//!
//! ```text
//! fine ──fails──▶ counted ──fails more often than not──▶ benched ──its time is up────▶ one trial call
//!   ▲               │  ▲                                    ▲ │                              │
//!   └──answers──────┘  └──────────── answers ───────────────┼─┴──── fails: twice as long ────┘
//! ```
//!
//! Failures are counted separately for each network: one network's configuration may break a policy that serves other
//! networks well. They are counted separately for pods and for each agent, too: requests on which a policy fails bench it only for
//! the caller that makes them. Plans are counted apart as well: a policy that cannot plan goes on handing out what is free. An operator's calls are not counted and never refused. The map is behind a `std::sync::Mutex`; as long as nothing fails, an atomic avoids the lock.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_types::{AgentName, Error, ErrorCode, NetworkName, PolicyName, PolicyStamp};

use crate::lock::hold;

/// A policy is benched once this many more calls have failed than were answered.
const MOST: u32 = 5;

/// How long a policy is benched the first time; each further time doubles it.
const FIRST: Duration = Duration::from_secs(1);

/// The longest time that a policy is benched.
const LONGEST: Duration = Duration::from_secs(60);

/// How long the failures count of a policy that no longer serves the network: a network that cannot be defined is served by none.
const REMEMBERED: Duration = Duration::from_secs(300);

/// The maximum number of counts. Bounded, because requests can name networks that are never defined.
const COUNTED: usize = 1024;

/// On whose behalf a policy is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Requester {
    /// Pods and the node itself.
    Node,
    /// An operator, or a rollback. Never refused and never counted: this is the way out for a network whose policy is benched.
    Operator,
    /// An agent, for its claims.
    Agent(AgentName),
    /// The executor, for a plan.
    Executor,
}

type Key = (NetworkName, PolicyName, Arc<str>, Requester);

#[derive(Debug, Default)]
pub(crate) struct Strikes {
    counted: Mutex<HashMap<Key, Count>>,
    /// Whether there is any count.
    any: AtomicBool,
}

#[derive(Debug)]
struct Count {
    strikes: u32,
    /// How often it was benched since its count was last zero.
    benched: u32,
    until: Duration,
    /// Time of the last failure.
    failed_at: Duration,
    /// Why the last call failed.
    cause: String,
}

impl Strikes {
    /// Refuses a call to a benched policy.
    pub(crate) fn check(
        &self,
        requester: &Requester,
        network: &NetworkName,
        policy: &PolicyStamp,
        now: Duration,
    ) -> Result<(), Error> {
        if !self.any.load(Ordering::Acquire) || *requester == Requester::Operator {
            return Ok(());
        }
        let key = key(requester, network, policy);
        match hold(&self.counted).get(&key) {
            Some(count) if count.until > now => {
                Err(Error::new(ErrorCode::PolicyBenched, count.tell(&key, now)))
            }
            _ => Ok(()),
        }
    }

    /// Counts the outcome of a call.
    pub(crate) fn count<T>(
        &self,
        requester: &Requester,
        network: &NetworkName,
        policy: &PolicyStamp,
        outcome: &Result<T, Error>,
        now: Duration,
    ) {
        if *requester == Requester::Operator {
            return;
        }
        match outcome {
            Err(error) if error.code == ErrorCode::PolicyFailed => {
                self.fail(&key(requester, network, policy), error, now);
            }
            _ if self.any.load(Ordering::Acquire) => self.answer(&key(requester, network, policy)),
            _ => {}
        }
    }

    fn fail(&self, key: &Key, error: &Error, now: Duration) {
        let mut counted = hold(&self.counted);
        if counted.len() >= COUNTED && !counted.contains_key(key) {
            let oldest = counted.iter().min_by_key(|(_, count)| count.until).map(|(key, _)| key.clone());
            oldest.map(|oldest| counted.remove(&oldest));
        }
        self.any.store(true, Ordering::Release);
        let count = counted.entry(key.clone()).or_insert_with(|| Count {
            strikes: 0,
            benched: 0,
            until: Duration::ZERO,
            failed_at: now,
            cause: String::new(),
        });
        count.strikes = (count.strikes + 1).min(MOST);
        count.failed_at = now;
        count.cause.clone_from(&error.cause);
        if count.strikes >= MOST {
            count.until = now + FIRST.saturating_mul(1 << count.benched.min(16)).min(LONGEST);
            count.benched += 1;
            let (network, policy, ..) = key;
            tracing::warn!(%network, %policy, "benched: {}", count.tell(key, now));
        }
    }

    fn answer(&self, key: &Key) {
        let mut counted = hold(&self.counted);
        let Some(count) = counted.get_mut(key) else { return };
        count.strikes -= 1;
        if count.strikes == 0 {
            counted.remove(key);
            self.any.store(!counted.is_empty(), Ordering::Release);
        }
    }

    /// Forgets the failures of policies that are no longer asked: nothing would answer any more, and end the count.
    pub(crate) fn forget(
        &self,
        now: Duration,
        is_asked: impl Fn(&NetworkName, &PolicyStamp, &Requester) -> bool,
    ) {
        if !self.any.load(Ordering::Acquire) {
            return;
        }
        let mut counted = hold(&self.counted);
        counted.retain(|(network, name, digest, requester), count| {
            let policy = PolicyStamp { name: name.clone(), digest: Arc::clone(digest) };
            count.failed_at + REMEMBERED > now || is_asked(network, &policy, requester)
        });
        self.any.store(!counted.is_empty(), Ordering::Release);
    }

    /// Lists the networks on which a version of a policy is benched, as messages.
    pub(crate) fn benched_versions(&self, now: Duration, policy: &PolicyStamp) -> Vec<String> {
        if !self.any.load(Ordering::Acquire) {
            return Vec::new();
        }
        let counted = hold(&self.counted);
        let benched = counted.iter().filter(|((_, name, digest, _), count)| {
            count.benched > 0 && (name, digest) == (&policy.name, &policy.digest)
        });
        let mut told: Vec<_> = benched.map(|(key, count)| count.tell(key, now)).collect();
        told.sort_unstable();
        told
    }

    /// The benched policies: `network/policy`, with the agent behind it if it is benched for that only, and the message.
    pub(crate) fn benched(&self, now: Duration) -> Vec<(String, String)> {
        if !self.any.load(Ordering::Acquire) {
            return Vec::new();
        }
        let counted = hold(&self.counted);
        let benched = counted.iter().filter(|(_, count)| count.benched > 0);
        let mut benched: Vec<_> = benched
            .map(|(key, count)| {
                let (network, policy, _, requester) = key;
                let subject = match requester {
                    Requester::Node | Requester::Operator => format!("{network}/{policy}"),
                    Requester::Agent(agent) => format!("{network}/{policy}/agents.{agent}"),
                    Requester::Executor => format!("{network}/{policy}/plans"),
                };
                (subject, count.tell(key, now))
            })
            .collect();
        benched.sort_unstable();
        benched
    }
}

impl Count {
    fn tell(&self, (network, policy, digest, requester): &Key, now: Duration) -> String {
        let cause = &self.cause;
        let policy = PolicyStamp { name: policy.clone(), digest: digest.clone() };
        let whose = match requester {
            Requester::Node | Requester::Operator => String::new(),
            Requester::Agent(agent) => format!(" for the claims of agent {agent}"),
            Requester::Executor => " when it plans".to_owned(),
        };
        let left = self.until.saturating_sub(now);
        let when = match left.is_zero() {
            true => "the next request tries it again".to_owned(),
            false => format!("its calls are refused for {} s", left.as_millis().div_ceil(1000)),
        };
        format!("policy {policy} keeps failing on network {network}{whose}; {when}; last failure: {cause}")
    }
}

fn key(requester: &Requester, network: &NetworkName, policy: &PolicyStamp) -> Key {
    (network.clone(), policy.name.clone(), policy.digest.clone(), requester.clone())
}

#[cfg(test)]
mod tests;
