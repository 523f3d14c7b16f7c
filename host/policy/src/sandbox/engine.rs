//! The engine that all policies of a node share: its instance pool, its linker, and the limits of its calls.

use std::sync::Arc;

use tenure_types::{Error, ErrorCode};
use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::bindings;
use super::call::CallContext;
use super::gate::CallGate;
use super::limits::{CallLimits, MEMORIES, TABLE_ELEMENTS};
use super::threads::{Priority, Threads};
use crate::decisions::Recorder;

/// The most core instances of one component: its own modules and the adapters between them. Python's toolchain
/// creates the most.
const CORE_INSTANCES: u32 = 48;

/// Bytes of a slot's memory and tables that are cleared in place instead of being returned to the kernel, which would
/// cost page faults and, with several threads, interrupts of every processor.
const KEEP_RESIDENT: usize = 256 << 10;

/// The sandbox. One per daemon: all policies share its instances, memory and ticker.
pub(crate) struct PolicySandbox {
    engine: Engine,
    linker: Linker<CallContext>,
    gate: CallGate,
    threads: Threads,
    behind: Threads,
    limits: CallLimits,
    recorder: Arc<Recorder>,
}

impl PolicySandbox {
    /// Creates a sandbox with these limits.
    ///
    /// # Errors
    /// `Internal` if the address space is too small for the instance pool or the ticker cannot start.
    pub(crate) fn new(limits: CallLimits) -> Result<Self, Error> {
        let mut config = compiled_config();
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(&limits)));
        let engine = Engine::new(&config).map_err(|error| internal(&error))?;
        let mut linker = Linker::new(&engine);
        bindings::Policy::add_to_linker::<_, HasSelf<CallContext>>(&mut linker, |call| call)
            .map_err(|error| internal(&error))?;
        let gate = CallGate::new(engine.clone(), limits.concurrency)
            .map_err(|error| Error::new(ErrorCode::Internal, format_args!("policy ticker: {error}")))?;
        // Slow calls of any number leave a quarter of the places to the others.
        let most = limits.concurrency - limits.concurrency / 4;
        let threads = Threads::new(limits.concurrency, most, Priority::Usual);
        // Those of one policy leave a processor free, too: a thread of the lowest priority still finishes its slice of several
        // milliseconds before a request on the same processor goes on. Another slow policy does not wait for them.
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let spare = u32::try_from(processors - 1).unwrap_or(u32::MAX);
        let behind = Threads::new(most, spare.min(most), Priority::Last);
        Ok(Self { engine, linker, gate, threads, behind, limits, recorder: Arc::default() })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn linker(&self) -> &Linker<CallContext> {
        &self.linker
    }

    pub(super) fn gate(&self) -> &CallGate {
        &self.gate
    }

    /// The threads for policies that are not known to be slow.
    pub(super) fn threads(&self) -> &Threads {
        &self.threads
    }

    /// The threads for slow policies: they run at the lowest priority.
    pub(super) fn behind(&self) -> &Threads {
        &self.behind
    }

    pub(crate) fn limits(&self) -> &CallLimits {
        &self.limits
    }

    /// Records the calls of networks that are to be recorded.
    pub(crate) fn recorder(&self) -> &Arc<Recorder> {
        &self.recorder
    }
}

/// The settings that compiled code depends on: the same in the daemon and in the compiling child.
pub(crate) fn compiled_config() -> Config {
    let mut config = Config::new();
    config
        .concurrency_support(false)
        .epoch_interruption(true)
        .memory_init_cow(true)
        // A decision must be reproducible bit for bit on any node.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true);
    config
}

fn pool(limits: &CallLimits) -> PoolingAllocationConfig {
    let calls = limits.concurrency.max(1);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(calls)
        .total_core_instances(calls.saturating_mul(CORE_INSTANCES))
        .total_memories(calls.saturating_mul(MEMORIES))
        .total_tables(calls.saturating_mul(4))
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(4)
        .table_elements(TABLE_ELEMENTS)
        .max_memory_size(limits.memory)
        .linear_memory_keep_resident(KEEP_RESIDENT)
        .table_keep_resident(KEEP_RESIDENT);
    pool
}

fn internal(error: &wasmtime::Error) -> Error {
    Error::new(ErrorCode::Internal, format_args!("policy sandbox: {error:#}"))
}
