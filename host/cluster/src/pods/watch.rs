//! The watch of the node's pods.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use k8s_openapi::api::core::v1::Pod;
use kube::core::{ObjectMeta, PartialObjectMeta};
use kube::runtime::watcher::{Config, Event, Result};
use kube::{Api, Client};
use tenure_effects::budget::Jitter;

use super::witness::PodsOfNode;
use crate::relisting::relisting;

/// The pods of a node that have not finished. One that finishes is reported as one that is deleted, so that it is asked about.
const UNFINISHED: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// The pods that one call lists. A pod may have more than a megabyte of metadata, and a page is decoded at once.
const PAGE: u32 = 25;

/// The watch: names, uids and annotations alone. The API server indexes pods by their node, so it costs one event for each change of a pod of
/// this node, and nothing for those of others.
pub struct PodWatch {
    client: Client,
    node: String,
    pods: Arc<PodsOfNode>,
    /// The seed of the pauses after interruptions.
    seed: u64,
}

impl PodWatch {
    /// The watch of a node's pods, which fills the witness.
    #[must_use]
    pub fn new(client: Client, node: &str, pods: Arc<PodsOfNode>) -> Self {
        Self { client, node: node.to_owned(), pods, seed: RandomState::new().hash_one(node) }
    }

    /// Watches for as long as it is polled. After an interruption everything is listed again, after a pause that grows.
    pub async fn follow(&mut self) {
        let mut events = self.events();
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => self.pods.follow(event),
                Err(error) => self.pods.interrupted(&error),
            }
        }
    }

    /// The events of the watch, which does not end.
    pub(super) fn events(&self) -> BoxStream<'static, Result<Event<ObjectMeta>>> {
        let of_node = Config::default().fields(&format!("spec.nodeName={},{UNFINISHED}", self.node));
        let of_node = of_node.page_size(PAGE);
        let pods: Api<PartialObjectMeta<Pod>> = Api::all(self.client.clone());
        relisting(pods, of_node, Jitter::new(self.seed)).map(|event| event.map(metadata)).boxed()
    }
}

#[cfg(test)]
impl PodWatch {
    /// The same with the pauses of a seed.
    pub(super) fn seeded(self, seed: u64) -> Self {
        Self { seed, ..self }
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
