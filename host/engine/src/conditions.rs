//! What is wrong with the node: the one list that everything which tells of it reads.
//!
//! Whoever finds something wrong sets a condition, and clears it when it is over; both are logged here. The list is
//! behind a `std::sync::Mutex` held to look and to change; what an ADD asks is an atomic beside it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tenure_types::{Condition, ConditionName, Error, ErrorCode, Severity};

use crate::ports::Clock;

/// By name and subject, which is also the order in which they are told: the worst first.
type Held = BTreeMap<(ConditionName, String), Condition>;

/// The conditions that the node is in.
pub struct Conditions {
    clock: Arc<dyn Clock>,
    held: Mutex<Held>,
    /// Whether ADD is refused; so that an ADD takes no lock to learn that it is not.
    refusing: AtomicBool,
}

impl Conditions {
    /// An empty list; the clock says since when a condition is there.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, held: Mutex::default(), refusing: AtomicBool::new(false) }
    }

    /// Says that a condition is there; since when stays what it was, where it was there already.
    pub fn set(&self, name: ConditionName, subject: &str, message: impl Into<String>) {
        self.change(|held| self.insert(held, name, subject, message.into()));
    }

    /// Says that a condition is over, if it was there.
    pub fn clear(&self, name: ConditionName, subject: &str) {
        self.change(|held| {
            if let Some(over) = held.remove(&(name, subject.to_owned())) {
                tell_over(&over);
            }
        });
    }

    /// Says of all subjects of a condition at once which are in it, and with what message.
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
                self.insert(held, name, &subject, message);
            }
        });
    }

    /// What is wrong now, the worst first, as far as it was said here.
    #[must_use]
    pub fn list(&self) -> Vec<Condition> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// What a condition says of a subject, if it is there.
    pub(crate) fn message(&self, name: ConditionName, subject: &str) -> Option<String> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.get(&(name, subject.to_owned())).map(|condition| condition.message.clone())
    }

    /// Why ADD is refused whatever the journal says, if it is.
    pub(crate) fn refusal(&self) -> Option<Error> {
        if !self.refusing.load(Ordering::Acquire) {
            return None;
        }
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.values().find(|condition| refuses(condition.name)).map(error)
    }

    fn change(&self, change: impl FnOnce(&mut Held)) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut held);
        self.refusing.store(held.keys().any(|(name, _)| refuses(*name)), Ordering::Release);
    }

    fn insert(&self, held: &mut Held, name: ConditionName, subject: &str, message: String) {
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

/// Whether the engine itself refuses ADD for it. The journal answers for its own conditions, and whoever finds a way
/// around a missing socket is served.
fn refuses(name: ConditionName) -> bool {
    matches!(name, ConditionName::StateLost | ConditionName::Stopping)
}

/// What a caller is told of a condition.
pub(crate) fn error(condition: &Condition) -> Error {
    let code = match condition.name {
        ConditionName::CheckpointFailed => ErrorCode::CheckpointFailed,
        ConditionName::DiskFull => ErrorCode::DiskFull,
        _ => ErrorCode::NotReady,
    };
    Error::new(code, &condition.message)
}

fn tell_begun(condition: &Condition) {
    let Condition { name, message, .. } = condition;
    let next_step = name.next_step();
    match name.severity() {
        // It was told to.
        _ if *name == ConditionName::Stopping => tracing::info!(condition = %name, "{message}"),
        Severity::NotReady => tracing::error!(condition = %name, next_step, "{message}"),
        Severity::Degraded => tracing::warn!(condition = %name, next_step, "{message}"),
    }
}

fn tell_over(condition: &Condition) {
    tracing::info!(condition = %condition.name, subject = condition.subject, "a condition is over: {}", condition.message);
}
