//! Keeps the kernel in the desired state: observe, plan, apply, and wait for the next change.
//!
//! ```text
//! observe, plan, apply ── nothing left to do ──────────────▶ settled: waits 30 s
//!  ▲   (up to 4 rounds) ├─ nothing left but pods that fail ▶ settled without them: waits, longer each time
//!  │                    ├─ an operation failed ────────────▶ unsettled: waits, longer each time
//!  │                    └─ the kernel did not answer ──────▶ blind: connects again, and waits as unsettled
//!  │                                                            │
//!  └── the wait is over, a change was noticed, or there is a new desired state
//! ```
//!
//! The watch of changes begins before the first observation, so that no change falls between. After the first settled round,
//! operations that no new desired state explains are repairs, and reported as such. A new desired state ends every wait. The
//! keeper ends only if the kernel cannot be watched, or if the source of the desired state is gone.

mod pace;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::error::Error;
use crate::kernel::Kernel;
use crate::monitor::{KernelChange, Monitor};
use crate::plan::{KernelPlan, Operation};
use crate::wanted::DesiredState;

use self::pace::Pace;

/// How often everything is looked at without a change: sysctls report none.
const PERIOD: Duration = Duration::from_secs(30);
/// The number of plans made in a row until nothing is left to do: objects that a removal takes along are put back by the next.
const ROUNDS: usize = 4;

/// The keeper's actions and failures, for counters and logs.
#[derive(Debug)]
pub enum Event {
    /// Something of ours changed, or may have.
    Noticed(KernelChange),
    /// The desired state has changed, and these operations were done for it.
    Applied(Vec<Operation>),
    /// The kernel had changed, and the desired state had not: these operations repaired it.
    Repaired(Vec<Operation>),
    /// An operation failed. The keeper retries.
    Failed(Operation, Error),
    /// The kernel could not be observed. The keeper retries.
    Blind(Error),
    /// Links and sysctls that do not exist; operations on them wait until they do.
    Waiting(Vec<String>),
    /// The kernel is in the desired state, so far as its links exist, but for these pods: the hosts' ends of their links, and why. They are
    /// tried again.
    Settled(Arc<DesiredState>, BTreeMap<String, String>),
    /// The kernel is not in the desired state: something has failed, or has to be repeated. The keeper retries.
    Unsettled(Arc<DesiredState>),
}

/// Keeps the kernel of the calling thread's network namespace in the desired state, until it is dropped.
///
/// A rule, route, address or chain that goes away is back within a second. Somebody who removes it again and again makes that
/// slower, never more than a second slow, and is reported each time.
///
/// # Errors
/// When the kernel cannot be watched, or the source of the desired state is gone.
pub async fn keep(
    mut wanted: watch::Receiver<Arc<DesiredState>>,
    mut report: impl FnMut(Event),
) -> Result<Infallible, Error> {
    let mut kernel = Kernel::connect()?;
    // The watch begins before the first look, so that nothing falls between.
    let mut monitor = Monitor::start()?;
    let mut pace = Pace::new();
    // Whether what is done next repairs something: all that is wanted now has been there before.
    let mut drifted = false;
    let mut waiting: Vec<String> = Vec::new();
    // Whether a change in the kernel causes the next look.
    let mut noticed = false;
    loop {
        drifted &= !wanted.has_changed().map_err(|_| Error::Unwanted)?;
        let now = Arc::clone(&wanted.borrow_and_update());
        let outcome = settle(&kernel, &now, &mut report).await;
        if std::mem::take(&mut noticed) && outcome.settled && outcome.done.is_empty() {
            pace.looked_in_vain();
        }
        let (expected, repairs): (Vec<_>, Vec<_>) =
            outcome.done.into_iter().partition(|operation| !drifted || operation.concerns(&waiting));
        for (operations, event) in [(expected, Event::Applied as fn(_) -> _), (repairs, Event::Repaired)] {
            if !operations.is_empty() {
                pace.worked();
                report(event(operations));
            }
        }
        if outcome.blind {
            // The connection itself may be what is broken.
            kernel = Kernel::connect()?;
        } else if outcome.absent != waiting {
            waiting = outcome.absent;
            report(Event::Waiting(waiting.clone()));
        }
        let pause = if outcome.settled {
            let pause = if outcome.left_out.is_empty() {
                pace.succeeded();
                PERIOD
            } else {
                pace.retry()
            };
            report(Event::Settled(Arc::clone(&now), outcome.left_out));
            pause
        } else {
            pace.worked();
            report(Event::Unsettled(Arc::clone(&now)));
            pace.retry()
        };
        drifted |= outcome.settled;
        tokio::select! {
            changed = wanted.changed() => {
                changed.map_err(|_| Error::Unwanted)?;
                wanted.mark_changed();
                continue;
            }
            change = tokio::time::timeout(pause, monitor.changed(&now)) => match change {
                Ok(change) => {
                    report(Event::Noticed(change?));
                    noticed = true;
                }
                Err(_) => pace.rested(),
            }
        }
        gather(&mut pace, &mut wanted, &mut monitor, (&now, &mut report)).await?;
    }
}

