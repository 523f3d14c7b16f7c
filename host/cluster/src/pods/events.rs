//! Events on pods: what became of their addresses. An event follows the durable fact; one that cannot be written is counted, and not retried.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tenure_types::PodIdentity;
use tokio::sync::mpsc;

use crate::client::call;
use crate::event::note;

/// Events that may wait to be written.
const WAITING: usize = 128;

/// The component that reports.
const CONTROLLER: &str = "ipam.tenure.dev/tenured";

/// An event on a pod.
#[derive(Debug, Clone)]
pub struct PodEvent {
    /// The pod. There may be none any more, and its namespace may be gone.
    pub pod: PodIdentity,
    /// The action in CamelCase that it is about, as `Reclaim`.
    pub action: &'static str,
    /// The cause in CamelCase, as `AddressReclaimed`.
    pub reason: &'static str,
    /// For people; cut off where the API server takes no more.
    pub note: String,
}

/// The door for events. It never waits.
#[derive(Debug, Clone)]
pub struct PodEvents {
    sender: mpsc::Sender<PodEvent>,
    lost: Arc<AtomicU64>,
}

/// Writes events, one after another.
pub struct PodEventWriter {
    client: Client,
    node: String,
    events: mpsc::Receiver<PodEvent>,
    lost: Arc<AtomicU64>,
}

/// The door and the writer of a node's events.
#[must_use]
pub fn pod_events(client: Client, node: &str) -> (PodEvents, PodEventWriter) {
    let (sender, events) = mpsc::channel(WAITING);
    let lost = Arc::new(AtomicU64::new(0));
    let writer = PodEventWriter { client, node: node.to_owned(), events, lost: Arc::clone(&lost) };
    (PodEvents { sender, lost }, writer)
}

impl PodEvents {
    /// Hands an event over. If too many wait, it is lost, and counted.
    pub fn send(&self, event: PodEvent) {
        if self.sender.try_send(event).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The number of events that were not written.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl PodEventWriter {
    /// Writes events for as long as it is polled.
    pub async fn write(&mut self) {
        while let Some(event) = self.events.recv().await {
            let api: Api<Event> = Api::namespaced(self.client.clone(), &event.pod.namespace);
            let object = self.object(&event);
            if let Err(error) = call(api.create(&PostParams::default(), &object)).await {
                self.lost.fetch_add(1, Ordering::Relaxed);
                let (pod, reason) = (&event.pod.name, event.reason);
                tracing::debug!(namespace = %event.pod.namespace, %pod, reason, "cannot write an event: {error}");
            }
        }
    }

    fn object(&self, event: &PodEvent) -> Event {
        let owned = |text: &str| Some(text.to_owned());
        let pod = &event.pod;
        Event {
            metadata: ObjectMeta {
                generate_name: Some(format!("{}-", pod.name)),
                namespace: owned(&pod.namespace),
                ..ObjectMeta::default()
            },
            action: owned(event.action),
            event_time: Some(MicroTime(Timestamp::now())),
            note: Some(note(&event.note)),
            reason: owned(event.reason),
            regarding: Some(ObjectReference {
                api_version: owned("v1"),
                kind: owned("Pod"),
                name: owned(&pod.name),
                namespace: owned(&pod.namespace),
                uid: owned(&pod.uid),
                ..ObjectReference::default()
            }),
            reporting_controller: owned(CONTROLLER),
            reporting_instance: Some(self.node.clone()),
            type_: owned("Warning"),
            ..Event::default()
        }
    }
}
