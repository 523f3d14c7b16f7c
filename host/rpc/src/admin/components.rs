//! Loading policies into the node, and unloading them.

use std::sync::Arc;

use tenure_engine::Engine;
use tenure_engine::ports::Offered;
use tenure_types::{Error, ErrorCode, PolicyName, Result};
use tonic::{Status, Streaming};

use super::exchange::{selected, to_the_end};
use super::granted;
use super::shown::policy_ref;
use crate::status::to_status;
use crate::v1;

/// The most bytes that are collected; a policy's own limit is smaller.
const MOST: usize = 256 << 20;

/// Collects the parts of a component, and loads it.
pub(super) async fn load(
    engine: &Arc<Engine>,
    mut parts: Streaming<v1::LoadPolicyPart>,
) -> Result<v1::LoadPolicyResponse, Status> {
    let (mut head, mut bytes) = (None, Vec::new());
    while let Some(part) = parts.message().await? {
        head = head.or(part.head);
        bytes.extend_from_slice(&part.piece);
        if bytes.len() > MOST {
            let cause = format_args!("the component is longer than {} MiB", MOST >> 20);
            return Err(to_status(&Error::new(ErrorCode::PolicyUnloadable, cause)));
        }
    }
    let loading = Arc::clone(engine);
    let v1::LoadPolicyHead { name, sha256, signature, source, older } = head.unwrap_or_default();
    let loaded = async {
        let name = PolicyName::new(name).map_err(|error| Error::new(ErrorCode::UnknownPolicy, error))?;
        let sha256 = sha256.trim().to_ascii_lowercase();
        let offered = Offered { name, bytes, sha256, signature, source, older };
        to_the_end(async move { loading.load_policy(offered).await }).await
    };
    let loaded = loaded.await.map_err(|error| to_status(&error))?;
    let notice = granted::notice(engine, &loaded.policy);
    Ok(v1::LoadPolicyResponse { policy: Some(policy_ref(&loaded.policy)), signer: loaded.signer, notice })
}

pub(super) async fn unload(engine: &Arc<Engine>, policy: &str) -> Result<v1::UnloadPolicyResponse> {
    let (engine, selector) = (Arc::clone(engine), selected(policy)?);
    let unloaded = to_the_end(async move { engine.unload_policy(&selector).await }).await?;
    Ok(v1::UnloadPolicyResponse { policy: Some(policy_ref(&unloaded)) })
}
