//! Writes events to the API server, each once.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use tenure_cluster::client::call;
use tenure_cluster::event::note;
use tenure_supervise::Interruptible;
use tenure_types::Clock;
use tokio::time::sleep;

use super::events::EventQueue;
use super::notice::{EventSubject, Notice};
use crate::clock::time_of_day;

/// The namespace of events about objects without one, which the API server prescribes.
const NAMESPACE: &str = "default";

/// The pause after each event: at most ten a second, so that a node's arrival in thousands does not crowd out leases.
const PACE: Duration = Duration::from_millis(100);

/// The part that sends what is in the queue.
pub struct EventSender {
    queue: EventQueue,
    client: Client,
    clock: Arc<dyn Clock>,
    instance: String,
}

impl EventSender {
    /// Prepares the part, for an operator with a name of its own.
    #[must_use]
    pub fn new(queue: EventQueue, client: Client, clock: Arc<dyn Clock>, instance: &str) -> Self {
        Self { queue, client, clock, instance: instance.to_owned() }
    }

    /// The event of a notice. Its name is the same for every operator within an hour: a second one exists already.
    fn event(&self, notice: &Notice) -> Event {
        let now = time_of_day(&*self.clock);
        let hour = now.as_second().div_euclid(3600);
        let EventSubject { name, uid, .. } = &notice.regarding;
        let cause = format!("{} {uid} {hour}", notice.reason.as_str());
        let hash = cause.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        // A name has at most 253 bytes, all of them ASCII.
        let stem = name.get(..name.len().min(200)).unwrap_or_default().trim_end_matches(['.', '-']);
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{stem}.{hash:016x}")),
                namespace: Some(NAMESPACE.to_owned()),
                ..ObjectMeta::default()
            },
            event_time: Some(MicroTime(now)),
            reporting_controller: Some("ipam.tenure.dev/operator".to_owned()),
            reporting_instance: Some(self.instance.clone()),
            action: Some(notice.reason.action().to_owned()),
            reason: Some(notice.reason.as_str().to_owned()),
            type_: Some(notice.reason.severity().to_owned()),
            regarding: Some(reference(&notice.regarding)),
            related: notice.related.as_ref().map(reference),
            note: Some(note(&notice.note)),
            ..Event::default()
        }
    }
}

impl Interruptible for EventSender {
    async fn work(&mut self) {
        let api: Api<Event> = Api::namespaced(self.client.clone(), NAMESPACE);
        while let Some(notice) = self.queue.notices.recv().await {
            let written = call(api.create(&PostParams::default(), &self.event(&notice))).await;
            let is_written = match &written {
                Ok(_) => true,
                // Another leader told it within the hour.
                Err(error) if error.is_already_exists() => true,
                Err(error) => {
                    tracing::debug!("cannot write the event {}: {error}", notice.reason.as_str());
                    false
                }
            };
            self.queue.outbox.ended(&notice, is_written);
            sleep(PACE).await;
        }
    }
}

fn reference(subject: &EventSubject) -> ObjectReference {
    ObjectReference {
        api_version: Some(subject.api_version.to_string()),
        kind: Some(subject.kind.to_owned()),
        name: Some(subject.name.to_string()),
        uid: Some(subject.uid.clone()),
        ..ObjectReference::default()
    }
}
