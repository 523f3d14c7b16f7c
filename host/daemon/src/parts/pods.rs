//! Watches this node's pods in the API server, and says when nothing is known about them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tenure_cluster::pods::NodePods;
use tenure_conditions::{Conditions, Report};
use tenure_supervise::{Interruptible, beat};
use tenure_types::ConditionName;
use tokio::time::sleep;

use crate::pods::{ConnectedPods, PodDoor};

/// How often to look how the watch fares.
const EVERY: Duration = Duration::from_secs(5);

/// The pause before connecting is tried again, such as with a kubeconfig that is not there yet.
const AGAIN: Duration = Duration::from_secs(5);

/// The watch of the node's pods.
pub(crate) struct PodsPart {
    kubeconfig: Option<PathBuf>,
    node: String,
    door: Arc<PodDoor>,
    unknown: Report,
}

impl PodsPart {
    pub(crate) fn build(
        kubeconfig: Option<PathBuf>,
        node: String,
        door: Arc<PodDoor>,
        conditions: &Arc<Conditions>,
    ) -> Self {
        Self { kubeconfig, node, door, unknown: Report::new(conditions, ConditionName::PodsUnknown) }
    }

    /// Reports how the watch fares.
    async fn tell(&self, pods: &ConnectedPods) {
        loop {
            match pods.witness.trouble() {
                None => self.unknown.well(),
                Some(trouble) => self.unknown.wrong(trouble),
            }
            beat(EVERY).await;
        }
    }
}

impl Interruptible for PodsPart {
    async fn work(&mut self) {
        let pods = loop {
            match NodePods::connect(self.kubeconfig.as_deref(), &self.node).await {
                Ok(pods) => break pods,
                Err(error) => self.unknown.wrong(error.to_string()),
            }
            sleep(AGAIN).await;
        };
        let connected = ConnectedPods { witness: Arc::clone(&pods.witness), events: pods.events.clone() };
        self.door.connected(connected.clone());
        tokio::select! {
            () = pods.run() => {}
            () = self.tell(&connected) => {}
        }
    }
}
