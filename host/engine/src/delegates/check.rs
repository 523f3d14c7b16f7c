//! CHECK, GC and STATUS, handed on to delegates whose version has them.

use std::collections::{BTreeSet, HashSet};

use tenure_types::cni::Success;
use tenure_types::{
    AssignedAddress, ContainerId, DelegateName, DelegateVerb, InterfaceName, NetworkName, Owner, Result,
};

use super::DelegateClient;
use super::identity::{call, is_of_claims};

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

    /// Hands a GC on to the delegates of a network, with everything that the ledger knows of added to the runtime's list: the
    /// claims of agents, and what is still to be given back with a DEL of its own.
    pub(crate) async fn gc_at_delegates(
        &self,
        network: &NetworkName,
        valid: &HashSet<(ContainerId, InterfaceName)>,
    ) {
        let Some(slot) = self.core.networks.known(network) else { return };
        // Nobody is asked for anything meanwhile that is not on the list.
        let _asking = slot.asking.write().await;
        let known: Vec<_> = self.core.committer.node().delegations.of(network).cloned().collect();
        let ours = known.iter().map(|asked| (asked.container.clone(), asked.interface.clone()));
        // A runtime does not know claims: an attachment with such a name is not one, and would be kept for ever.
        let pods = valid.iter().filter(|(container, _)| !is_of_claims(container));
        let all: BTreeSet<_> = pods.cloned().chain(ours).collect();
        let mut told: BTreeSet<&DelegateName> = BTreeSet::new();
        for delegation in &known {
            if !told.insert(&delegation.delegate) {
                continue;
            }
            let Ok(port) = self.delegate(&delegation.delegate) else { continue };
            let verb = DelegateVerb::Gc { valid: all.clone() };
            if let Err(error) = port.tell(&call(delegation, None), &verb).await {
                tracing::warn!(%network, delegate = %delegation.delegate, cause = error.cause, "a delegate's GC failed");
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
        let defect = |error| tenure_types::Error::new(tenure_types::ErrorCode::Internal, error);
        let asked = tenure_types::DelegateCall {
            network: network.clone(),
            ipam: ipam.into(),
            container: ContainerId::new("tenure").map_err(defect)?,
            interface: InterfaceName::new("eth0").map_err(defect)?,
            netns: "".into(),
            pod: None,
            requested: Vec::new(),
        };
        port.tell(&asked, &DelegateVerb::Status).await.map(drop)
    }
}
