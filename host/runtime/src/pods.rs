//! The port to what the API server says about pods. The witness is optional: without one, every verdict about a pod is unknown.

use std::fmt::Debug;

use tenure_types::{Allocation, PodIdentity};

use crate::WitnessVerdict;

/// The API server, as a witness of pods, and as the place where their users look.
#[tonic::async_trait]
pub trait PodWitness: Debug + Send + Sync {
    /// The verdict about each pod. Absent only if the API server answered a read of its own, at most as old as the last verdict about this
    /// pod that said so; never after an error, and never before all pods of this node have been listed once.
    async fn look_for(&self, pods: &[&PodIdentity]) -> Vec<WitnessVerdict>;

    /// Reads a pod again, just before its address is freed.
    async fn confirm(&self, pod: &PodIdentity) -> WitnessVerdict;

    /// Waits until a pod of this node may have gone.
    async fn changed(&self);

    /// Says on the pod what became of its address; after the fact, and at best.
    fn report(&self, pod: &PodIdentity, report: PodReport, held: &Allocation);
}

/// News about the address of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodReport {
    /// Freed, since its sandbox was proven gone.
    Reclaimed,
    /// In quarantine, for this reason.
    Quarantined(&'static str),
}
