//! Events of the agent, under its NodeIPAM: what only the node knows. One for each cause in an hour; what the API server does not take is not sent
//! again before that. Leases, marks and conflicts are the operator's to tell.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, ResourceExt as _};

use crate::agent::core::AgentCore;
use crate::agent::differs::differences;
use crate::client::call;
use crate::event::note;
use crate::{GROUP, NodeIPAM};

/// The namespace of events about objects without one, which the API server prescribes.
const NAMESPACE: &str = "default";

/// The component that reports.
const CONTROLLER: &str = "ipam.tenure.dev/tenured";

/// The time for which a cause is not told again.
const HOUR: Duration = Duration::from_secs(3600);

/// The causes that were told, each with the boot clock's reading.
#[derive(Debug, Default)]
pub(crate) struct AgentEvents(BTreeMap<&'static str, Duration>);

impl AgentEvents {
    /// Tells what is wrong now, unless it was told within the hour.
    pub(crate) async fn tell(&mut self, core: &AgentCore) {
        let object = core.state().object.clone();
        let Some(object) = object else { return };
        let is_lost = core.state().is_lost;
        let lost = is_lost.then(|| {
            "the node's ledger was lost: no address comes from its blocks until its pods are known".to_owned()
        });
        let differences = differences(core).await;
        let differ = (!differences.is_empty()).then(|| differences.join("; "));
        for (reason, words) in [("LedgerLost", lost), ("PoolsDiffer", differ)] {
            let Some(words) = words else { continue };
            let now = core.now();
            if self.0.get(reason).is_some_and(|told| now.saturating_sub(*told) < HOUR) {
                continue;
            }
            self.0.insert(reason, now);
            let api: Api<Event> = Api::namespaced(core.client.clone(), NAMESPACE);
            let event = event(&object, &core.settings.node, reason, &words);
            if let Err(error) = call(api.create(&PostParams::default(), &event)).await {
                tracing::debug!(reason, "cannot write an event: {error}");
            }
        }
    }
}

fn event(object: &NodeIPAM, node: &str, reason: &'static str, words: &str) -> Event {
    let owned = |text: &str| Some(text.to_owned());
    Event {
        metadata: ObjectMeta {
            generate_name: Some(format!("{}-", object.name_any())),
            namespace: owned(NAMESPACE),
            ..ObjectMeta::default()
        },
        action: owned("Compare"),
        event_time: Some(MicroTime(Timestamp::now())),
        note: Some(note(words)),
        reason: owned(reason),
        regarding: Some(ObjectReference {
            api_version: Some(format!("{GROUP}/v1alpha1")),
            kind: owned("NodeIPAM"),
            name: Some(object.name_any()),
            uid: object.uid(),
            ..ObjectReference::default()
        }),
        reporting_controller: owned(CONTROLLER),
        reporting_instance: owned(node),
        type_: owned("Warning"),
        ..Event::default()
    }
}
