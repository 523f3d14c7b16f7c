//! What a call of a policy may use.

use std::time::Duration;

/// What a call of a policy may use, and how many may run at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The processor time of a call. Waiting for the processor is not the policy's fault and does not count.
    pub deadline: Duration,
    /// Bytes of memory of a call.
    pub memory: usize,
    /// Calls that run at once; the memory of all is this many times `memory`. More wait for their turn.
    pub concurrency: u32,
    /// Bytes of texts and lists that cross from the policy to the host in one answer.
    pub answer: usize,
    /// Bytes of a component.
    pub component: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_millis(50),
            memory: 16 << 20,
            concurrency: 32,
            answer: 1 << 20,
            component: 64 << 20,
        }
    }
}
