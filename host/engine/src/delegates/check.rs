//! CHECK, GC and STATUS, handed on to delegates whose version has them.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use tenure_types::cni::Success;
use tenure_types::{
    AssignedAddress, ContainerId, DelegateName, DelegateVerb, InterfaceName, NetworkName, Owner, Result,
};

use super::DelegateClient;
use super::identity::{about, call, is_of_claims, names};

impl DelegateClient {
    /// Has the delegate check that an owner has what it gave.
    pub(crate) async fn check_at_delegate(
        &self,
        network: &NetworkName,
        owner: &Owner,
        held: &[AssignedAddress],
    ) -> Result<()> {
        let known = self.core.committer.node().delegations.get(network, owner).cloned();
        let Some(delegation) = known else { return Ok(()) };
        let port = self.delegate(&delegation.delegate)?;
        let given = Success::of(held.to_vec());
        port.tell(&call(&delegation, None), &DelegateVerb::Check { given }).await.map(drop)
    }

    /// Hands a GC on to the delegates of a network: to its `present` one, and to those that gave what is in use, with each configuration. Everything
    /// that is known here is added to the runtime's list: what the ledger has, which are the claims of agents and what is still to be given
    /// back with a DEL of its own, and the `awaited` claims, which it does not have yet.
    pub(crate) async fn gc_at_delegates(
        &self,
        network: &NetworkName,
        valid: &HashSet<(ContainerId, InterfaceName)>,
        awaited: &[Owner],
        present: Option<(DelegateName, Arc<str>)>,
    ) {
        // Also if the ledger does not have the network: it may be asked for its first address just now.
        let Ok(slot) = self.core.networks.get_or_create(network) else { return };
        // Nobody is asked for anything meanwhile that is not on the list.
        let _asking = slot.asking.write().await;
        let known: Vec<_> = self.core.committer.node().delegations.of(network).cloned().collect();
        let ours = known.iter().map(|asked| (asked.container.clone(), asked.interface.clone()));
        let awaited = awaited.iter().filter_map(|owner| names(network, owner).ok());
        // A runtime does not know claims: an attachment with such a name is not one, and would be kept for ever.
        let pods = valid.iter().filter(|(container, _)| !is_of_claims(container));
        let all: BTreeSet<_> = pods.cloned().chain(ours).chain(awaited).collect();
        let gave = known.iter().map(|asked| (asked.delegate.clone(), Arc::clone(&asked.ipam)));
        let delegates: BTreeSet<_> = gave.chain(present).collect();
        for (delegate, ipam) in delegates {
            let (Ok(port), Ok(about)) = (self.delegate(&delegate), about(network, &ipam)) else { continue };
            let verb = DelegateVerb::Gc { valid: all.clone() };
            if let Err(error) = port.tell(&about, &verb).await {
                tracing::warn!(%network, %delegate, cause = error.cause, "a delegate's GC failed");
            }
        }
    }

    /// Asks a network's delegate whether it could serve an ADD; one whose version cannot say so only has to run.
    pub(crate) async fn status_of_delegate(
        &self,
        network: &NetworkName,
        delegate: &DelegateName,
        ipam: &str,
    ) -> Result<()> {
        let port = self.delegate(delegate)?;
        port.tell(&about(network, ipam)?, &DelegateVerb::Status).await.map(drop)
    }
}
