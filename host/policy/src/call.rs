//! One call: what the policy may see, what it may use, and why it failed.
//!
//! The host functions read a prepared view and never block. Outside of an allocation there is no view, and they answer
//! as an empty network would.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tenure_ledger::{Book, Direction, Standing};
use tenure_types::{PolicyFailure, PolicyStamp, Pool, Range};
use wasmtime::{ResourceLimiter, Store, Trap, UpdateDeadline};

use crate::bindings::tenure::ipam::{ledger, log, types};
use crate::gate::TICK;
use crate::lines::Lines;
use crate::text::clean;
use crate::watch::Watch;
use crate::{Limits, Runtime};

/// The most addresses that one answer of the view has.
const LONGEST_LIST: usize = 1024;

/// What wasmtime says when more crosses from the policy to the host than may.
const OUT_OF_FUEL: &str = "fuel allocated for hostcalls has been exhausted";

/// The processor time of a call that gives way to nobody; one that needs more runs when nobody else wants to.
const QUICK: Duration = Duration::from_millis(2);

/// How long a call goes on that nobody waits for any more.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// What one call sees and has used.
#[derive(Debug)]
pub(crate) struct Call {
    stamp: PolicyStamp,
    book: Option<Arc<Book>>,
    memory: usize,
    /// Whether the policy asked for more memory than it may have.
    denied: bool,
    /// Where the policy's lines go, and how many of them this call wrote.
    log: Arc<Lines>,
    lines: u32,
    /// The last warning: a policy that panics says why before it traps.
    warning: Option<String>,
}

impl Call {
    /// A store for one call, with its limits set.
    pub(crate) fn store(
        runtime: &Runtime,
        stamp: &PolicyStamp,
        log: &Arc<Lines>,
        book: Option<Arc<Book>>,
        watch: Option<&Arc<Watch>>,
    ) -> Store<Self> {
        let limits = runtime.limits();
        let call = Self {
            stamp: stamp.clone(),
            book,
            memory: limits.memory,
            denied: false,
            log: Arc::clone(log),
            lines: 0,
            warning: None,
        };
        let mut store = Store::new(runtime.engine(), call);
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
    pub(crate) fn failure(&self, error: &wasmtime::Error, limits: &Limits) -> (PolicyFailure, String) {
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

    fn pool_index(&self, pool: u32) -> Option<(&Book, usize)> {
        Some((self.book.as_deref()?, usize::try_from(pool).ok()?))
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
        Ok(desired <= crate::runtime::TABLE_ELEMENTS)
    }
}

impl types::Host for Call {}

impl ledger::Host for Call {
    fn pools(&mut self) -> Vec<types::Pool> {
        let pools = self.book.iter().flat_map(|book| &book.network().definition.pools);
        pools.map(types::Pool::from).collect()
    }

    fn pool_of(&mut self, address: String) -> Option<u32> {
        let pool = self.book.as_ref()?.pool_of(address.parse().ok()?)?;
        u32::try_from(pool).ok()
    }

    fn standing_of(&mut self, address: String) -> ledger::Standing {
        match (&self.book, address.parse()) {
            (Some(book), Ok(address)) => book.standing(address).into(),
            _ => ledger::Standing::Outside,
        }
    }

    fn free(
        &mut self,
        pool: u32,
        after: Option<String>,
        direction: ledger::Direction,
        limit: u32,
    ) -> Vec<String> {
        let Some((book, pool)) = self.pool_index(pool) else { return Vec::new() };
        let after = after.and_then(|after| after.parse().ok());
        let direction = match direction {
            ledger::Direction::Ascending => Direction::Ascending,
            ledger::Direction::Descending => Direction::Descending,
        };
        texts(&book.free(pool, after, direction, capped(limit)))
    }

    fn cooling(&mut self, pool: u32, limit: u32) -> Vec<String> {
        let Some((book, pool)) = self.pool_index(pool) else { return Vec::new() };
        texts(&book.cooling(pool, capped(limit)))
    }

    fn last(&mut self, pool: u32) -> Option<String> {
        let (book, pool) = self.pool_index(pool)?;
        Some(book.last(pool)?.to_string())
    }

    fn usage_of(&mut self, pool: u32) -> ledger::Usage {
        let usage = self.pool_index(pool).map(|(book, pool)| book.usage(pool)).unwrap_or_default();
        ledger::Usage { total: usage.total, held: usage.held, cooling: usage.cooling }
    }
}

impl log::Host for Call {
    fn write(&mut self, level: log::Level, message: String) {
        let message = clean(&message);
        let level = match level {
            log::Level::Debug => tracing::Level::DEBUG,
            log::Level::Info => tracing::Level::INFO,
            log::Level::Warn => tracing::Level::WARN,
        };
        self.log.write(&self.stamp, level, self.lines, &message, monotonic_ms());
        self.lines = self.lines.saturating_add(1);
        if level == tracing::Level::WARN {
            self.warning = Some(message);
        }
    }
}

/// Milliseconds of a clock that never goes back.
fn monotonic_ms() -> u64 {
    let now = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

fn capped(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(LONGEST_LIST).min(LONGEST_LIST)
}

fn texts(addresses: &[IpAddr]) -> Vec<String> {
    addresses.iter().map(ToString::to_string).collect()
}

impl From<Standing> for ledger::Standing {
    fn from(standing: Standing) -> Self {
        match standing {
            Standing::Free => Self::Free,
            Standing::Held => Self::Held,
            Standing::Cooling => Self::Cooling,
            Standing::Reserved => Self::Reserved,
            Standing::Outside => Self::Outside,
        }
    }
}

impl From<&Pool> for types::Pool {
    fn from(pool: &Pool) -> Self {
        Self { ranges: pool.ranges.iter().map(types::AddressRange::from).collect() }
    }
}

impl From<&Range> for types::AddressRange {
    fn from(range: &Range) -> Self {
        Self {
            subnet: range.subnet().to_string(),
            first: range.first().to_string(),
            last: range.last().to_string(),
            gateway: range.gateway().map(|gateway| gateway.to_string()),
            prefix_length: range.prefix_length(),
        }
    }
}
