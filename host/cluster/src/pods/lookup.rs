//! Looking up the labels and annotations of a pod for an ADD: in the watch, which may be a moment behind, and else by one GET.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use tenure_types::PodIdentity;
use tokio::time::timeout;

use super::get::{LookupError, in_time};
use super::labels::ObjectLabels;
use super::verdict::has_uid;
use super::witness::{KnownPodLabels as _, PodsOfNode};

/// How long to wait for the watch to show a pod.
const WATCH_PATIENCE: Duration = Duration::from_millis(200);

impl PodsOfNode {
    /// The labels and annotations of a pod of this node.
    ///
    /// # Errors
    /// [`LookupError`] if the watch does not show the pod within 200 ms, and one GET does not either.
    pub fn labels<'a>(
        &'a self,
        pod: &'a PodIdentity,
    ) -> BoxFuture<'a, Result<Arc<ObjectLabels>, LookupError>> {
        let read = async move {
            if let Ok(labels) = timeout(WATCH_PATIENCE, self.shown(pod)).await {
                return Ok(labels);
            }
            let pods: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace);
            let mut found = in_time(pods.get_metadata(&pod.name)).await?;
            match pod.uid.is_empty() || has_uid(&found.metadata, &pod.uid) {
                true => Ok(Arc::new(ObjectLabels::take(&mut found.metadata))),
                false => Err(LookupError::Replaced),
            }
        };
        read.boxed()
    }

    /// The labels and annotations of a namespace, as of at most a minute ago.
    ///
    /// # Errors
    /// [`LookupError`] if the API server has never answered, or has no such namespace.
    pub fn namespace_labels<'a>(
        &'a self,
        namespace: &'a str,
    ) -> BoxFuture<'a, Result<Arc<ObjectLabels>, LookupError>> {
        self.namespaces.read(&self.client, namespace).boxed()
    }

    /// Waits until the watch shows a pod.
    async fn shown(&self, pod: &PodIdentity) -> Arc<ObjectLabels> {
        let mut events = self.events.subscribe();
        loop {
            if let Some(labels) = self.known_labels(pod) {
                return labels;
            }
            if events.changed().await.is_err() {
                // The sender is in `self`.
                std::future::pending::<()>().await;
            }
        }
    }
}
