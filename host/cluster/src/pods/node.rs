//! One connection for the API server's word about a node's pods, and for the events on them.

use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

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
    pub fn connect<'a>(
        kubeconfig: Option<&'a Path>,
        node: &'a str,
    ) -> BoxFuture<'a, Result<Self, ConnectError>> {
        let connected = async move {
            // Another part of the program may have installed it.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let client = connect(kubeconfig).await?;
            let witness = Arc::new(PodsOfNode::new(client.clone()));
            let watch = PodWatch::new(client.clone(), node, Arc::clone(&witness));
            let (events, writer) = pod_events(client, node);
            Ok(Self { witness, events, watch, writer })
        };
        connected.boxed()
    }

    /// Watches pods and writes events for as long as it is polled.
    pub fn run(mut self) -> BoxFuture<'static, ()> {
        let running = async move {
            tokio::join!(self.watch.follow(), self.writer.write());
        };
        running.boxed()
    }
}
