//! What is wrong with the node, put together: what others have said, and what the journal and the books say when asked.

use std::sync::Arc;

use tenure_ledger::{Book, Shelf};
use tenure_types::{Condition, ConditionName, Error, ErrorCode, Need, Result, Severity};

use crate::conditions::{self, Conditions};
use crate::engine::Engine;

/// The conditions that the journal tells of when it is asked.
const JOURNALS: [(ConditionName, ErrorCode); 2] = [
    (ConditionName::CheckpointFailed, ErrorCode::CheckpointFailed),
    (ConditionName::DiskFull, ErrorCode::DiskFull),
];

impl Engine {
    /// Where the parts of the daemon say what is wrong.
    #[must_use]
    pub fn conditions(&self) -> &Arc<Conditions> {
        &self.conditions
    }

    /// What is wrong with the node now, the worst first. The one list that every answer about the node is made from.
    #[must_use]
    pub fn whats_wrong(&self) -> Vec<Condition> {
        let trouble = self.ports.journal.health().err();
        for (name, code) in JOURNALS {
            match trouble.as_ref().filter(|trouble| trouble.code == code) {
                Some(trouble) => self.conditions.set(name, "", &trouble.cause),
                None => self.conditions.clear(name, ""),
            }
        }
        self.look_at_policies();
        self.conditions.list()
    }

    /// Looks at what is known of each policy; nothing is read or compiled for it.
    fn look_at_policies(&self) {
        match self.ports.catalogue.awaited() {
            Some(awaited) => self.conditions.set(ConditionName::Starting, "", awaited),
            None => self.conditions.clear(ConditionName::Starting, ""),
        }
        let (mut loading, mut unloadable) = (Vec::new(), Vec::new());
        for entry in self.ports.catalogue.list() {
            let Some(problem) = entry.problem else { continue };
            let of = if entry.loading { &mut loading } else { &mut unloadable };
            let name = entry.stamp.name;
            let message = format!("policy {name} of {} cannot be used: {problem}", entry.source);
            of.push((name.to_string(), message));
        }
        self.conditions.replace(ConditionName::PoliciesLoading, loading);
        self.conditions.replace(ConditionName::PolicyUnloadable, unloadable);
        let benched = self.strikes.benched(self.ports.clock.monotonic());
        self.conditions.replace(ConditionName::PolicyBenched, benched);
    }

    /// Why ADD fails on this node, if it does.
    ///
    /// # Errors
    /// `NotReady`, `DiskFull` or `CheckpointFailed`.
    pub fn readiness(&self) -> Result<()> {
        let wrong = self.whats_wrong();
        let worst = wrong.iter().find(|condition| condition.name.severity() == Severity::NotReady);
        worst.map_or(Ok(()), |condition| Err(conditions::error(condition)))
    }

    /// Why this ADD is refused, whoever sends it; the short way to what [`readiness`](Self::readiness) says.
    pub(crate) fn admits(&self) -> Result<()> {
        self.conditions.refusal().map_or_else(|| self.ports.journal.health(), Err)
    }

    /// Looks for pools without a free address, and for networks that hand out what is no longer allowed. A network that is busy
    /// right now is as it was.
    pub fn look_at_networks(&self) {
        let (now, bounds) = (self.now(), self.bounds());
        let before = self.conditions.list();
        let as_before = |which: ConditionName, is_own: &dyn Fn(&str) -> bool| -> Vec<(String, String)> {
            let before =
                before.iter().filter(|condition| condition.name == which && is_own(&condition.subject));
            before.map(|condition| (condition.subject.clone(), condition.message.clone())).collect()
        };
        let (mut exhausted, mut out_of_bounds) = (Vec::new(), Vec::new());
        for (name, slot) in self.networks.all() {
            let Some(mut held) = slot.try_lock() else {
                let own = format!("{name}/");
                exhausted
                    .extend(as_before(ConditionName::PoolExhausted, &|subject| subject.starts_with(&own)));
                out_of_bounds.extend(as_before(ConditionName::NetworkOutOfBounds, &|subject| {
                    subject == name.as_str()
                }));
                continue;
            };
            let Some(served) = held.as_mut() else { continue };
            self.expire(served, now);
            let pools = served.book.pools().iter().enumerate();
            let full = pools.filter_map(|(index, pool)| Some((pool, exhaustion(&served.book, index)?)));
            exhausted.extend(full.map(|(pool, message)| (format!("{name}/{}", pool.name), message)));
            let alone = held.look();
            if let Err(error) = self.check_within(&alone, &bounds) {
                out_of_bounds.push((name.to_string(), error.cause));
            }
        }
        self.conditions.replace(ConditionName::PoolExhausted, exhausted);
        self.conditions.replace(ConditionName::NetworkOutOfBounds, out_of_bounds);
    }
}

/// Says that a pool has no address that an ADD could get, if so.
fn exhaustion(book: &Book, index: usize) -> Option<String> {
    if !book.is_exhausted(index) {
        return None;
    }
    let (network, pool, usage) = (book.name(), book.pools().get(index)?, book.usage(Shelf::whole(index)));
    let name = &pool.name;
    Some(match usage.total {
        0 => format!("pool {name} of network {network} is exhausted: it has no addresses"),
        total => {
            let used = usage.held.saturating_add(usage.cooling);
            format!("pool {name} of network {network} is exhausted: {used} of {total} in use")
        }
    })
}

/// Says why no ADD could get what it needs, if so: a pool that every grant needs is exhausted, or all that there are.
pub(crate) fn exhausted(book: &Book) -> Option<String> {
    let pools = || book.pools().iter().enumerate();
    let needed = pools().filter(|(_, pool)| pool.need == Need::Always);
    if let Some(message) = needed.clone().find_map(|(index, _)| exhaustion(book, index)) {
        return Some(message);
    }
    if needed.count() > 0 {
        return None;
    }
    let messages: Option<Vec<String>> = pools().map(|(index, _)| exhaustion(book, index)).collect();
    messages.filter(|messages| !messages.is_empty()).map(|messages| messages.join("; "))
}

/// What STATUS answers for something that an ADD would meet.
pub(crate) fn unavailable(cause: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::Unavailable, cause)
}
