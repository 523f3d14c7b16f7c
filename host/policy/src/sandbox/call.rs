//! One call: its limits, what it has used, and why it failed.

use std::str::Utf8Error;
use std::sync::Arc;
use std::time::Duration;

use tenure_ledger::Book;
use tenure_types::{PolicyFailure, PolicyStamp};
use tracing::Level;
use wasmtime::{Engine, ResourceLimiter, Store, Trap, UpdateDeadline};

use super::gate::TICK;
use super::limits::{CallLimits, TABLE_ELEMENTS};
use super::lines::LineCounts;
use super::log::CallLog;
use super::processor;
use super::questions::LedgerQuestion;
use super::sight::CallView;
use super::trust::{BRIEF, SLOW};
use super::watch::CallWatch;
use crate::decisions::Tape;
use crate::text::clean;

/// wasmtime's message if too much data crosses from the policy to the host.
const OUT_OF_FUEL: &str = "fuel allocated for hostcalls has been exhausted";

/// The interval at which a running call is checked for a caller that has gone.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The most ranges, or cooling addresses, that a question may look through on a thread that has other work.
const SOON_SEEN: usize = 256;

/// How long a call may run.
#[derive(Debug, Clone)]
pub(super) enum Patience {
    /// Until its deadline. If it is watched, it ends once nobody waits for it, and lowers its thread's priority once
    /// it is slow.
    Long(Option<Arc<CallWatch>>),
    /// For a moment, since its thread has other work. The duration is the thread's processor time at the start. A
    /// call that is cut short leaves no trace.
    Brief(Duration),
}

/// The memory of a call: the sum over all memories of its component.
#[derive(Debug)]
struct CallMemory {
    used: usize,
    most: usize,
}

/// The view of a call, and its usage so far.
#[derive(Debug)]
pub(super) struct CallContext {
    /// The call's view.
    sight: CallView,
    /// Records the call, if its network is recorded.
    pub(super) tape: Option<Box<Tape>>,
    /// Whether its thread has other work: see [`Patience::Brief`].
    is_brief: bool,
    /// The number of host functions that the policy has called.
    asked: u64,
    memory: CallMemory,
    /// Whether the policy was denied more memory.
    denied: bool,
    pub(super) log: CallLog,
    /// The last warning: a policy that panics logs the reason before it traps.
    warning: Option<String>,
}

impl CallContext {
    /// Creates a store for one call, with its limits set.
    pub(super) fn store(
        engine: &Engine,
        limits: &CallLimits,
        stamp: &Arc<PolicyStamp>,
        lines: &Arc<LineCounts>,
        sight: CallView,
        patience: Patience,
    ) -> Store<Self> {
        let (policy, lines) = (Arc::clone(stamp), Arc::clone(lines));
        let log = match &patience {
            Patience::Long(_) => CallLog::new(policy, lines),
            Patience::Brief(_) => CallLog::held(policy, lines),
        };
        let memory = CallMemory { used: 0, most: limits.memory };
        let must_be_brief = matches!(patience, Patience::Brief(_));
        let call = Self {
            sight,
            tape: None,
            is_brief: must_be_brief,
            asked: 0,
            memory,
            denied: false,
            log,
            warning: None,
        };
        let mut store = Store::new(engine, call);
        store.limiter(|call| call);
        store.set_hostcall_fuel(limits.answer);
        match patience {
            Patience::Long(watch) => lasts(&mut store, limits.deadline, watch),
            Patience::Brief(start) => is_brief(&mut store, start),
        }
        store
    }

    /// The network that the policy sees; `None` while it is being defined, and in a replay.
    pub(super) fn book(&self) -> Option<&Book> {
        match &self.sight {
            CallView::Book(book) => Some(book),
            CallView::Configuration(_) | CallView::Recording(_) => None,
        }
    }