/// Waits for more changes: one command of a person, or one sweep of a program, makes many.
async fn gather(
    pace: &mut Pace,
    wanted: &mut watch::Receiver<Arc<DesiredState>>,
    monitor: &mut Monitor,
    (now, report): (&DesiredState, &mut impl FnMut(Event)),
) -> Result<(), Error> {
    let mut patience = pin!(tokio::time::sleep(pace.begin()));
    let mut quiet = pace.gather();
    loop {
        tokio::select! {
            // A pod that sets its own end down and up makes changes without end: a change of the desired state does not wait for them.
            changed = wanted.changed() => {
                changed.map_err(|_| Error::Unwanted)?;
                wanted.mark_changed();
                return Ok(());
            }
            () = patience.as_mut(), if quiet.is_none() => return Ok(()),
            change = tokio::time::timeout(quiet.unwrap_or(PERIOD), monitor.changed(now)) => match change {
                Ok(change) => {
                    report(Event::Noticed(change?));
                    quiet = quiet.and_then(|_| pace.gather());
                }
                Err(_) => quiet = None,
            }
        }
    }
}

/// The outcome of one visit.
struct VisitOutcome {
    done: Vec<Operation>,
    absent: Vec<String>,
    /// The pods that nothing more is done for, with the reason.
    left_out: BTreeMap<String, String>,
    settled: bool,
    blind: bool,
}

impl VisitOutcome {
    fn new() -> Self {
        let (done, absent, left_out) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { done, absent, left_out, settled: false, blind: false }
    }
}

/// Looks, plans and applies until nothing is left to do.
async fn settle(kernel: &Kernel, wanted: &DesiredState, report: &mut impl FnMut(Event)) -> VisitOutcome {
    let mut outcome = VisitOutcome::new();
    for _ in 0..ROUNDS {
        let mut plan = match kernel.look(wanted).await {
            Ok(seen) => KernelPlan::of(wanted, &seen),
            Err(error) => {
                report(Event::Blind(error));
                outcome.blind = true;
                return outcome;
            }
        };
        outcome.absent = plan.absent.iter().cloned().collect();
        plan.leave_out(&outcome.left_out, wanted);
        if plan.is_empty() {
            outcome.settled = true;
            return outcome;
        }
        match kernel.apply(&plan).await {
            Ok(applied) => {
                outcome.done.extend(applied.done);
                let mut failed = false;
                for (operation, error) in applied.failed {
                    match operation.pod() {
                        Some(pod) => drop(outcome.left_out.insert(pod.to_owned(), error.to_string())),
                        None => failed = true,
                    }
                    report(Event::Failed(operation, error));
                }
                if failed {
                    return outcome;
                }
            }
            Err(error) => {
                report(Event::Blind(error));
                outcome.blind = true;
                return outcome;
            }
        }
    }
    outcome
}
