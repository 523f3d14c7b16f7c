//! The limits of a policy call.

use std::time::Duration;

use crate::decisions::RecordedLimits;

/// The most elements of a table; each function that a policy calls by pointer needs one.
pub(super) const TABLE_ELEMENTS: usize = 20_000;

/// The most memories of one component; QuickJS has three. Their sum counts against the memory limit of a call.
pub(super) const MEMORIES: u32 = 4;

/// How many times as long a replayed call may take.
const REPLAY_PATIENCE: u32 = 20;

/// The limits of a policy call, and how many calls may run at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLimits {
    /// The processor time of a call. Waiting for a processor does not count.
    pub deadline: Duration,
    /// The memory of a call in bytes, summed over all memories of its component.
    pub memory: usize,
    /// The calls that run at once; together they may use this many times `memory`. Further calls wait.
    pub concurrency: u32,
    /// The bytes of strings and lists that cross from the policy to the host in one call.
    pub answer: usize,
    /// The size of a component in bytes.
    pub component: usize,
    /// The processor time of compiling a component; the wall-clock limit is three times as long.
    pub compile: Duration,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_millis(50),
            memory: 16 << 20,
            concurrency: 32,
            answer: 1 << 20,
            component: 64 << 20,
            compile: Duration::from_secs(20),
        }
    }
}

impl CallLimits {
    /// The limits that recorded calls depend on.
    #[must_use]
    pub fn recorded(&self) -> RecordedLimits {
        let deadline_ms = u64::try_from(self.deadline.as_millis()).unwrap_or(u64::MAX);
        RecordedLimits { deadline_ms, memory: self.memory, answer: self.answer }
    }

    /// Limits for making recorded calls again, one at a time.
    ///
    /// Processor time is not reproducible, so a call may take many times as long as when it was recorded.
    #[must_use]
    pub fn replaying(recorded: &RecordedLimits) -> Self {
        let deadline = Duration::from_millis(recorded.deadline_ms).saturating_mul(REPLAY_PATIENCE);
        let (memory, answer) = (recorded.memory, recorded.answer);
        Self { deadline, memory, answer, concurrency: 1, ..Self::default() }
    }
}

/// Rewords wasmtime's message about a component that exceeds its pool, and names the setting behind the limit.
pub(crate) fn named(cause: String, limits: &CallLimits) -> String {
    const MEMORY: &str = "memory has a minimum byte size of ";
    if let Some((_, rest)) = cause.split_once("transitively contains ")
        && let Some((count, _)) = rest.split_once(" Wasm linear memories")
    {
        return format!("it has {count} memories, and the limit is {MEMORIES}");
    }
    let Some((_, rest)) = cause.split_once(MEMORY) else { return cause };
    let bytes = rest.split_whitespace().next().and_then(|number| match number.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    });
    let size = bytes.map_or_else(String::new, |bytes| format!(", {} MiB,", bytes.div_ceil(1 << 20)));
    format!("its initial memory{size} exceeds the limit of {} MiB (sandbox.memory_mib)", limits.memory >> 20)
}
