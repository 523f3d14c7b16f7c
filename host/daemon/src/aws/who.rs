//! The node's identity in AWS: asked once, and kept in the checkpoint for a start at which nobody answers.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_aws::former;
use tenure_aws::identity::{self, Identity};
use tenure_aws::metadata::{InstanceMetadata, MetadataError};
use tenure_engine::Engine;
use tenure_netlink::Kernel;
use tenure_types::{NetworkName, Result};
use tokio::time::sleep;

use super::identities::{keep, kept as stored};

/// How long to wait before the metadata service is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(2);

/// Finds out who the node is.
pub(crate) struct Who<'a> {
    pub(crate) engine: &'a Engine,
    /// The network that the interfaces supply.
    pub(crate) network: &'a NetworkName,
    pub(crate) metadata: &'a dyn InstanceMetadata,
}

impl Who<'_> {
    /// Identifies the node, and says whether the metadata service did so now. Asks until the metadata service gives an identity that fits this machine, or the stored one is this
    /// instance's; `told` hears of each failure.
    pub(crate) async fn is_it(&self, told: impl Fn(String)) -> (Identity, bool) {
        loop {
            let links = self.links().await;
            let answer = match (self.metadata.identity().await, &links) {
                (Err(error), _) => Err((self.kept(links.as_ref()), words(&error))),
                (Ok(fresh), Some(links)) => {
                    identity::believed(fresh, stored(self.engine), links).map_err(|refused| *refused)
                }
                // Only the kernel can say whether it fits.
                (Ok(_), None) => {
                    Err((None, "the kernel does not say which links this machine has".to_owned()))
                }
            };
            match answer {
                Ok(identity) => match self.leaves_others(&identity).await {
                    Ok(()) => {
                        keep(self.engine, &identity).await;
                        return (identity, true);
                    }
                    Err(error) => told(format!("the state of another instance cannot be left: {error}")),
                },
                Err((Some(identity), why)) => {
                    tracing::warn!(
                        why,
                        instance = identity.instance,
                        "using the node's identity from before"
                    );
                    return (identity, false);
                }
                Err((None, why)) => told(why),
            }
            sleep(ASK_AGAIN).await;
        }
    }

    /// Waits until the metadata service shows that the node is not what its identity from before says, such as an instance that was stopped and
    /// started as another type; keeps what it is now.
    pub(crate) async fn is_another_than(&self, before: &Identity) {
        loop {
            sleep(ASK_AGAIN).await;
            let (Ok(fresh), Some(links)) = (self.metadata.identity().await, self.links().await) else {
                continue;
            };
            let Ok(fresh) = identity::believed(fresh, stored(self.engine), &links) else { continue };
            if fresh.is_as(before) {
                return std::future::pending().await;
            }
            let (was, is) = (&before.instance_type, &fresh.instance_type);
            tracing::warn!(was, is, "the node's identity from before does not hold any more");
            return keep(self.engine, &fresh).await;
        }
    }

    /// Leaves to another instance what a copy of its disk has brought here.
    async fn leaves_others(&self, identity: &Identity) -> Result<()> {
        match stored(self.engine).filter(|stored| stored.instance != identity.instance) {
            Some(other) => {
                let (was, is) = (other.instance, &identity.instance);
                tracing::warn!(was, is, "the state is of another instance; nothing of it is handed out");
                former::leave(self.engine, self.network).await
            }
            None => Ok(()),
        }
    }

    /// Returns the stored identity, if it is this instance's: a copy of its disk in another one has another hardware address.
    fn kept(&self, links: Option<&BTreeSet<String>>) -> Option<Identity> {
        stored(self.engine).filter(|identity| links.is_some_and(|links| links.contains(&identity.mac)))
    }

    /// The hardware addresses of this machine's links; `None` if the kernel does not say.
    async fn links(&self) -> Option<BTreeSet<String>> {
        let links = Kernel::connect().ok()?.links().await.ok()?;
        Some(links.iter().filter_map(|link| link.mac.map(|mac| mac.to_string())).collect())
    }
}

fn words(error: &MetadataError) -> String {
    format!("the instance metadata service does not say who this node is: {error}")
}
