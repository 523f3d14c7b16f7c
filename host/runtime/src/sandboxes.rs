//! Looks for the sandboxes of allocations: their network namespaces, their entries in the runtime's list, and their pods in the API server.

use std::sync::Arc;

use tenure_types::{Allocation, Error};

use crate::listed::{ListedSandboxes, SandboxList};
use crate::{PodReport, PodWitness, Runtime, SandboxEvidence, WitnessVerdict, netns};

/// The sources that report sandboxes.
#[derive(Debug)]
pub struct Sandboxes {
    runtime: Option<Arc<dyn SandboxList>>,
    pods: Option<Arc<dyn PodWitness>>,
}

impl Sandboxes {
    /// Uses the runtime's list, too, if one is configured.
    #[must_use]
    pub fn new(runtime: Option<Runtime>) -> Self {
        Self { runtime: runtime.map(|runtime| Arc::new(runtime) as _), pods: None }
    }

    /// Uses this list of the runtime's.
    #[must_use]
    pub fn listed_by(runtime: Arc<dyn SandboxList>) -> Self {
        Self { runtime: Some(runtime), pods: None }
    }

    /// The same, with the API server as a further witness.
    #[must_use]
    pub fn with_pods(mut self, pods: Option<Arc<dyn PodWitness>>) -> Self {
        self.pods = pods;
        self
    }

    /// The API server, if it is a witness.
    #[must_use]
    pub fn pods(&self) -> Option<&Arc<dyn PodWitness>> {
        self.pods.as_ref()
    }

    /// Says on an allocation's pod what became of its address, where somebody can read it.
    pub(crate) fn report(&self, held: &Allocation, report: PodReport) {
        if let (Some(pods), Some(pod)) = (&self.pods, held.pod()) {
            pods.report(pod, report, held);
        }
    }

    /// The evidence about each allocation's sandbox, and the error if the runtime could not be queried.
    pub async fn look_for(&self, held: &[Arc<Allocation>]) -> (Vec<SandboxEvidence>, Option<Error>) {
        let (listed, problem) = self.listed().await;
        let mut evidence = evidence(held, listed.as_ref());
        if let Some(pods) = &self.pods {
            ask(pods.as_ref(), held, &mut evidence).await;
        }
        (evidence, problem)
    }

    /// The same without the API server.
    pub(crate) async fn look_beside_pods(&self, held: &[Arc<Allocation>]) -> Vec<SandboxEvidence> {
        let (listed, _) = self.listed().await;
        evidence(held, listed.as_ref())
    }

    /// The runtime's list, if there is a runtime, and why there is none.
    async fn listed(&self) -> (Option<ListedSandboxes>, Option<Error>) {
        match &self.runtime {
            None => (None, None),
            Some(runtime) => match runtime.list().await {
                Ok(listed) => (Some(ListedSandboxes::of(listed)), None),
                Err(error) => (None, Some(error)),
            },
        }
    }

    /// The same without the runtime and the API server.
    #[must_use]
    pub fn look_for_namespaces(held: &[Arc<Allocation>]) -> Vec<SandboxEvidence> {
        evidence(held, None)
    }
}

/// The evidence about each allocation's sandbox: its namespace, and its container in the runtime's list, if there is one.
fn evidence(held: &[Arc<Allocation>], listed: Option<&ListedSandboxes>) -> Vec<SandboxEvidence> {
    let evidence = held.iter().map(|held| {
        // An unknown owner has no sandbox to look for.
        let Some((container, _)) = held.owner.attachment() else {
            return SandboxEvidence::NONE;
        };
        let runtime = listed.map_or(WitnessVerdict::Unknown, |listed| listed.verdict(container.as_str()));
        let pod = match listed.is_some_and(|listed| listed.has_replaced(held)) {
            true => WitnessVerdict::Absent,
            false => WitnessVerdict::Unknown,
        };
        SandboxEvidence { namespace: netns::look(held.netns(), held.netns_seen()), runtime, pod }
    });
    evidence.collect()
}

/// Adds the API server's word about each pod, where the runtime's list has not said more already.
async fn ask(pods: &dyn PodWitness, held: &[Arc<Allocation>], evidence: &mut [SandboxEvidence]) {
    let asked = held.iter().zip(evidence).filter(|(_, evidence)| evidence.pod == WitnessVerdict::Unknown);
    let asked =
        asked.filter_map(|(held, evidence)| Some((held.owner.attachment().and(held.pod())?, evidence)));
    let (named, evidence): (Vec<_>, Vec<_>) = asked.unzip();
    for (evidence, verdict) in evidence.into_iter().zip(pods.look_for(&named).await) {
        evidence.pod = verdict;
    }
}
