//! Undoing delegations at their delegates: before the same key is asked for again, and whenever one is left.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::{FutureExt, StreamExt, future, stream};
use tenure_ledger::Delegation;
use tenure_types::{AgentName, DelegateName, Owner};

use super::DelegateClient;

/// How many delegations of one delegate are undone at once, or of one agent one after the other; how many calls of a delegate
/// run at once is up to its own limit.
const AT_ONCE: usize = 32;

impl DelegateClient {
    /// Serves [`Engine::tidy`](crate::Engine::tidy).
    pub(crate) async fn tidy(&self) -> usize {
        // A delegation that an older state has as left over may be in use by now.
        if self.core.has_state().is_err() {
            return 0;
        }
        let now = self.core.ports.clock.monotonic();
        let mut due: Vec<Arc<Delegation>> = self.core.committer.node().delegations.all().cloned().collect();
        due.retain(|delegation| {
            let key = (delegation.network.clone(), delegation.owner.clone());
            !self.is_in_use(delegation) && self.memory.retry(&key).is_none_or(|retry| retry.not_before <= now)
        });
        // Each delegate by itself, and each agent: a call that hangs delays only its own group.
        let mut groups: BTreeMap<(DelegateName, Option<AgentName>), Vec<Arc<Delegation>>> = BTreeMap::new();
        for delegation in due {
            let agent = match &delegation.owner {
                Owner::Claim { agent, .. } => Some(agent.clone()),
                Owner::Attachment { .. } | Owner::Unknown { .. } => None,
            };
            groups.entry((delegation.delegate.clone(), agent)).or_default().push(delegation);
        }
        let of_each = groups.into_iter().map(|((_, agent), due)| async move {
            match agent {
                Some(agent) => self.tidy_agents(&agent, due).await,
                None => self.tidy_pods(due).await,
            }
        });
        let left = future::join_all(of_each).await.into_iter().sum();
        self.look_at_delegates().await;
        left
    }

    /// Undoes delegations of pods. Returns how many could not be undone.
    async fn tidy_pods(&self, due: Vec<Arc<Delegation>>) -> usize {
        let undone = stream::iter(due).map(|delegation| async move {
            let Delegation { network, owner, .. } = delegation.as_ref();
            let _turn = self.core.admission.enter(network, owner).await?;
            self.settle(network, owner).await
        });
        undone.buffer_unordered(AT_ONCE).filter(|undone| future::ready(undone.is_err())).count().await
    }

    /// Undoes delegations of an agent, as long as it has nothing under way: that may take long. Returns how many could not be
    /// undone.
    async fn tidy_agents(&self, agent: &AgentName, due: Vec<Arc<Delegation>>) -> usize {
        if due.len() > AT_ONCE {
            self.is_untidy();
        }
        let mut left = 0;
        for delegation in due.iter().take(AT_ONCE) {
            let Some(Ok(_turn)) = self.core.turns.enter(agent).now_or_never() else { return left + 1 };
            left += usize::from(self.settle(&delegation.network, &delegation.owner).await.is_err());
        }
        left
    }

    /// Serves [`Engine::untidy`](crate::Engine::untidy).
    pub(crate) async fn untidy(&self) {
        self.memory.due.notified().await;
    }
}
