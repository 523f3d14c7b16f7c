//! Asking a delegate for addresses, safe against a crash at any point.

use std::sync::Arc;

use tenure_ledger::{Delegation, DelegationFact};
use tenure_types::cni::Success;
use tenure_types::{DelegateName, ErrorCode, NetworkName, Owner, PodIdentity, Result};
use tokio::sync::Notify;

use super::DelegateClient;
use super::identity::{call, names};
use crate::network::slot::Slot;
use crate::ports::DelegateFailure;

/// A request to a delegate.
pub(crate) struct Wanting {
    pub(crate) network: NetworkName,
    pub(crate) owner: Owner,
    pub(crate) delegate: DelegateName,
    /// The `ipam` object of the network's configuration.
    pub(crate) ipam: Arc<str>,
    pub(crate) netns: Box<str>,
    pub(crate) pod: Option<PodIdentity>,
    pub(crate) requested: Vec<std::net::IpAddr>,
}

/// A delegate's answer.
pub(crate) struct Obtained {
    pub(crate) delegate: DelegateName,
    pub(crate) given: Success,
    _open: Open,
}

/// A delegation that may have to be undone when this is dropped: unless the ledger has accepted it by then.
struct Open(Arc<Notify>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl DelegateClient {
    /// Has a network's delegate give addresses to an owner. The caller has the key's turn, and neither the network's nor a
    /// place: this takes as long as the delegate does.
    ///
    /// Until the ledger has accepted the answer, the delegation counts as one to be undone, also if this is dropped.
    ///
    /// # Errors
    /// `DelegateUnavailable` and `DelegateFailed`, and those of the checkpoint. What the delegate may have given is given back,
    /// now or later.
    pub(crate) async fn obtain(&self, slot: &Slot, wanting: Wanting) -> Result<Obtained> {
        let _waiting = self.memory.waiting.enter(&wanting.delegate, &wanting.network)?;
        let Wanting { network, owner, delegate, ipam, netns, pod, requested } = wanting;
        self.settle(&network, &owner).await?;
        let (container, interface) = names(&network, &owner)?;
        let since = self.core.now();
        let delegation = Delegation {
            network,
            owner,
            delegate: delegate.clone(),
            container,
            interface,
            netns,
            ipam,
            since,
            given: None,
        };
        let mut asked = call(&delegation, pod);
        asked.requested = requested;
        let port = self.delegate(&delegate)?;
        self.core.ports.journal.health()?;
        let open = Open(Arc::clone(&self.memory.due));
        let note = DelegationFact::Asked(delegation.clone());
        let ticket = {
            // While a GC runs, nobody may be given anything that is not on its list; from this fact on, it is.
            let _asking = slot.asking.read().await;
            self.core.committer.commit_node(|_| Some(note))
        };
        if let Some(ticket) = ticket {
            ticket.durable().await?;
        }
        let mut failure = match self.heard_of(&delegate, port.add(&asked).await) {
            Ok(given) => {
                self.take_over_marks(slot, &given).await?;
                return Ok(Obtained { delegate, given, _open: open });
            }
            Err(failure) => failure,
        };
        if failure.may_have_run {
            // It may have something of an earlier call that nobody remembers, and refuse to give it twice.
            if self.undo(&delegation).await.is_err() {
                return Err(failure.error);
            }
            if failure.is_refusal && failure.error.code == ErrorCode::DelegateFailed {
                failure = match self.heard_of(&delegate, port.add(&asked).await) {
                    Ok(given) => {
                        self.take_over_marks(slot, &given).await?;
                        return Ok(Obtained { delegate, given, _open: open });
                    }
                    Err(failure) => failure,
                };
                if failure.may_have_run && self.undo(&delegation).await.is_err() {
                    return Err(failure.error);
                }
            }
        }
        self.end(&delegation).await?;
        Err(failure.error)
    }

    /// Remembers whether a delegate works, for the conditions. One that refuses works.
    fn heard_of(
        &self,
        delegate: &DelegateName,
        answer: Result<Success, DelegateFailure>,
    ) -> Result<Success, DelegateFailure> {
        match &answer {
            Err(failure) if !failure.is_refusal => self.memory.fails(delegate, &failure.error),
            _ => self.memory.works(delegate),
        }
        answer
    }
}
