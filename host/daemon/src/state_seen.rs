//! Detects at the start whether the state was lost, in whole or in part.
//!
//! The [mark](Mark) in the run directory says what was last durable; a reboot, which ends all pods, clears it. At a start:
//!
//! | mark of this boot | state | result |
//! |---|---|---|
//! | none, or nothing was recorded yet | any | complete; an empty state means a fresh node |
//! | `seen` | has what the mark says | complete |
//! | `seen` | lacks some of that, or is a different state | lost |
//! | `lost`, or unreadable | any | lost |
//!
//! The mark is unchanged while the state is lost, so that the right state is recognised if it comes back; if somebody deletes it, it is
//! [put back](found::FoundRecords). When the first fact is
//! written to an unconfirmed state, the mark becomes `lost`: no state has everything then, and only a confirmation helps.

mod found;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use tenure_checkpoint::{Durable, Mark, Pen, RecoveryReport, Witness};
use tenure_supervise::Gate;
use tenure_types::hold;

use self::found::FoundRecords;
use crate::claims_seen::ClaimsSeen;

/// Whether the state is lost, and the mark that outlives the daemon.
#[derive(Debug)]
pub(crate) struct StateSeen {
    /// Held while the mark is written, once for each sync of the log.
    known: Mutex<KnownState>,
    /// The witness of agents' claims, once there is an engine.
    claims: OnceLock<ClaimsSeen>,
    /// Whether the last record of the claims failed.
    claims_failed: AtomicBool,
    /// Open once the state is the node's: nothing writes to another one, or changes the node by it.
    confirmed: Gate,
}

#[derive(Debug)]
struct KnownState {
    pen: Pen,
    /// The records that the start found, while the state is lost.
    lost: Option<FoundRecords>,
    /// Latest durable state.
    durable: Option<Durable>,
    /// Whether the last write of the mark succeeded.
    marked: bool,
}

impl StateSeen {
    /// Decides from the mark and recovery's report whether the state was lost.
    pub(crate) fn new(pen: Pen, mark: Mark, report: &RecoveryReport) -> Self {
        let read = || FoundRecords::read(pen.path(), report.last);
        let lost = mark.is_lost(report).then(read);
        let confirmed = Gate::default();
        if lost.is_none() {
            confirmed.open();
        }
        let known = KnownState { pen, lost, durable: None, marked: true };
        Self {
            known: Mutex::new(known),
            claims: OnceLock::new(),
            claims_failed: AtomicBool::default(),
            confirmed,
        }
    }

    /// Has the claims recorded, too, from now on; while the state is lost, their witness stays as it is.
    pub(crate) fn follow(&self, claims: ClaimsSeen) {
        let _ = self.claims.set(claims);
        if !self.is_lost() {
            self.record_claims();
        }
    }

    fn record_claims(&self) {
        let Some(claims) = self.claims.get() else { return };
        let recorded = claims.record();
        let had_failed = self.claims_failed.swap(recorded.is_err(), Ordering::Relaxed);
        let Err(error) = recorded else { return };
        claims.forget();
        if !had_failed {
            tracing::warn!(%error, "cannot record agents' claims in the run directory; a later loss of state may cost agents their addresses");
        }
    }

    /// Whether the state was lost and has not been confirmed.
    pub(crate) fn is_lost(&self) -> bool {
        self.known().lost.is_some()
    }

    /// Open if the state was not lost; otherwise, who has confirmed it opens it.
    pub(crate) fn confirmed(&self) -> &Gate {
        &self.confirmed
    }

    /// Confirms the current state. Returns whether it was lost.
    ///
    /// # Errors
    /// If the mark cannot be written, or nothing is durable yet; then nothing changes.
    pub(crate) fn adopt(&self) -> io::Result<bool> {
        let mut known = self.known();
        if known.lost.is_none() {
            return Ok(false);
        }
        let durable = known.durable.ok_or_else(|| io::Error::other("nothing is durable yet"))?;
        // First, so that a kill in between leaves the state lost.
        self.claims.get().map_or(Ok(()), ClaimsSeen::record)?;
        known.pen.write(false, &durable)?;
        known.lost = None;
        Ok(true)
    }

    fn known(&self) -> MutexGuard<'_, KnownState> {
        hold(&self.known)
    }
}

impl KnownState {
    /// Records what is durable, and puts back what was found while the state is lost.
    fn record(&mut self, durable: &Durable) -> io::Result<()> {
        let Some(found) = &self.lost else { return self.pen.write(false, durable) };
        if durable.fact > found.last {
            self.pen.write(true, durable)?;
        }
        found.put_back()
    }
}

impl Witness for StateSeen {
    fn durable(&self, durable: &Durable) {
        let mut known = self.known();
        known.durable = Some(*durable);
        let lost = known.lost.is_some();
        let written = known.record(durable);
        // Log only the first failure, not each sync's.
        match &written {
            Err(error) if known.marked => {
                let path = known.pen.path().display();
                tracing::warn!(%path, %error, "cannot write the state mark; a later loss of state may go undetected");
            }
            _ => {}
        }
        known.marked = written.is_ok();
        drop(known);
        if !lost {
            self.record_claims();
        }
    }
}

#[cfg(test)]
mod tests;
