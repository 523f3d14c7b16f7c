//! The sandbox that all policies of a node share: engine, pool of instances, linker, compiler.

use std::sync::Arc;

use tenure_types::{Error, ErrorCode, PolicyName, PolicyStamp};
use wasmtime::component::{Component, HasSelf, Linker};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::call::Call;
use crate::compiled::CompiledCache;
use crate::gate::Gate;
use crate::threads::Threads;
use crate::{Compiler, Limits, WasmPolicy, bindings, sha256};

/// Core instances of one component: its own modules and the adapters between them. Python's tools make the most.
const CORE_INSTANCES: u32 = 48;

/// Elements of a table; every function that a policy calls by pointer has one.
pub(crate) const TABLE_ELEMENTS: usize = 20_000;

/// Bytes of a slot's memory and tables that are cleared in place rather than given back to the kernel, which would cost
/// page faults and, with several threads, interrupts of every processor.
const KEEP_RESIDENT: usize = 256 << 10;

/// The sandbox. One for each daemon: its instances, memory and ticker are shared by all policies.
pub struct Runtime {
    engine: Engine,
    linker: Linker<Call>,
    gate: Gate,
    threads: Threads,
    limits: Limits,
    compiler: Compiler,
    cache: Option<CompiledCache>,
}

impl Runtime {
    /// A sandbox with its limits.
    ///
    /// # Errors
    /// `Internal` when the address space does not hold the pool or the ticker cannot start.
    pub fn new(limits: Limits, compiler: Compiler) -> Result<Self, Error> {
        let mut config = compiled_config();
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(&limits)));
        let engine = Engine::new(&config).map_err(|error| internal(&error))?;
        let mut linker = Linker::new(&engine);
        bindings::Policy::add_to_linker::<_, HasSelf<Call>>(&mut linker, |call| call)
            .map_err(|error| internal(&error))?;
        let gate = Gate::new(engine.clone(), limits.concurrency)
            .map_err(|error| Error::new(ErrorCode::Internal, format_args!("policy ticker: {error}")))?;
        let threads = Threads::new(limits.concurrency);
        Ok(Self { engine, linker, gate, threads, limits, compiler, cache: None })
    }

    /// Keeps what was compiled in a directory, which must be the daemon's own.
    #[must_use]
    pub fn with_cache(mut self, directory: impl Into<std::path::PathBuf>) -> Self {
        self.cache = Some(CompiledCache::new(directory.into()));
        self
    }

    /// Makes a policy of a component's bytes.
    ///
    /// # Errors
    /// `PolicyUnloadable` when the bytes are not those expected, do not compile or are not a policy.
    pub fn load(
        self: &Arc<Self>,
        name: &PolicyName,
        bytes: &[u8],
        expected_sha256: Option<&str>,
    ) -> Result<WasmPolicy, Error> {
        let stamp = PolicyStamp { name: name.clone(), digest: sha256(bytes).into() };
        let unloadable = |cause: &dyn std::fmt::Display| {
            Error::new(ErrorCode::PolicyUnloadable, format_args!("policy {stamp}: {cause}"))
        };
        if let Some(expected) = expected_sha256.filter(|expected| **expected != *stamp.digest) {
            return Err(unloadable(&format_args!(
                "its sha256 is {}, but the configuration says {expected}",
                stamp.digest
            )));
        }
        if bytes.len() > self.limits.component {
            let (size, most) = (bytes.len() >> 20, self.limits.component >> 20);
            return Err(unloadable(&format_args!("it has {size} MiB, and {most} MiB is the most")));
        }
        let component = self
            .component(&stamp.digest, bytes)
            .map_err(|cause| unloadable(&crate::limits::named(cause, &self.limits)))?;
        WasmPolicy::new(Arc::clone(self), stamp, &component)
    }

    /// Takes a component from the cache, or compiles these very bytes.
    fn component(&self, digest: &str, bytes: &[u8]) -> Result<Component, String> {
        if let Some(component) = self.cache.as_ref().and_then(|cache| cache.get(&self.engine, digest)) {
            return Ok(component);
        }
        let compiled = self.compiler.compile(bytes, &self.limits)?;
        let component = crate::compiled::trust(&self.engine, &compiled)?;
        if let Some(cache) = &self.cache {
            cache.put(&self.engine, digest, &compiled);
        }
        Ok(component)
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn linker(&self) -> &Linker<Call> {
        &self.linker
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    pub(crate) fn threads(&self) -> &Threads {
        &self.threads
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Runtime").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// What compiled code depends on: the same in the daemon and in the compiling child.
pub(crate) fn compiled_config() -> Config {
    let mut config = Config::new();
    config
        .concurrency_support(false)
        .epoch_interruption(true)
        .memory_init_cow(true)
        // A decision must be replayable bit for bit, on any node.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true);
    config
}

fn pool(limits: &Limits) -> PoolingAllocationConfig {
    let calls = limits.concurrency.max(1);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(calls)
        .total_core_instances(calls.saturating_mul(CORE_INSTANCES))
        .total_memories(calls)
        .total_tables(calls.saturating_mul(4))
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(1)
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
