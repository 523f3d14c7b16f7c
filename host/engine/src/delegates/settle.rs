//! Undoing one delegation at its delegate.

use std::sync::Arc;

use tenure_ledger::{Delegation, DelegationFact, Fact, NodeChapters};
use tenure_types::{DelegateName, DelegateVerb, Error, ErrorCode, NetworkName, Owner, Result};

use super::DelegateClient;
use super::given::withdrawn;
use super::identity::{call, names};
use crate::ports::Delegate;

/// How much of a network may wait to be given back before an owner that the ledger does not know is left out.
const MOST_SUSPECTED: usize = 4_096;

impl DelegateClient {
    /// Undoes what is open for a key, if anything is. The caller has the key's turn.
    ///
    /// # Errors
    /// `DelegateUnavailable` and `DelegateFailed` if it cannot be undone now, and those of the checkpoint.
    pub(super) async fn settle(&self, network: &NetworkName, owner: &Owner) -> Result<()> {
        let known = self.core.committer.node().delegations.get(network, owner).cloned();
        let Some(delegation) = known.filter(|delegation| !self.is_in_use(delegation)) else { return Ok(()) };
        // A crash must not bring back an allocation whose addresses the delegate has taken back: the fact that ended it may not be
        // durable yet.
        self.core.ports.journal.barrier().durable().await?;
        self.undo(&delegation).await?;
        self.end(&delegation).await
    }

    /// As [`settle`](Self::settle), for a caller that does not need it done: what fails is tried again later, and a delegate
    /// that is known to fail is not waited for.
    pub(crate) async fn settle_quietly(&self, network: &NetworkName, owner: &Owner) {
        let known = self.core.committer.node().delegations.get(network, owner).cloned();
        let Some(delegation) = known else { return };
        if !self.memory.is_failing(&delegation.delegate) && self.settle(network, owner).await.is_ok() {
            return;
        }
        self.memory.due.notify_one();
    }

    /// Takes down that a delegate may have something for an owner of which the ledger knows nothing, so that it is told until it has taken that back;
    /// durable when this returns. The caller has the key's turn.
    ///
    /// # Errors
    /// Those of the checkpoint; while that has no room, those of the delegate.
    pub(crate) async fn suspect(
        &self,
        network: &NetworkName,
        owner: &Owner,
        delegate: DelegateName,
        ipam: Arc<str>,
        netns: Box<str>,
    ) -> Result<()> {
        let (container, interface) = names(network, owner)?;
        let (network, owner, since) = (network.clone(), owner.clone(), self.core.now());
        let given = None;
        let suspected =
            Delegation { network, owner, delegate, container, interface, netns, ipam, since, given };
        if self.core.ports.journal.health().is_err() {
            // Nothing can be taken down: what fails now, the caller has to repeat.
            let port = self.delegate(&suspected.delegate)?;
            return port.tell(&call(&suspected, None), &DelegateVerb::Del).await.map(drop);
        }
        let asked = |node: &NodeChapters| {
            let Delegation { network, owner, .. } = &suspected;
            let open = node.delegations.of(network).filter(|delegation| delegation.given.is_none()).count();
            if node.delegations.get(network, owner).is_some() {
                return None;
            }
            if open >= MOST_SUSPECTED {
                tracing::warn!(%network, %owner, open, "too much waits to be given back; not handing on the DEL of an owner that the ledger does not know");
                return None;
            }
            Some(DelegationFact::Asked(suspected))
        };
        match self.core.committer.commit_node(asked) {
            Some(ticket) => ticket.durable().await,
            None => Ok(()),
        }
    }

    /// Has [`tidy`](Self::tidy) look again.
    pub(crate) fn is_untidy(&self) {
        self.memory.due.notify_one();
    }

    /// Has the delegate free all addresses of the owner.
    pub(super) async fn undo(&self, delegation: &Delegation) -> Result<()> {
        let key = (delegation.network.clone(), delegation.owner.clone());
        let told = match self.delegate(&delegation.delegate) {
            Ok(port) => port.tell(&call(delegation, None), &DelegateVerb::Del).await.map(drop),
            Err(error) => Err(error),
        };
        match told {
            Ok(()) => {
                self.memory.works(&delegation.delegate);
                Ok(())
            }
            Err(error) => {
                self.memory.fails(&delegation.delegate, &error);
                self.memory.postpone(&key, self.core.ports.clock.monotonic(), &error);
                Err(error)
            }
        }
    }

    /// Records that the delegate has nothing for the owner any more, and removes the ranges of what it had given; durable
    /// when this returns.
    pub(super) async fn end(&self, delegation: &Delegation) -> Result<()> {
        let (network, owner, now) = (&delegation.network, &delegation.owner, self.core.now());
        self.memory.settled(&(network.clone(), owner.clone()));
        let ended = DelegationFact::Ended { network: network.clone(), owner: owner.clone(), at: now };
        let addresses = delegation.given.as_ref().map_or(&[][..], |given| &given.addresses);
        let ticket = match self.core.networks.known(network).filter(|_| !addresses.is_empty()) {
            None => self.core.committer.commit_node(|_| Some(ended)),
            Some(slot) => match slot.lock().await.as_mut() {
                None => self.core.committer.commit_node(|_| Some(ended)),
                Some(served) => {
                    let mut facts = withdrawn(&served.book, addresses, now);
                    facts.push(Fact::from(ended));
                    Some(self.core.committer.commit(&mut served.book, &facts)?.1)
                }
            },
        };
        match ticket {
            Some(ticket) => ticket.durable().await,
            None => Ok(()),
        }
    }

    /// Whether the ledger has the allocation of a delegation.
    pub(super) fn is_in_use(&self, delegation: &Delegation) -> bool {
        let Some(given) = &delegation.given else { return false };
        let Some(slot) = self.core.networks.get(&delegation.network) else { return false };
        let state = slot.state();
        let held = state.as_ref().and_then(|served| served.book.owned_by(&delegation.owner));
        held.is_some_and(|held| held.generation == given.generation)
    }

    pub(super) fn delegate(&self, name: &DelegateName) -> Result<Arc<dyn Delegate>> {
        self.core.ports.catalogue.delegate(name).ok_or_else(|| {
            let cause = format_args!("delegates.{name} is not in the daemon's configuration");
            Error::new(ErrorCode::DelegateUnavailable, cause)
        })
    }
}
