//! The verdict of the conformance suite on each policy, and the checks that wait. What a component may use is granted to the policy's name, so
//! the same component has a verdict under each of its names.
//!
//! Verdicts are kept in memory: what has served a network is known from its history. They are behind a
//! `std::sync::Mutex`, held to read and to change them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use tenure_types::{NetworkConfig, NetworkName, PolicyStamp};
use tokio::sync::Notify;

use crate::lock::hold;
use crate::ports::Policy;

/// How many configurations that policies do not accept are remembered.
const MOST_ODD: usize = 64;

/// How many passes with a network's own configuration are remembered.
const MOST_PASSED: usize = 64;

/// The standing of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// The policy is being checked, or waits for that.
    Waiting,
    /// The policy may serve.
    Passed,
    /// The policy does not pass, for this reason.
    Failed(String),
    /// The policy did not accept a configuration, so the suite has no verdict.
    Odd,
}

/// A check to make.
pub(super) struct Check {
    pub(super) policy: Arc<dyn Policy>,
    pub(super) network: NetworkName,
    pub(super) config: Arc<NetworkConfig>,
}

/// A policy has passed the suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) policy: Arc<PolicyStamp>,
    pub(super) network: NetworkName,
    pub(super) config: Arc<NetworkConfig>,
}

/// The verdicts, and the checks that wait.
#[derive(Default)]
pub(crate) struct Vetting {
    known: Mutex<HashMap<PolicyStamp, Standing>>,
    /// Which policies have passed with the configurations of which networks, the latest last.
    passed: Mutex<VecDeque<Passed>>,
    /// Which policies have not accepted which configurations, the latest last.
    odd: Mutex<VecDeque<(Arc<PolicyStamp>, Arc<NetworkConfig>)>>,
    waiting: Mutex<VecDeque<Check>>,
    due: Notify,
}

impl Vetting {
    pub(super) fn standing(&self, policy: &PolicyStamp) -> Option<Standing> {
        hold(&self.known).get(policy).cloned()
    }

    pub(super) fn set(&self, policy: &PolicyStamp, standing: Standing) {
        hold(&self.known).insert(policy.clone(), standing);
    }

    /// Queues a check.
    pub(super) fn begin(&self, check: Check) {
        self.set(check.policy.stamp(), Standing::Waiting);
        hold(&self.waiting).push_back(check);
        self.due.notify_one();
    }

    /// Notes the outcome of a check.
    pub(super) fn end(&self, check: &Check, failure: Option<String>, skipped: bool) {
        let policy = check.policy.stamp();
        let standing = match (failure, skipped) {
            (Some(why), _) => {
                tracing::warn!(%policy, why, "a policy does not pass the conformance suite");
                Standing::Failed(why)
            }
            (None, false) => Standing::Passed,
            (None, true) => {
                let odd = (Arc::clone(policy), Arc::clone(&check.config));
                keep(&mut hold(&self.odd), MOST_ODD, odd);
                Standing::Odd
            }
        };
        self.set(policy, standing);
    }

    /// Whether a policy has not accepted a configuration.
    pub(super) fn is_odd(&self, policy: &PolicyStamp, config: &NetworkConfig) -> bool {
        hold(&self.odd).iter().any(|odd| (&*odd.0, &*odd.1) == (policy, config))
    }

    /// Whether a policy has passed just so. The verdict would be the same: neither the suite nor the policy reads a clock.
    pub(super) fn has_passed(&self, passed: &Passed) -> bool {
        hold(&self.passed).contains(passed)
    }

    /// A policy has passed.
    pub(super) fn pass(&self, this: Passed) {
        keep(&mut hold(&self.passed), MOST_PASSED, this);
    }

    /// Forgets what has not passed, and with which configurations others have or were not accepted, since what policies may
    /// use has changed.
    pub(super) fn forget(&self) {
        hold(&self.passed).clear();
        hold(&self.odd).clear();
        hold(&self.known).retain(|_, standing| matches!(standing, Standing::Passed | Standing::Waiting));
    }

    /// Takes the next check to make.
    pub(super) fn next(&self) -> Option<Check> {
        hold(&self.waiting).pop_front()
    }

    /// Waits until there may be one.
    pub(super) async fn due(&self) {
        self.due.notified().await;
    }
}

/// Adds to the latest of something.
fn keep<T>(latest: &mut VecDeque<T>, most: usize, this: T) {
    if latest.len() == most {
        latest.pop_front();
    }
    latest.push_back(this);
}
