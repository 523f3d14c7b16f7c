//! Frees leaks: allocations whose sandbox is proven gone at two looks that are a grace period apart. What one source alone reports as gone
//! is put into quarantine by [`Doubts`].
//!
//! There is no queue that could lose a pod: each look begins with the ledger's rows. A look comes at least every ten seconds, soon after the
//! API server's watch of pods has said that one may have gone, and when a grace period ends.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tenure_engine::Engine;
use tenure_engine::ports::Clock;
use tenure_types::{Allocation, BootId, ConditionName, End, Moment};

use crate::doubts::Doubts;
use crate::evidence::{SandboxEvidence, WitnessVerdict};
use crate::gone::{GoneFile, GoneKey, GoneSince};
use crate::last_reads::{LastRead, LastReads};
use crate::{PodReport, Sandboxes};

/// The longest pause between two looks.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// The pause between what the API server says and the look that follows it: pods are often deleted many at a time.
const AFTER_CHANGE: Duration = Duration::from_secs(1);

/// For how long a pod may live without being listed, in nanoseconds: the runtime lists it once its ADD has returned.
pub(crate) const NEW_NS: u64 = 60_000_000_000;

/// The watch for sandboxes that are gone.
pub struct Leaks {
    engine: Arc<Engine>,
    sandboxes: Arc<Sandboxes>,
    clock: Arc<dyn Clock>,
    /// How long a sandbox must be gone; read at each look, since the configuration may be reloaded.
    grace: Box<dyn Fn() -> Duration + Send + Sync>,
    /// The time since which each look has found the sandbox gone. A look that cannot tell resets it, and so does a
    /// repeated ADD. A restart of the daemon does not, if there is a file.
    gone_since: GoneSince,
    file: Option<GoneFile>,
    doubts: Doubts,
}

