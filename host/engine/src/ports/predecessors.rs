//! The port to the proof that a pod's predecessor is gone.

use std::sync::Arc;

use tenure_types::{Allocation, Moment};

use super::Answer;

/// Knows which sandboxes exist.
pub trait Predecessors: Send + Sync + 'static {
    /// Finds the allocations whose sandbox is proven gone. Each belongs to a pod that another one of the same name has replaced, so the
    /// API server has it no more; what is missing is the word about its sandbox.
    fn gone<'a>(&'a self, held: &'a [Arc<Allocation>], now: Moment) -> Answer<'a, Vec<Arc<Allocation>>>;

    /// One of them was freed.
    fn freed(&self, held: &Allocation);
}
