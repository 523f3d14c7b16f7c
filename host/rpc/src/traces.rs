//! What tells whether a sandbox still is: its network namespace, and the container runtime.
//!
//! Unknown never means gone, and one source alone proves nothing: a namespace may only be out of sight, and a runtime does
//! not know of another's containers.

use tenure_types::Allocation;

use crate::v1;

/// What one source says of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trace {
    /// It is there.
    There,
    /// It is not there.
    Gone,
    /// The source cannot tell, or is not configured.
    Unknown,
}

/// What both sources say of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traces {
    /// Its network namespace.
    pub namespace: Trace,
    /// The container runtime's list.
    pub runtime: Trace,
}

impl Traces {
    /// Whether both sources say that the sandbox is gone.
    #[must_use]
    pub fn prove_gone(self) -> bool {
        self.namespace == Trace::Gone && self.runtime == Trace::Gone
    }

    /// What a check says of an allocation whose sandbox leaves these traces; nothing where none speaks against it.
    pub(crate) fn finding(self, held: &Allocation) -> Option<v1::Finding> {
        let (kind, why, next_step) = match (self.namespace, self.runtime) {
            (Trace::Gone, Trace::Gone) => (
                "sandbox-gone",
                "is gone, and the runtime does not list the container",
                "the daemon frees it after its grace period; `tenurectl repair --from REPORT --apply` does so now",
            ),
            (Trace::Gone, Trace::There) => (
                "namespace-gone",
                "is gone, but the runtime lists the container",
                "nothing to do if the container has stopped: its runtime's DEL follows",
            ),
            (Trace::Gone, Trace::Unknown) => (
                "namespace-gone",
                "is gone; no runtime says anything of the container",
                "set `runtime.socket`, so that a second source can tell; a DEL or GC of its runtime frees it",
            ),
            _ => return None,
        };
        Some(v1::Finding {
            kind: kind.to_owned(),
            network: held.network.to_string(),
            subject: held.owner.to_string(),
            detail: format!("allocation {}: network namespace {} {why}", held.generation, held.netns),
            next_step: next_step.to_owned(),
            generation: held.generation.0,
            ..v1::Finding::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_both_sources_together_prove_anything() {
        let all = [Trace::There, Trace::Gone, Trace::Unknown];
        for (namespace, runtime) in all.into_iter().flat_map(|first| all.map(|second| (first, second))) {
            let proven = Traces { namespace, runtime }.prove_gone();
            assert_eq!(
                proven,
                (namespace, runtime) == (Trace::Gone, Trace::Gone),
                "{namespace:?} {runtime:?}"
            );
        }
    }
}
