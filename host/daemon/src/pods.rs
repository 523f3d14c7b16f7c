//! The API server as a witness of this node's pods, whether or not it can be reached yet.

use std::fmt;
use std::sync::Arc;

use tenure_cluster::pods::{
    KnownPodLabels, ObjectLabels, PodEvent, PodEvents, PodFigures, PodPresence, PodsOfNode,
};
use tenure_runtime::{PodReport, PodWitness, WitnessVerdict};
use tenure_types::{Allocation, PodIdentity};
use tokio::sync::watch;

/// The uses of a connection.
#[derive(Debug, Clone)]
pub(crate) struct ConnectedPods {
    pub(crate) witness: Arc<PodsOfNode>,
    pub(crate) events: PodEvents,
}

/// The witness. Without a connection, nothing is known.
#[derive(Debug)]
pub(crate) struct PodDoor(watch::Sender<Option<ConnectedPods>>);

impl PodDoor {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    /// Uses a connection from now on.
    pub(crate) fn connected(&self, pods: ConnectedPods) {
        self.0.send_replace(Some(pods));
    }

    /// The figures, and the number of events that were not written.
    pub(crate) fn figures(&self) -> (PodFigures, u64) {
        let connected = self.0.borrow();
        let figures = connected.as_ref().map(|pods| (pods.witness.figures(), pods.events.lost()));
        figures.unwrap_or_default()
    }

    /// The labels and annotations of a pod.
    ///
    /// # Errors
    /// With the reason, for people, if they are not known.
    pub(crate) async fn labels(&self, pod: &PodIdentity) -> Result<Arc<ObjectLabels>, String> {
        let connected = self.now().ok_or_else(not_connected)?;
        read(connected.witness.labels(pod).await)
    }

    /// The labels and annotations of a namespace.
    ///
    /// # Errors
    /// As [`labels`](Self::labels).
    pub(crate) async fn namespace_labels(&self, namespace: &str) -> Result<Arc<ObjectLabels>, String> {
        let connected = self.now().ok_or_else(not_connected)?;
        read(connected.witness.namespace_labels(namespace).await)
    }

    /// Says on a pod why it gets no address, by an event with this reason.
    pub(crate) fn tell(&self, pod: &PodIdentity, reason: &'static str, words: &str) {
        let Some(connected) = self.now() else { return };
        let event = PodEvent { pod: pod.clone(), action: "Allocate", reason, note: words.to_owned() };
        connected.events.send(event);
    }

    fn now(&self) -> Option<ConnectedPods> {
        self.0.borrow().clone()
    }
}

/// The labels, unless there are too many of them.
fn read(found: Result<Arc<ObjectLabels>, impl fmt::Display>) -> Result<Arc<ObjectLabels>, String> {
    let labels = found.map_err(|error| error.to_string())?;
    labels.unread().map_or(Ok(labels), Err)
}

impl KnownPodLabels for PodDoor {
    fn known_labels(&self, pod: &PodIdentity) -> Option<Arc<ObjectLabels>> {
        self.now()?.witness.known_labels(pod)
    }
}

#[tonic::async_trait]
impl PodWitness for PodDoor {
    async fn look_for(&self, pods: &[&PodIdentity]) -> Vec<WitnessVerdict> {
        match self.now() {
            Some(connected) => connected.witness.look_for(pods).await.into_iter().map(verdict).collect(),
            None => vec![WitnessVerdict::Unknown; pods.len()],
        }
    }

    async fn confirm(&self, pod: &PodIdentity) -> WitnessVerdict {
        match self.now() {
            Some(connected) => verdict(connected.witness.confirm(pod).await),
            None => WitnessVerdict::Unknown,
        }
    }

    async fn changed(&self) {
        let mut connections = self.0.subscribe();
        match connections.wait_for(Option::is_some).await.map(|connected| connected.clone()) {
            Ok(Some(connected)) => connected.witness.changed().await,
            // The sender is in `self`.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }

    fn report(&self, pod: &PodIdentity, report: PodReport, held: &Allocation) {
        let Some(connected) = self.now() else { return };
        let addresses: Vec<_> = held.addresses.iter().map(|assigned| assigned.address.to_string()).collect();
        let (addresses, network) = (addresses.join(" and "), &held.network);
        let (reason, note) = match report {
            PodReport::Reclaimed => (
                "AddressReclaimed",
                format!(
                    "freed {addresses} of network {network}: the pod's sandbox is gone, and no DEL came for it"
                ),
            ),
            PodReport::Quarantined(why) => (
                "AddressQuarantined",
                format!(
                    "{addresses} of network {network} is in quarantine: {why}; see `tenurectl check` on the node"
                ),
            ),
        };
        connected.events.send(PodEvent { pod: pod.clone(), action: "Reclaim", reason, note });
    }
}

fn not_connected() -> String {
    "the API server cannot be reached yet".to_owned()
}

fn verdict(presence: PodPresence) -> WitnessVerdict {
    match presence {
        PodPresence::Present => WitnessVerdict::Present,
        PodPresence::Absent => WitnessVerdict::Absent,
        PodPresence::Unknown => WitnessVerdict::Unknown,
    }
}
