//! The labels and annotations of namespaces: read when a pod needs them, and kept for a minute. A watch of all of them would be one more
//! connection of each node.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use tenure_types::hold;
use tokio::time::Instant;

use super::get::{LookupError, in_time};
use super::labels::ObjectLabels;

/// For how long an answer is used.
const KEPT: Duration = Duration::from_secs(60);

/// The most namespaces that are kept; the oldest answer goes first.
const MOST: usize = 1024;

/// An answer and its time.
type TimedLabels = (Instant, Arc<ObjectLabels>);

/// The answers about namespaces.
#[derive(Debug, Default)]
pub(crate) struct KnownNamespaces {
    /// Held to copy an `Arc`.
    known: std::sync::Mutex<HashMap<Arc<str>, TimedLabels>>,
}

impl KnownNamespaces {
    /// The labels and annotations of a namespace. While the API server does not answer, those of its last answer.
    pub(crate) async fn read(&self, client: &Client, name: &str) -> Result<Arc<ObjectLabels>, LookupError> {
        let now = Instant::now();
        let before = hold(&self.known).get(name).cloned();
        if let Some((_, labels)) = before.as_ref().filter(|(at, _)| now.duration_since(*at) < KEPT) {
            return Ok(Arc::clone(labels));
        }
        let api: Api<Namespace> = Api::all(client.clone());
        match (in_time(api.get_metadata(name)).await, before) {
            (Ok(mut namespace), _) => {
                let labels = Arc::new(ObjectLabels::take(&mut namespace.metadata));
                self.keep(name, now, &labels);
                Ok(labels)
            }
            (Err(error), Some((_, labels))) if !error.is_not_found() => Ok(labels),
            (Err(error), _) => Err(error),
        }
    }

    fn keep(&self, name: &str, now: Instant, labels: &Arc<ObjectLabels>) {
        let mut known = hold(&self.known);
        known.insert(name.into(), (now, Arc::clone(labels)));
        if known.len() > MOST {
            let oldest = known.iter().min_by_key(|(_, (at, _))| *at).map(|(name, _)| Arc::clone(name));
            oldest.and_then(|oldest| known.remove(&oldest));
        }
    }
}