impl Leaks {
    /// A watch that frees allocations whose sandbox has been gone for the grace period.
    #[must_use]
    pub fn new(
        engine: Arc<Engine>,
        sandboxes: Arc<Sandboxes>,
        clock: Arc<dyn Clock>,
        grace: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Self {
        Self {
            engine,
            sandboxes,
            clock,
            grace: Box::new(grace),
            gone_since: GoneSince::new(),
            file: None,
            doubts: Doubts::default(),
        }
    }

    /// Resumes the grace periods and the doubts that an earlier one in this boot has recorded in the files `gone` and `doubtful` of the
    /// run directory.
    #[must_use]
    pub fn kept_in(mut self, run_dir: &Path, boot: &BootId) -> Self {
        let (now, file) = (self.clock.monotonic(), GoneFile::new(run_dir.join("gone"), boot.clone()));
        self.gone_since = file.read(now);
        self.file = Some(file);
        self.doubts = Doubts::kept_in(GoneFile::new(run_dir.join("doubtful"), boot.clone()), now);
        self
    }

    /// Looks immediately, so that leaks of a crash are freed one grace period later, and then for as long as the
    /// daemon serves.
    pub async fn watch(&mut self) {
        loop {
            let pause = self.look(self.clock.monotonic()).await;
            self.wait(pause).await;
        }
    }

    /// Waits for the time of the next look, or until the API server says that a pod may have gone.
    async fn wait(&self, pause: Duration) {
        let regular = tokio::time::sleep(pause);
        match self.sandboxes.pods() {
            // In this order, so that a simulation repeats. What changed at the same time is not lost: its look follows this one.
            Some(pods) => tokio::select! {
                biased;
                () = regular => {}
                () = pods.changed() => tokio::time::sleep(AFTER_CHANGE).await,
            },
            None => regular.await,
        }
    }

    /// Looks once, and frees allocations whose grace period is over. Returns the pause until the next look.
    async fn look(&mut self, now: Duration) -> Duration {
        // Nothing is written to an unconfirmed state, so that the right one is recognised when it is put back.
        if self.engine.has_state().is_err() {
            return LOOK_AGAIN;
        }
        // List the allocations first: later ones are not looked for.
        let mut held = Vec::new();
        for name in self.engine.network_names() {
            held.extend(self.engine.book(&name).await.iter().flat_map(|book| book.allocations().cloned()));
        }
        let (evidence, problem) = self.sandboxes.look_for(&held).await;
        let conditions = self.engine.conditions();
        match problem {
            Some(error) => conditions.set(ConditionName::RuntimeUnreachable, "", error.cause),
            None => conditions.clear(ConditionName::RuntimeUnreachable, ""),
        }
        match foreign(&held, &evidence, self.clock.now()) {
            Some(why) => conditions.set(ConditionName::RuntimeForeign, "", why),
            None => conditions.clear(ConditionName::RuntimeForeign, ""),
        }
        self.doubts.look(&self.engine, &self.sandboxes, &held, &evidence, now).await;
        let (grace, before) = ((self.grace)(), std::mem::take(&mut self.gone_since));
        let mut due = Vec::new();
        for (held, evidence) in held.iter().zip(evidence).filter(|(_, evidence)| evidence.proves_gone()) {
            let key = key(held);
            let since = before.get(&key).copied().unwrap_or(now);
            // It stays until it is freed, or the proof does not hold any more.
            self.gone_since.insert(key, since);
            if now.saturating_sub(since) >= grace {
                due.push((Arc::clone(held), evidence));
            }
        }
        self.free_all(due).await;
        if self.gone_since != before
            && let Some(file) = &mut self.file
        {
            file.write(&self.gone_since);
        }
        tracing::debug!(held = held.len(), gone = self.gone_since.len(), "looked for sandboxes");
        let ends = self.gone_since.values().map(|since| (*since + grace).saturating_sub(now));
        // An allocation that could not be freed at the end of its grace period waits for the next regular look.
        ends.filter(|left| !left.is_zero()).fold(LOOK_AGAIN, Duration::min)
    }

    /// Frees allocations whose grace period is over. Where the word about the pod is half of the proof, it is asked for once more; these come
    /// last, since the API server may be silent.
    async fn free_all(&mut self, due: Vec<(Arc<Allocation>, SandboxEvidence)>) {
        let rests_on_pod = |(_, evidence): &(_, SandboxEvidence)| {
            !SandboxEvidence { pod: WitnessVerdict::Unknown, ..*evidence }.proves_gone()
        };
        let (doubtable, proven): (Vec<_>, Vec<_>) = due.into_iter().partition(rests_on_pod);
        for (held, _) in proven {
            if self.free(&held).await {
                self.gone_since.remove(&key(&held));
            }
        }
        if doubtable.is_empty() {
            return;
        }
        let held: Vec<_> = doubtable.into_iter().map(|(held, _)| held).collect();
        let sandboxes = Arc::clone(&self.sandboxes);
        let evidence = sandboxes.look_beside_pods(&held).await;
        let mut reads = LastReads::new(&sandboxes);
        for (held, evidence) in held.iter().zip(evidence) {
            let is_settled = match reads.read(held, evidence).await {
                LastRead::Gone => self.free(held).await,
                LastRead::Unproven => true,
                LastRead::Unread => false,
            };
            if is_settled {
                self.gone_since.remove(&key(held));
            }
        }
    }

    /// Frees an allocation; returns whether it is settled.
    async fn free(&self, held: &Allocation) -> bool {
        let (network, owner, generation) = (&held.network, &held.owner, held.generation);
        match self.engine.reap(held, End::Leak, "").await {
            Ok(freed) => {
                if freed {
                    tracing::warn!(%network, %owner, %generation, "freed the leaked allocation of a sandbox that is gone");
                    self.sandboxes.report(held, PodReport::Reclaimed);
                }
                true
            }
            Err(error) => {
                tracing::warn!(%network, %owner, %generation, cause = error.cause, "cannot free a leaked allocation yet");
                false
            }
        }
    }
}

/// An allocation as [`GoneSince`] names it.
fn key(held: &Allocation) -> GoneKey {
    (held.network.clone(), held.generation, held.requested_at)
}

/// Why the runtime seems to be another one than that of the pods, if so: it lists none of those whose network namespaces exist. One that was
/// added a moment ago may not be listed yet.
fn foreign(held: &[Arc<Allocation>], evidence: &[SandboxEvidence], now: Moment) -> Option<String> {
    let is_old = |held: &Allocation| now.boot_ns.saturating_sub(held.requested_at.boot_ns) >= NEW_NS;
    let rows = held.iter().zip(evidence).filter(|(held, _)| is_old(held));
    let living: Vec<_> = rows
        .map(|(_, evidence)| evidence)
        .filter(|evidence| evidence.namespace == WitnessVerdict::Present)
        .collect();
    let is_none_listed = living.iter().all(|evidence| evidence.runtime == WitnessVerdict::Absent);
    let count = living.len();
    (count > 0 && is_none_listed).then(|| match count {
        1 => "the container runtime does not list the only living pod of this node".to_owned(),
        count => format!("the container runtime lists none of {count} living pods of this node"),
    })
}

#[cfg(test)]
mod tests;
