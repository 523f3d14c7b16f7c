//! Reads objects of kinds that this program has no types for.

use anyhow::Context as _;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::{GroupVersionKind, ObjectMeta};
use kube::{Api, Client, ResourceExt as _};
use serde::de::DeserializeOwned;
use tenure_cluster::client::{ApiCallError, call};

/// The objects that one call may return.
const PAGE: u32 = 500;

/// The status of HTTP for what is not there.
const NOT_FOUND: u16 = 404;

/// An object of another program, as far as an import needs it.
#[derive(Debug)]
pub(super) struct PeerRecord<S> {
    /// The name, with its namespace if it has one.
    pub(super) name: String,
    /// The metadata.
    pub(super) metadata: ObjectMeta,
    /// The spec.
    pub(super) spec: S,
}

/// A kind of another program's objects.
pub(super) fn kind(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// Lists all objects of a kind; `None` if the API server does not serve it.
///
/// # Errors
/// If a call fails, or an object is not as expected: an import that leaves something out is worse than none.
pub(super) async fn list<S: DeserializeOwned>(
    client: &Client,
    kind: &ApiResource,
    namespace: Option<&str>,
) -> anyhow::Result<Option<Vec<PeerRecord<S>>>> {
    let api: Api<DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, kind),
        None => Api::all_with(client.clone(), kind),
    };
    let (mut records, mut parameters) = (Vec::new(), ListParams::default().limit(PAGE));
    loop {
        let page = match call(api.list(&parameters)).await {
            Ok(page) => page,
            Err(error) if is_not_served(&error) => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot list {}", kind.plural)),
        };
        for object in page.items {
            let name = object
                .namespace()
                .map_or_else(|| object.name_any(), |namespace| format!("{namespace}/{}", object.name_any()));
            let spec = object.data.get("spec").cloned().unwrap_or_default();
            let spec = serde_json::from_value(spec).with_context(|| format!("{} {name}", kind.kind))?;
            records.push(PeerRecord { name, metadata: object.metadata, spec });
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = ListParams::default().limit(PAGE).continue_token(&token),
            None => return Ok(Some(records)),
        }
    }
}

/// Whether there is no such kind. A list of a kind that is served is never answered so, and of a group that is not served the answer has no
/// reason.
fn is_not_served(error: &ApiCallError) -> bool {
    error.status().is_some_and(|status| status.code == NOT_FOUND)
}
