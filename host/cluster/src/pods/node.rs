//! One connection for the API server's word about a node's pods, and for the events on them.

use std::path::Path;
use std::sync::Arc;

use super::events::{PodEventWriter, PodEvents, pod_events};
use super::watch::PodWatch;
use super::witness::PodsOfNode;
use crate::client::{ConnectError, connect};

/// The pods of one node.
pub struct NodePods {
    /// The witness.
    pub witness: Arc<PodsOfNode>,
    /// The door for events on pods.
    pub events: PodEvents,
    watch: PodWatch,
    writer: PodEventWriter,
}

impl NodePods {
    /// Connects by a kubeconfig, or as a pod does by its service account. Nothing is sent to the API server yet.
    ///
    /// # Errors
    /// If the configuration cannot be read or used.
    pub async fn connect(kubeconfig: Option<&Path>, node: &str) -> Result<Self, ConnectError> {
        // Another part of the program may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = connect(kubeconfig).await?;
        let witness = Arc::new(PodsOfNode::new(client.clone()));
        let watch = PodWatch::new(client.clone(), node, Arc::clone(&witness));
        let (events, writer) = pod_events(client, node);
        Ok(Self { witness, events, watch, writer })
    }

    /// Watches pods and writes events for as long as it is polled.
    pub async fn run(mut self) {
        tokio::join!(self.watch.follow(), self.writer.write());
    }
}
