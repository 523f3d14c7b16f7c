//! The evidence of whether a sandbox exists: its network namespace, and the container runtime.
//!
//! Unknown never means gone, and one source alone proves nothing: a namespace may only be out of sight, and a runtime
//! does not know another runtime's containers.

/// What one source reports about a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trace {
    /// It exists.
    There,
    /// It does not exist.
    Gone,
    /// The source cannot tell, or is not configured.
    Unknown,
}

/// What both sources report about a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traces {
    /// From its network namespace.
    pub namespace: Trace,
    /// From the container runtime's list.
    pub runtime: Trace,
}

impl Traces {
    /// Whether both sources report the sandbox as gone.
    #[must_use]
    pub fn prove_gone(self) -> bool {
        self.namespace == Trace::Gone && self.runtime == Trace::Gone
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
