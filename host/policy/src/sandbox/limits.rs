//! What a call of a policy may use.

use std::time::Duration;

/// Elements of a table; every function that a policy calls by pointer has one.
pub(super) const TABLE_ELEMENTS: usize = 20_000;

/// Memories of one component; QuickJS's has three. Their sum counts against the limit of a call.
pub(super) const MEMORIES: u32 = 4;

/// What a call of a policy may use, and how many may run at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The processor time of a call. Waiting for the processor is not the policy's fault and does not count.
    pub deadline: Duration,
    /// Bytes of memory of a call, in all memories of its component together.
    pub memory: usize,
    /// Calls that run at once; the memory of all is this many times `memory`. More wait for their turn.
    pub concurrency: u32,
    /// Bytes of texts and lists that cross from the policy to the host in one answer.
    pub answer: usize,
    /// Bytes of a component.
    pub component: usize,
    /// The processor time of compiling a component; by the clock it may take three times as long.
    pub compile: Duration,
}

impl Default for Limits {
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

/// What wasmtime says of a component that its pool has no room for, with the setting that the limit comes from.
pub(crate) fn named(cause: String, limits: &Limits) -> String {
    const MEMORY: &str = "memory has a minimum byte size of ";
    if let Some((_, rest)) = cause.split_once("transitively contains ")
        && let Some((count, _)) = rest.split_once(" Wasm linear memories")
    {
        return format!("it has {count} memories, and {MEMORIES} is the most");
    }
    let Some((_, rest)) = cause.split_once(MEMORY) else { return cause };
    let bytes = rest.split_whitespace().next().and_then(|number| match number.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    });
    let size = bytes.map_or_else(String::new, |bytes| format!(", {} MiB,", bytes.div_ceil(1 << 20)));
    format!(
        "it begins with more memory{size} than it may have, {} MiB (sandbox.memory_mib)",
        limits.memory >> 20
    )
}
