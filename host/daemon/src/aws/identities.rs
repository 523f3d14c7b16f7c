//! The node's identity in the checkpoint.

use tenure_aws::identity::{self, Identity};
use tenure_engine::Engine;
use tenure_types::Object;

/// Keeps an identity, and forgets any other.
pub(crate) async fn keep(engine: &Engine, identity: &Identity) {
    let attributes = match identity.attributes() {
        Ok(attributes) => attributes,
        Err(error) => {
            return tracing::warn!(%error, "the instance's identity cannot be kept for the next start");
        }
    };
    let object = Object { kind: identity::KIND.to_owned(), name: identity.instance.clone(), attributes };
    let objects = engine.objects();
    let others = objects.iter().filter(|other| other.kind == identity::KIND && other.name != object.name);
    let gone: Vec<_> = others.map(|other| (other.kind.clone(), other.name.clone())).collect();
    if let Err(error) = engine.objects_seen(&[object], &gone).await {
        tracing::warn!(%error, "the instance's identity cannot be kept for the next start");
    }
}

/// The kept identity.
pub(crate) fn kept(engine: &Engine) -> Option<Identity> {
    let objects = engine.objects();
    let kept = objects.iter().find(|object| object.kind == identity::KIND)?;
    Identity::from_attributes(&kept.attributes)
}
