//! The node's conditions: the one list that status, health checks and metrics read.
//!
//! The part that detects a problem sets a condition, and clears it when the problem is over; both are logged here.
//! The list is behind a `std::sync::Mutex`, held to read and to change; an ADD reads an atomic and takes no lock.

mod report;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tenure_types::{Clock, Condition, ConditionName, Error, ErrorCode, Severity, hold, printable};

pub use self::report::Report;

/// By name and subject, which is also the order in which they are reported: the worst first.
type Held = BTreeMap<(ConditionName, String), Condition>;

/// The node's current conditions.
pub struct Conditions {
    clock: Arc<dyn Clock>,
    held: Mutex<Held>,
    /// Whether ADD is refused. Atomic, so that an ADD that is not refused takes no lock.
    refusing: AtomicBool,
}

impl Conditions {
    /// An empty list. The clock timestamps the conditions.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, held: Mutex::default(), refusing: AtomicBool::new(false) }
    }

    /// Sets a condition. If it is set already, its message is replaced and its start time stays.
    pub fn set(&self, name: ConditionName, subject: &str, message: impl Into<String>) {
        self.change(|held| self.insert(held, name, subject, &message.into()));
    }

    /// Clears a condition, if it is set.
    pub fn clear(&self, name: ConditionName, subject: &str) {
        self.change(|held| {
            if let Some(over) = held.remove(&(name, subject.to_owned())) {
                tell_over(&over);
            }
        });
    }

    /// Replaces all subjects of a condition at once; subjects that are not in `now` are cleared.
    pub fn replace(&self, name: ConditionName, now: impl IntoIterator<Item = (String, String)>) {
        let now: BTreeMap<String, String> = now.into_iter().collect();
        self.change(|held| {
            held.retain(|(held, subject), condition| {
                let stays = *held != name || now.contains_key(subject);
                if !stays {
                    tell_over(condition);
                }
                stays
            });
            for (subject, message) in now {
                self.insert(held, name, &subject, &message);
            }
        });
    }

    /// The conditions set here, the worst first.
    #[must_use]
    pub fn list(&self) -> Vec<Condition> {
        hold(&self.held).values().cloned().collect()
    }

    /// The message of a condition for a subject, if it is set.
    #[must_use]
    pub fn message(&self, name: ConditionName, subject: &str) -> Option<String> {
        let held = hold(&self.held);
        held.get(&(name, subject.to_owned())).map(|condition| condition.message.clone())
    }

    /// Why ADD is refused regardless of the journal's health, if it is.
    #[must_use]
    pub fn refusal(&self) -> Option<Error> {
        self.refusal_for(refuses)
    }

    /// Why nothing that the ledger says may be relied on, if so.
    #[must_use]
    pub fn loss(&self) -> Option<Error> {
        self.refusal_for(|name| name == ConditionName::StateLost)
    }

    fn refusal_for(&self, is_reason: impl Fn(ConditionName) -> bool) -> Option<Error> {
        if !self.refusing.load(Ordering::Acquire) {
            return None;
        }
        let held = hold(&self.held);
        held.values().find(|condition| is_reason(condition.name)).map(error)
    }

    fn change(&self, change: impl FnOnce(&mut Held)) {
        let mut held = hold(&self.held);
        change(&mut held);
        self.refusing.store(held.keys().any(|(name, _)| refuses(*name)), Ordering::Release);
    }

    fn insert(&self, held: &mut Held, name: ConditionName, subject: &str, message: &str) {
        // Messages quote what policies, delegates, clouds and the kernel have said.
        let message = printable::lines(message).into_owned();
        match held.entry((name, subject.to_owned())) {
            Entry::Occupied(mut entry) => entry.get_mut().message = message,
            Entry::Vacant(entry) => {
                let condition =
                    Condition { name, subject: subject.to_owned(), message, since: self.clock.now() };
                tell_begun(&condition);
                entry.insert(condition);
            }
        }
    }
}

/// Whether the engine itself refuses ADD because of it. The journal's own conditions are read from its health, and a
/// caller that still reaches the daemon despite a missing socket is served.
fn refuses(name: ConditionName) -> bool {
    matches!(name, ConditionName::StateLost | ConditionName::Stopping)
}

/// The error that a caller gets because of a condition.
#[must_use]
pub fn error(condition: &Condition) -> Error {
    let code = match condition.name {
        ConditionName::CheckpointFailed => ErrorCode::CheckpointFailed,
        ConditionName::DiskFull => ErrorCode::DiskFull,
        ConditionName::Stopping => ErrorCode::Stopping,
        _ => ErrorCode::NotReady,
    };
    Error::new(code, &condition.message)
}

fn tell_begun(condition: &Condition) {
    let Condition { name, message, .. } = condition;
    let next_step = name.next_step();
    match name.severity() {
        // Each start and each orderly stop passes through these.
        _ if matches!(
            name,
            ConditionName::Starting | ConditionName::PoliciesLoading | ConditionName::Stopping
        ) =>
        {
            tracing::info!(condition = %name, "{message}");
        }
        Severity::NotReady => tracing::error!(condition = %name, next_step, "{message}"),
        Severity::Degraded => tracing::warn!(condition = %name, next_step, "{message}"),
    }
}

fn tell_over(condition: &Condition) {
    tracing::info!(condition = %condition.name, subject = condition.subject, "condition cleared: {}", condition.message);
}
