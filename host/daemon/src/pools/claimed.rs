//! The addresses of the claims that a pod names.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_cluster::agent::{ClaimAddress, ClaimWait, ClaimingPod, PoolFamily};
use tenure_cluster::pods::{ObjectLabels, guest_of};
use tenure_cluster::pools::{ClaimName, named_claims};
use tenure_engine::{Add, Engine};
use tenure_types::{Error, ErrorCode, Owner, PodIdentity, PoolName, Result};

use super::door::ClaimDoor;
use super::told::ToldPods;
use crate::pods::PodDoor;

/// The addresses of a pod's claims on one network, at most one of each family.
#[derive(Debug, Default)]
pub(super) struct ClaimedAddresses(Vec<ClaimAddress>);

impl ClaimedAddresses {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn addresses(&self) -> Vec<IpAddr> {
        self.0.iter().map(|claimed| claimed.address).collect()
    }

    /// The pools to offer: the claims' own, and of these others those of the families that no claim is of.
    pub(super) fn with(&self, others: impl IntoIterator<Item = PoolName>) -> Vec<PoolName> {
        let own = self.0.iter().map(|claimed| format!("{}{}", claimed.pool, suffix(claimed.address)));
        // The agent has a pool of this name.
        let own = own.filter_map(|name| PoolName::new(name).ok());
        let is_claimed =
            |pool: &PoolName| self.0.iter().any(|known| pool.as_str().ends_with(suffix(known.address)));
        own.chain(others.into_iter().filter(|pool| !is_claimed(pool))).collect()
    }
}

/// The claims that a pod names for the interface of an ADD.
///
/// # Errors
/// If no claim can have one of the names.
pub(super) fn claims_of(add: &Add, pod: &PodIdentity, labels: &ObjectLabels) -> Result<Vec<ClaimName>> {
    let interface = match &add.request.owner {
        Owner::Attachment { interface, .. } => interface.as_str(),
        Owner::Claim { .. } | Owner::Unknown { .. } => "",
    };
    named_claims(labels, &pod.namespace, &pod.name, interface).map_err(|why| {
        Error::new(ErrorCode::PoolUnmatched, format_args!("pod {}/{}: {why}", pod.namespace, pod.name))
    })
}

fn suffix(address: IpAddr) -> &'static str {
    PoolFamily::of(address.into()).suffix()
}

/// Looks up the addresses of the claims that pods name.
pub(super) struct PodClaims {
    engine: Arc<Engine>,
    door: Arc<ClaimDoor>,
    pods: Arc<PodDoor>,
    told: ToldPods,
}

impl PodClaims {
    pub(super) fn new(engine: Arc<Engine>, door: Arc<ClaimDoor>, pods: Arc<PodDoor>) -> Self {
        Self { engine, door, pods, told: ToldPods::default() }
    }

    /// The AddressPool of an AddressClaim.
    ///
    /// # Errors
    /// If it is not known.
    pub(super) async fn pool_of(&self, claim: &ClaimName) -> Result<String, ClaimWait> {
        self.door.pool_of(claim).await
    }

    /// Waits for the addresses of the claims that a pod names, as far as they are of this network's pools.
    pub(super) async fn of_pod(
        &self,
        add: &Add,
        pod: &PodIdentity,
        labels: &ObjectLabels,
        pools: &[String],
    ) -> Result<ClaimedAddresses> {
        let mut found = ClaimedAddresses::default();
        let words = format!("{}/{}", pod.namespace, pod.name);
        // Whether a virtual machine runs in the pod does not matter here.
        let guest = guest_of(labels, "").map(|guest| guest.uid);
        let claiming = ClaimingPod { name: words.clone(), guest };
        for claim in claims_of(add, pod, labels)? {
            let claimed = match self.door.addresses_of(&claim, &claiming).await {
                Ok(claimed) => claimed,
                Err(ClaimWait::Pending(why)) => return Err(Error::new(ErrorCode::ClaimPending, why)),
                Err(ClaimWait::PreviousOwner(why)) => return Err(self.waits(pod, why)),
            };
            // Another interface of the pod gets those of another network.
            for claimed in claimed.into_iter().filter(|claimed| pools.contains(&claimed.pool)) {
                self.admit(add, pod, &claim, claimed, &mut found).await?;
            }
        }
        let requested = add.request.requested.iter().find(|address| !found.addresses().contains(address));
        match requested.filter(|_| !found.is_empty()) {
            Some(address) => Err(Error::new(
                ErrorCode::PoolUnmatched,
                format_args!(
                    "{address} is requested by the CNI configuration, and is of none of the claims of pod {words}"
                ),
            )),
            None => Ok(found),
        }
    }

    /// Adds the address of a claim to those that were found, unless another pod has it or the interface has one of its family.
    async fn admit(
        &self,
        add: &Add,
        pod: &PodIdentity,
        claim: &ClaimName,
        claimed: ClaimAddress,
        found: &mut ClaimedAddresses,
    ) -> Result<()> {
        let address = claimed.address;
        if let Some(other) = self.local_holder(add, pod, address).await {
            let why = format!("{address} of claim {claim} is still in use on this node by pod {other}");
            return Err(self.waits(pod, why));
        }
        if let Some(other) = found.addresses().into_iter().find(|other| other.is_ipv4() == address.is_ipv4())
        {
            let why = format!(
                "pod {}/{} claims {other} and {address}, and an interface gets one address of each family",
                pod.namespace, pod.name
            );
            return Err(Error::new(ErrorCode::PoolUnmatched, why));
        }
        found.0.push(claimed);
        Ok(())
    }

    /// Another pod of this node that has the address, unless it is the one that this pod has replaced.
    async fn local_holder(&self, add: &Add, pod: &PodIdentity, address: IpAddr) -> Option<String> {
        let book = self.engine.book(&add.request.network).await?;
        let held = book.holder(address).filter(|held| held.owner != add.request.owner)?;
        let holder = held.pod().map(|known| (&known.namespace, &known.name));
        match holder {
            Some(known) if known == (&pod.namespace, &pod.name) => None,
            Some((namespace, name)) => Some(format!("{namespace}/{name}")),
            None => Some("of an unknown name".to_owned()),
        }
    }

    fn waits(&self, pod: &PodIdentity, why: String) -> Error {
        if self.told.is_news(pod) {
            self.pods.tell(pod, "WaitingForPreviousOwner", &why);
        }
        Error::new(ErrorCode::WaitingForPreviousOwner, why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_leaves_the_other_family_to_other_pools() {
        let claimed = ClaimAddress { address: "10.9.0.1".parse().unwrap(), pool: "names".to_owned() };
        let pools = ["pods.v4", "pods.v6"].map(|name| PoolName::new(name).unwrap());
        let names = |claimed: &ClaimedAddresses| {
            claimed.with(pools.clone()).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(names(&ClaimedAddresses(vec![claimed])), ["names.v4", "pods.v6"]);
        assert_eq!(names(&ClaimedAddresses::default()), ["pods.v4", "pods.v6"]);
    }
}
