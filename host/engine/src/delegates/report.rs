//! Delegates and delegations, as operators see them.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use tenure_ledger::Delegation;
use tenure_types::{ConditionName, DelegateCall, DelegateName, DelegateVerb, NetworkName};

use super::DelegateClient;
use super::identity::about;

/// How far a delegation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The owner has what the delegate gave.
    InUse,
    /// The delegate is being asked, or has to be told that the addresses it gave are not used.
    Open,
    /// The owner has it no more, and the delegate has to take it back.
    Leaving,
}

impl Phase {
    /// The stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InUse => "in-use",
            Self::Open => "open",
            Self::Leaving => "leaving",
        }
    }
}

/// A delegation, and how far it is.
#[derive(Debug, Clone)]
pub struct Pending {
    /// The delegation.
    pub delegation: Arc<Delegation>,
    /// How far it is.
    pub phase: Phase,
    /// How often it could not be undone, since the daemon started.
    pub attempts: u32,
    /// Why it could not the last time; empty if it was not tried.
    pub why: String,
}

impl DelegateClient {
    /// Serves [`Engine::delegations`](crate::Engine::delegations).
    pub(crate) fn delegations(&self) -> Vec<Pending> {
        let all: Vec<_> = self.core.committer.node().delegations.all().cloned().collect();
        let pending = |delegation: Arc<Delegation>| {
            let phase = match &delegation.given {
                _ if self.is_in_use(&delegation) => Phase::InUse,
                None => Phase::Open,
                Some(_) => Phase::Leaving,
            };
            let retry = self.memory.retry(&(delegation.network.clone(), delegation.owner.clone()));
            let (attempts, why) = retry.map_or((0, String::new()), |retry| (retry.attempts, retry.why));
            Pending { delegation, phase, attempts, why }
        };
        all.into_iter().map(pending).collect()
    }

    /// Whether a delegate has such a delegation.
    fn has_delegations(&self, name: &DelegateName, such: impl Fn(&Pending) -> bool) -> bool {
        self.delegations().iter().any(|pending| pending.delegation.delegate == *name && such(pending))
    }

    /// Asks the delegates that fail whether they work again, and updates the condition.
    pub(super) async fn look_at_delegates(&self) {
        let asked = self.memory.failing().into_iter().map(|(name, _)| async move {
            let Ok(port) = self.delegate(&name) else {
                // It is configured no more, and of no consequence once it has nothing to take back.
                if !self.has_delegations(&name, |_| true) {
                    self.memory.works(&name);
                }
                return;
            };
            let Some(call) = question() else { return };
            let works = match port.tell(&call, &DelegateVerb::Status).await {
                // It knows no STATUS, and has said only that it runs. Whether it works shows by what it has to take back.
                Ok(false) => !self.has_delegations(&name, |pending| pending.attempts > 0),
                answer => answer.is_ok(),
            };
            if works {
                self.memory.works(&name);
            }
        });
        join_all(asked).await;
        // By delegate: how many of its allocations could not be given back, and why.
        let mut waiting: BTreeMap<DelegateName, (usize, String)> = BTreeMap::new();
        for Pending { delegation, phase, attempts, why } in self.delegations() {
            if phase != Phase::InUse && attempts > 0 {
                let entry = waiting.entry(delegation.delegate.clone()).or_insert((0, why));
                entry.0 += 1;
            }
        }
        let mut failing: BTreeMap<DelegateName, String> = self.memory.failing().into_iter().collect();
        for (name, (number, why)) in waiting {
            let why = failing.remove(&name).unwrap_or(why);
            failing.insert(name, format!("{why}; {number} of its allocations wait to be given back"));
        }
        let failing = failing.into_iter().map(|(name, why)| (name.to_string(), why));
        self.core.conditions.replace(ConditionName::DelegateFailing, failing);
    }
}

/// A call about no network: whether the delegate runs at all.
fn question() -> Option<DelegateCall> {
    about(&NetworkName::new("tenure").ok()?, "{}").ok()
}
