//! The watch of a Node and its ENIConfig, and the one thing that is written.

use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tokio::sync::watch;

use super::named::{NamedObject, ObjectWord};
use super::node::{EniConfigKeys, OwnNode};
use super::sight::OwnNodeSight;
use crate::ENIConfig;
use crate::client::{ApiCallError, ConnectError, call, connect};

/// The watch of a Node. It costs an event for each change of this Node, and nothing for those of others.
pub struct OwnNodeWatch {
    client: Client,
    node: String,
    sight: watch::Sender<OwnNodeSight>,
}

impl OwnNodeWatch {
    /// Connects by a kubeconfig, or as a pod does by its service account. Nothing is sent to the API server yet.
    ///
    /// # Errors
    /// If the configuration cannot be read or used.
    pub async fn connect(kubeconfig: Option<&Path>, node: &str) -> Result<Self, ConnectError> {
        // Another part of the program may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(Self::new(connect(kubeconfig).await?, node))
    }

    /// The watch by a connection.
    #[must_use]
    pub fn new(client: Client, node: &str) -> Self {
        Self { client, node: node.to_owned(), sight: watch::Sender::default() }
    }

    /// The API server's word, as far as it has been read.
    #[must_use]
    pub fn sight(&self) -> watch::Receiver<OwnNodeSight> {
        self.sight.subscribe()
    }

    /// Watches for as long as it is polled. `keys` are those by which the Node names its ENIConfig, if one is wanted.
    pub fn follow(&self, keys: watch::Receiver<Option<EniConfigKeys>>) -> BoxFuture<'_, ()> {
        self.follow_both(keys).boxed()
    }

    async fn follow_both(&self, mut keys: watch::Receiver<Option<EniConfigKeys>>) {
        let mut node = NamedObject::<OwnNode>::new(self.client.clone(), &self.node);
        let (mut config, mut last) = (None::<NamedObject<ENIConfig>>, None::<Arc<OwnNode>>);
        loop {
            if let ObjectWord::Read(read) = node.word() {
                last = Some(Arc::clone(read));
            }
            let wanted = match (&last, &*keys.borrow_and_update()) {
                (Some(node), Some(keys)) => Some(node.eni_config(keys).to_owned()),
                _ => None,
            };
            if config.as_ref().map(NamedObject::name) != wanted.as_deref() {
                config = wanted.map(|name| NamedObject::new(self.client.clone(), &name));
            }
            let now = OwnNodeSight::of(last.as_ref(), &node, config.as_ref());
            self.sight.send_if_modified(|sight| {
                let is_new = *sight != now;
                *sight = now;
                is_new
            });
            tokio::select! {
                () = node.follow() => {}
                () = followed(config.as_mut()) => {}
                () = changed(&mut keys) => {}
            }
        }
    }

    /// Removes a taint from the Node as it was read. If the Node has changed since, that is a conflict, and nothing is written.
    ///
    /// # Errors
    /// If the call fails.
    pub fn remove_taint<'a>(
        &'a self,
        node: &'a OwnNode,
        key: &'a str,
    ) -> BoxFuture<'a, Result<(), ApiCallError>> {
        let removed = async move {
            let Some(others) = node.taints_without(key) else { return Ok(()) };
            let read = json!({ "uid": node.metadata.uid, "resourceVersion": node.metadata.resource_version });
            let patch = json!({ "metadata": read, "spec": { "taints": others } });
            let nodes: Api<OwnNode> = Api::all(self.client.clone());
            call(nodes.patch(&self.node, &PatchParams::default(), &Patch::Merge(&patch))).await?;
            Ok(())
        };
        removed.boxed()
    }
}

/// Waits for news of an ENIConfig, for ever without one.
async fn followed(config: Option<&mut NamedObject<ENIConfig>>) {
    match config {
        Some(config) => config.follow().await,
        None => std::future::pending().await,
    }
}

/// Waits for other keys, for ever if there will be none.
async fn changed(keys: &mut watch::Receiver<Option<EniConfigKeys>>) {
    if keys.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}
