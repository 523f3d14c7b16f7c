//! One call: what it may use, what it has used, and why it failed.

use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tenure_ledger::Book;
use tenure_types::{PolicyFailure, PolicyStamp};
use wasmtime::{Engine, ResourceLimiter, Store, Trap, UpdateDeadline};

use super::gate::TICK;
use super::limits::{Limits, TABLE_ELEMENTS};
use super::lines::Lines;
use super::watch::Watch;
use crate::text::clean;

/// What wasmtime says when more crosses from the policy to the host than may.
const OUT_OF_FUEL: &str = "fuel allocated for hostcalls has been exhausted";

/// The processor time of a call that gives way to nobody; one that needs more runs when nobody else wants to.
const QUICK: Duration = Duration::from_millis(2);

/// How long a call goes on that nobody waits for any more.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// What one call sees and has used.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) stamp: PolicyStamp,
    /// What it may see; nothing outside of an allocation.
    pub(super) book: Option<Arc<Book>>,
    memory: usize,
    /// Whether the policy asked for more memory than it may have.
    denied: bool,
    /// Where the policy's lines go, and how many of them this call wrote.
    pub(super) log: Arc<Lines>,
    pub(super) lines: u32,
    /// The last warning: a policy that panics says why before it traps.
    pub(super) warning: Option<String>,
}

impl Call {
    /// A store for one call, with its limits set.
    pub(super) fn store(
        engine: &Engine,
        limits: &Limits,
        stamp: &PolicyStamp,
        log: &Arc<Lines>,
        book: Option<Arc<Book>>,
        watch: Option<&Arc<Watch>>,
    ) -> Store<Self> {
        let call = Self {
            stamp: stamp.clone(),
            book,
            memory: limits.memory,
            denied: false,
            log: Arc::clone(log),
            lines: 0,
            warning: None,
        };
        let mut store = Store::new(engine, call);
        store.limiter(|call| call);
        store.set_hostcall_fuel(limits.answer);
        let (deadline, start) = (limits.deadline, processor_time());
        store.set_epoch_deadline(ticks(deadline.min(QUICK)));
        let watch = watch.cloned();
        store.epoch_deadline_callback(move |_| {
            if watch.as_ref().is_some_and(|watch| watch.is_given_up()) {
                return Ok(UpdateDeadline::Interrupt);
            }
            let used = processor_time().saturating_sub(start);
            if let Some(watch) = watch.as_ref().filter(|_| used >= QUICK) {
                watch.demote();
            }
            Ok(match deadline.checked_sub(used) {
                Some(rest) if !rest.is_zero() => UpdateDeadline::Continue(ticks(rest.min(LOOK_AGAIN))),
                _ => UpdateDeadline::Interrupt,
            })
        });
        store
    }

    /// How and why a call ended without an answer, in one line.
    pub(super) fn failure(&self, error: &wasmtime::Error, limits: &Limits) -> (PolicyFailure, String) {
        let root = error.root_cause().to_string();
        let (failure, cause) = match error.downcast_ref::<Trap>() {
            Some(Trap::Interrupt) => (
                PolicyFailure::Deadline,
                format!("it ran longer than {} ms (sandbox.deadline_ms)", limits.deadline.as_millis()),
            ),
            _ if self.denied => (
                PolicyFailure::Memory,
                format!("it wanted more than {} MiB of memory (sandbox.memory_mib)", limits.memory >> 20),
            ),
            Some(trap) => (PolicyFailure::Trap, trap.to_string()),
            None if root.contains(OUT_OF_FUEL) => (
                PolicyFailure::Length,
                format!("its texts and lists are longer than {} KiB: {}", limits.answer >> 10, clean(&root)),
            ),
            None => (PolicyFailure::Trap, clean(&root)),
        };
        match &self.warning {
            Some(warning) => (failure, format!("{cause}; it said: {warning}")),
            None => (failure, cause),
        }
    }
}

/// The processor time of the calling thread, on which a call runs from beginning to end.
fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// The ticks after which a time is over for sure.
fn ticks(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(TICK.as_nanos())).unwrap_or(u64::MAX / 2).saturating_add(1)
}

impl ResourceLimiter for Call {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        self.denied |= desired > self.memory;
        Ok(desired <= self.memory)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ELEMENTS)
    }
}
