//! Puts allocations into quarantine whose sandbox one source alone has reported as gone for long, and lifts that when a source speaks
//! for the sandbox. Nothing is freed here.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tenure_engine::Engine;
use tenure_types::{Allocation, Error, Generation, NetworkName};

use crate::gone::{GoneFile, GoneSince};
use crate::{PodReport, SandboxEvidence, Sandboxes};

/// How long one source alone must report a sandbox as gone.
const DOUBTFUL_AFTER: Duration = Duration::from_secs(15 * 60);

/// The allocations whose owner is doubtful, or may become it.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    /// The time since which each look has found the owner doubtful. A restart of the daemon does not begin it again, if there is a
    /// file; the ledger remembers what is in quarantine.
    since: GoneSince,
    file: Option<GoneFile>,
}

impl Doubts {
    /// Resumes the doubts that an earlier daemon of this boot has recorded in a file.
    pub(crate) fn kept_in(file: GoneFile, now: Duration) -> Self {
        Self { since: file.read(now), file: Some(file) }
    }

    /// Follows a look at the sandboxes of these allocations.
    pub(crate) async fn look(
        &mut self,
        engine: &Engine,
        sandboxes: &Sandboxes,
        held: &[Arc<Allocation>],
        evidence: &[SandboxEvidence],
        now: Duration,
    ) {
        let marked = marked(engine).await;
        let before = std::mem::take(&mut self.since);
        for (held, evidence) in held.iter().zip(evidence) {
            let is_marked = marked.contains(&(held.network.clone(), held.generation));
            if let Some(doubt) = evidence.doubt(held.origin.is_some()).filter(|_| !is_marked) {
                let key = (held.network.clone(), held.generation, held.requested_at);
                let since = before.get(&key).copied().unwrap_or(now);
                if now.saturating_sub(since) >= DOUBTFUL_AFTER {
                    let done = engine.doubt(held, doubt).await;
                    if let Ok(true) = done {
                        sandboxes.report(held, PodReport::Quarantined(doubt));
                    }
                    told(held, "put into quarantine", doubt, done);
                }
                self.since.insert(key, since);
            }
            if let Some(there) = evidence.assurance().filter(|_| is_marked) {
                told(held, "taken out of quarantine", there, engine.lift_doubt(held, there).await);
            }
        }
        if self.since != before
            && let Some(file) = &mut self.file
        {
            file.write(&self.since);
        }
    }
}

#[cfg(test)]
impl Doubts {
    /// The number of allocations that may become doubtful.
    pub(crate) fn since(&self) -> usize {
        self.since.len()
    }
}

/// The allocations that are in quarantine.
async fn marked(engine: &Engine) -> HashSet<(NetworkName, Generation)> {
    let mut marked = HashSet::new();
    for name in engine.network_names() {
        let Some(book) = engine.book(&name).await.filter(|book| book.has_quarantine()) else { continue };
        marked.extend(book.doubts().map(|generation| (name.clone(), generation)));
    }
    marked
}

/// Logs what was done about an allocation.
fn told(held: &Allocation, what: &str, why: &str, done: Result<bool, Error>) {
    let (network, owner, generation) = (&held.network, &held.owner, held.generation);
    match done {
        Ok(true) => tracing::warn!(%network, %owner, %generation, "{what}: {why}"),
        Ok(false) => {}
        Err(error) => {
            tracing::warn!(%network, %owner, %generation, cause = error.cause, "cannot be {what} yet");
        }
    }
}
