//! The watch of the node's pods.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, pin_mut};
use k8s_openapi::api::core::v1::Pod;
use kube::core::{ObjectMeta, PartialObjectMeta};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client};
use tenure_effects::budget::Jitter;
use tokio::time::sleep;

use super::witness::PodsOfNode;

/// The pause after the first interruption; each further one doubles it.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause after an interruption.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The watch: names, uids and annotations alone. The API server indexes pods by their node, so it costs one event for each change of a pod of
/// this node, and nothing for those of others.
pub struct PodWatch {
    client: Client,
    node: String,
    pods: Arc<PodsOfNode>,
    jitter: Jitter,
}

impl PodWatch {
    /// The watch of a node's pods, which fills the witness.
    #[must_use]
    pub fn new(client: Client, node: &str, pods: Arc<PodsOfNode>) -> Self {
        let jitter = Jitter::new(RandomState::new().hash_one(node));
        Self { client, node: node.to_owned(), pods, jitter }
    }

    /// Watches for as long as it is polled. After an interruption everything is listed again, after a pause that grows.
    pub async fn follow(&mut self) {
        let mut pause = SHORTEST_PAUSE;
        loop {
            let of_node = Config::default().fields(&format!("spec.nodeName={}", self.node));
            let pods: Api<PartialObjectMeta<Pod>> = Api::all(self.client.clone());
            let events = watcher(pods, of_node);
            pin_mut!(events);
            while let Some(event) = events.next().await {
                match event {
                    Ok(event) => {
                        if matches!(event, Event::InitDone) {
                            pause = SHORTEST_PAUSE;
                        }
                        self.pods.follow(metadata(event));
                    }
                    Err(error) => {
                        self.pods.interrupted(&error);
                        // It would go on from the version that it read last, which a store that was put back may not have for hours.
                        break;
                    }
                }
            }
            sleep(self.jitter.around(pause)).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
    }
}

/// An event without the type of its object.
fn metadata(event: Event<PartialObjectMeta<Pod>>) -> Event<ObjectMeta> {
    match event {
        Event::Init => Event::Init,
        Event::InitApply(pod) => Event::InitApply(pod.metadata),
        Event::InitDone => Event::InitDone,
        Event::Apply(pod) => Event::Apply(pod.metadata),
        Event::Delete(pod) => Event::Delete(pod.metadata),
    }
}
