//! The node's identity in AWS, and the limits of its instance type: asked once, and kept in the checkpoint for a start at which
//! nobody answers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tenure_aws::Ec2;
use tenure_aws::identity::{self, Identity};
use tenure_aws::limits::{self, LimitSource, find};
use tenure_aws::metadata::{InstanceMetadata, MetadataError};
use tenure_aws::port::InstanceLimits;
use tenure_engine::Engine;
use tenure_netlink::Kernel;
use tenure_types::Object;
use tokio::time::sleep;

/// How long to wait before the metadata service is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(2);

/// How often EC2 is asked for the limits, as long as it has not said them.
const ASK_LIMITS: Duration = Duration::from_secs(300);

/// Finds out who the node is.
pub(crate) struct Who<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) metadata: &'a dyn InstanceMetadata,
}

impl Who<'_> {
    /// Identifies the node. Asks until the metadata service gives an identity that fits this machine, or the stored one is this
    /// instance's; `told` hears of each failure.
    pub(crate) async fn is_it(&self, told: impl Fn(String)) -> Identity {
        loop {
            let links = self.links().await;
            let answer = match (self.metadata.identity().await, &links) {
                (Err(error), _) => Err((self.kept(links.as_ref()), words(&error))),
                (Ok(fresh), Some(links)) => {
                    identity::believed(fresh, self.stored(), links).map_err(|refused| *refused)
                }
                // Only the kernel can say whether it fits.
                (Ok(_), None) => {
                    Err((None, "the kernel does not say which links this machine has".to_owned()))
                }
            };
            match answer {
                Ok(identity) => {
                    self.keep(&identity).await;
                    return identity;
                }
                Err((Some(identity), why)) => {
                    tracing::warn!(
                        why,
                        instance = identity.instance,
                        "using the node's identity from before"
                    );
                    return identity;
                }
                Err((None, why)) => told(why),
            }
            sleep(ASK_AGAIN).await;
        }
    }

    async fn keep(&self, identity: &Identity) {
        let attributes = match identity.attributes() {
            Ok(attributes) => attributes,
            Err(error) => {
                return tracing::warn!(%error, "the instance's identity cannot be kept for the next start");
            }
        };
        let object = Object { kind: identity::KIND.to_owned(), name: identity.instance.clone(), attributes };
        let objects = self.engine.objects();
        let others = objects.iter().filter(|other| other.kind == identity::KIND && other.name != object.name);
        let gone: Vec<_> = others.map(|other| (other.kind.clone(), other.name.clone())).collect();
        if let Err(error) = self.engine.objects_seen(&[object], &gone).await {
            tracing::warn!(%error, "the instance's identity cannot be kept for the next start");
        }
    }

    /// Returns the stored identity, if it is this instance's: a copy of its disk in another one has another hardware address.
    fn kept(&self, links: Option<&BTreeSet<String>>) -> Option<Identity> {
        self.stored().filter(|identity| links.is_some_and(|links| links.contains(&identity.mac)))
    }

    fn stored(&self) -> Option<Identity> {
        let objects = self.engine.objects();
        let kept = objects.iter().find(|object| object.kind == identity::KIND)?;
        Identity::from_attributes(&kept.attributes)
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

/// Finds the limits of the instance type: `tell` gets the known ones at once, and EC2's as soon as EC2 answers.
pub(crate) async fn limits(
    engine: &Engine,
    ec2: &Arc<dyn Ec2>,
    instance_type: &str,
    tell: impl Fn(InstanceLimits),
) {
    let kept = engine.objects().iter().find_map(|object| {
        let is_it = object.kind == limits::KIND && object.name == instance_type;
        is_it.then(|| InstanceLimits::from_attributes(&object.attributes)).flatten()
    });
    let mut is_told = false;
    loop {
        let found = find(instance_type, kept, Some(ec2.as_ref())).await;
        let is_guess = matches!(found.source, LimitSource::Table | LimitSource::Assumed);
        // What was a guess before may have been corrected by EC2's refusals since.
        if !(is_guess && is_told) {
            tell(found.limits);
        }
        is_told = true;
        if let Some(error) = &found.failure {
            tracing::warn!(
                instance_type,
                cause = error.message,
                "EC2 does not say what the instance type can have"
            );
        }
        match found.source {
            LimitSource::Kept => return,
            LimitSource::Service => {
                let Ok(attributes) = found.limits.attributes() else { return };
                let (kind, name) = (limits::KIND.to_owned(), instance_type.to_owned());
                let kept = engine.objects_seen(&[Object { kind, name, attributes }], &[]).await;
                if let Err(error) = kept {
                    tracing::warn!(%error, "the limits cannot be kept for the next start");
                }
                return;
            }
            LimitSource::Table | LimitSource::Assumed => sleep(ASK_LIMITS).await,
        }
    }
}
