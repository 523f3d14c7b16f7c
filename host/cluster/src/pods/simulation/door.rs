//! The agent's door to the API server, as the daemon has it, and the faults that are planted in what it says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_engine::Engine;
use tenure_runtime::{PodReport, PodWitness, WitnessVerdict};
use tenure_types::{Allocation, End, PodIdentity};

use super::super::{PodPresence, PodsOfNode};
use super::Planted;
use super::runtime::ContainerRuntime;

/// The reports on pods, in numbers.
#[derive(Debug, Default)]
pub(super) struct ReportCounts {
    pub(super) reclaimed: AtomicU64,
    pub(super) quarantined: AtomicU64,
}

/// The witness.
pub(super) struct SimulatedDoor {
    pub(super) witness: Arc<PodsOfNode>,
    pub(super) reports: Arc<ReportCounts>,
    pub(super) runtime: Arc<ContainerRuntime>,
    pub(super) engine: Arc<Engine>,
    pub(super) planted: Option<Planted>,
}

impl std::fmt::Debug for SimulatedDoor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SimulatedDoor").finish_non_exhaustive()
    }
}

impl SimulatedDoor {
    fn verdict(&self, presence: PodPresence) -> WitnessVerdict {
        match (self.planted, presence) {
            (Some(Planted::RuntimeAlone), _) => WitnessVerdict::Absent,
            (Some(Planted::EmptyListBelieved), _) if self.runtime.state().listed_none => {
                WitnessVerdict::Absent
            }
            (Some(Planted::ErrorIsAbsence), PodPresence::Unknown) | (_, PodPresence::Absent) => {
                WitnessVerdict::Absent
            }
            (_, PodPresence::Present) => WitnessVerdict::Present,
            (_, PodPresence::Unknown) => WitnessVerdict::Unknown,
        }
    }

    /// The pods as they are asked about.
    fn asked(&self, pods: &[&PodIdentity]) -> Vec<PodIdentity> {
        let asked = |pod: &&PodIdentity| match self.planted {
            Some(Planted::UidIgnored) => PodIdentity { uid: "".into(), ..(*pod).clone() },
            _ => (*pod).clone(),
        };
        pods.iter().map(asked).collect()
    }

    /// Frees what the owners of a pod have by now.
    async fn free(&self, pod: &PodIdentity) {
        for name in self.engine.network_names() {
            let Some(book) = self.engine.book(&name).await else { continue };
            for held in book.allocations().filter(|held| held.pod() == Some(pod)) {
                drop(self.engine.reap(held, End::Leak, "").await);
            }
        }
    }
}

#[tonic::async_trait]
impl PodWitness for SimulatedDoor {
    async fn look_for(&self, pods: &[&PodIdentity]) -> Vec<WitnessVerdict> {
        let asked = self.asked(pods);
        let presences = self.witness.look_for(&asked.iter().collect::<Vec<_>>()).await;
        presences.into_iter().map(|presence| self.verdict(presence)).collect()
    }

    async fn confirm(&self, pod: &PodIdentity) -> WitnessVerdict {
        let [asked] = self.asked(&[pod]).try_into().unwrap();
        let verdict = self.verdict(self.witness.confirm(&asked).await);
        if self.planted == Some(Planted::GenerationIgnored) && verdict == WitnessVerdict::Absent {
            self.free(pod).await;
        }
        verdict
    }

    async fn changed(&self) {
        self.witness.changed().await;
    }

    fn report(&self, _: &PodIdentity, report: PodReport, _: &Allocation) {
        let count = match report {
            PodReport::Reclaimed => &self.reports.reclaimed,
            PodReport::Quarantined(_) => &self.reports.quarantined,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}