    /// Answers a question of the policy.
    pub(super) fn ask<Q: LedgerQuestion>(&mut self, question: &Q) -> wasmtime::Result<Q::Answer> {
        self.asked += 1;
        // No tick interrupts an answer.
        if self.is_brief && question.looks_through() && self.book().is_some_and(is_long) {
            return Err(Trap::Interrupt.into());
        }
        let answer = self.sight.answer(question)?;
        if let Some(tape) = &mut self.tape {
            tape.asked(Q::FUNCTION, question, &answer);
        }
        Ok(answer)
    }

    /// Takes a log line of the policy.
    pub(super) fn told(&mut self, level: Level, message: String) {
        self.asked += 1;
        self.log.write(level, &message);
        if level <= Level::WARN {
            self.warning = Some(message);
        }
    }

    /// The number of host functions that the policy has called, and the bytes of memory that it has used.
    pub(super) fn used(&self) -> (u64, usize) {
        (self.asked, self.memory.used)
    }

    /// How and why a call ended without an answer, in one line.
    pub(super) fn failure(&self, error: &wasmtime::Error, limits: &CallLimits) -> (PolicyFailure, String) {
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
                format!("its strings and lists exceed {} KiB: {}", limits.answer >> 10, clean(&root)),
            ),
            None if error.downcast_ref::<Utf8Error>().is_some() => (
                PolicyFailure::Trap,
                format!("a text that it passed to the host is not UTF-8: {}", clean(&root)),
            ),
            None => (PolicyFailure::Trap, clean(&root)),
        };
        match &self.warning {
            Some(warning) => (failure, format!("{cause}; its last warning: {warning}")),
            None => (failure, cause),
        }
    }
}

/// Lets a call run until its deadline. It must stay on this thread from beginning to end.
fn lasts(store: &mut Store<CallContext>, deadline: Duration, watch: Option<Arc<CallWatch>>) {
    let start = processor::time();
    store.set_epoch_deadline(ticks(deadline.min(SLOW)));
    store.epoch_deadline_callback(move |_| {
        if watch.as_ref().is_some_and(|watch| watch.is_given_up()) {
            return Ok(UpdateDeadline::Interrupt);
        }
        let used = processor::time().saturating_sub(start);
        if let Some(watch) = watch.as_ref().filter(|_| used > SLOW) {
            watch.is_slow(used);
        }
        Ok(match deadline.checked_sub(used) {
            Some(rest) if !rest.is_zero() => UpdateDeadline::Continue(ticks(rest.min(LOOK_AGAIN))),
            _ => UpdateDeadline::Interrupt,
        })
    });
}

/// Lets a call run until the first tick at which it exceeds [`BRIEF`].
fn is_brief(store: &mut Store<CallContext>, start: Duration) {
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |_| {
        Ok(match processor::time().saturating_sub(start) {
            used if used <= BRIEF => UpdateDeadline::Continue(1),
            _ => UpdateDeadline::Interrupt,
        })
    });
}

/// Whether looking through a network takes too long for a thread that has other work.
fn is_long(book: &Book) -> bool {
    book.range_count() > SOON_SEEN || book.cooling_entries().len() > SOON_SEEN
}

/// Whether a call was cut short.
pub(super) fn is_interrupted(error: &wasmtime::Error) -> bool {
    error.downcast_ref::<Trap>() == Some(&Trap::Interrupt)
}

/// The number of ticks after which this time has certainly passed.
fn ticks(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(TICK.as_nanos())).unwrap_or(u64::MAX / 2).saturating_add(1)
}

impl ResourceLimiter for CallContext {
    fn memory_growing(&mut self, now: usize, desired: usize, most: Option<usize>) -> wasmtime::Result<bool> {
        if most.is_some_and(|most| desired > most) {
            // The component's own maximum, not a denial by the host.
            return Ok(false);
        }
        let used = self.memory.used.saturating_add(desired.saturating_sub(now));
        let fits = used <= self.memory.most;
        if fits {
            self.memory.used = used;
        }
        self.denied |= !fits;
        Ok(fits)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ELEMENTS)
    }
}
