//! Keeping the kernel as it is wanted: look, plan, apply, and wait for the next change.

mod pace;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::error::Error;
use crate::kernel::Kernel;
use crate::monitor::{Change, Monitor};
use crate::plan::{Operation, Plan};
use crate::wanted::Wanted;

use self::pace::Pace;

/// How often everything is looked at without a change: sysctls report none.
const PERIOD: Duration = Duration::from_secs(30);
/// How often a plan is made anew until nothing is left to do: what a removal takes along is put back by the next.
const ROUNDS: usize = 4;

/// What the keeper did or could not do, for counters and logs.
#[derive(Debug)]
pub enum Event {
    /// Something of ours changed, or may have.
    Noticed(Change),
    /// What is wanted has changed, and this was done for it.
    Applied(Vec<Operation>),
    /// Nothing that is wanted had changed, but the kernel had: this was done to repair it.
    Repaired(Vec<Operation>),
    /// An operation failed. It is tried again.
    Failed(Operation, Error),
    /// The kernel could not be looked at. It is tried again.
    Blind(Error),
    /// These links and sysctls do not exist; what concerns them waits until they do.
    Waiting(Vec<String>),
    /// The kernel is as it is wanted, so far as its links exist, but for these pods: the hosts' ends of their links, and why. They are
    /// tried again.
    Settled(Arc<Wanted>, BTreeMap<String, String>),
    /// The kernel is not as it is wanted: something has failed, or has to be done anew. It is tried again.
    Unsettled(Arc<Wanted>),
}

/// Keeps the kernel of the calling thread's network namespace as it is wanted, until it is dropped.
///
/// A rule, route, address or chain that goes away is back within a second. Somebody who removes it again and again makes that
/// slower, never more than a second slow, and is reported each time.
///
/// # Errors
/// When the kernel cannot be watched, or nobody is left who wants anything.
pub async fn keep(
    mut wanted: watch::Receiver<Arc<Wanted>>,
    mut report: impl FnMut(Event),
) -> Result<Infallible, Error> {
    let mut kernel = Kernel::connect()?;
    // The watch begins before the first look, so that nothing falls between.
    let mut monitor = Monitor::start()?;
    let mut pace = Pace::new();
    // Whether what is done next repairs something: all that is wanted now has been there before.
    let mut drifted = false;
    let mut waiting: Vec<String> = Vec::new();
    loop {
        drifted &= !wanted.has_changed().map_err(|_| Error::Unwanted)?;
        let now = Arc::clone(&wanted.borrow_and_update());
        let outcome = settle(&kernel, &now, &mut report).await;
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
                Ok(change) => report(Event::Noticed(change?)),
                Err(_) => pace.rested(),
            }
        }
        // One command of a person, or one sweep of a program, makes many changes.
        pace.begin();
        while let Some(time) = pace.gather() {
            tokio::select! {
                // A pod that sets its own end down and up makes changes without end: whoever wants something does not wait for them.
                changed = wanted.changed() => {
                    changed.map_err(|_| Error::Unwanted)?;
                    wanted.mark_changed();
                    break;
                }
                change = tokio::time::timeout(time, monitor.changed(&now)) => match change {
                    Ok(change) => report(Event::Noticed(change?)),
                    Err(_) => break,
                }
            }
        }
    }
}

/// What one visit came to.
struct Outcome {
    done: Vec<Operation>,
    absent: Vec<String>,
    /// The pods that nothing more is done for, with the reason.
    left_out: BTreeMap<String, String>,
    settled: bool,
    blind: bool,
}

impl Outcome {
    fn new() -> Self {
        let (done, absent, left_out) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { done, absent, left_out, settled: false, blind: false }
    }
}

/// Looks, plans and applies until nothing is left to do.
async fn settle(kernel: &Kernel, wanted: &Wanted, report: &mut impl FnMut(Event)) -> Outcome {
    let mut outcome = Outcome::new();
    for _ in 0..ROUNDS {
        let mut plan = match kernel.look(wanted).await {
            Ok(seen) => Plan::of(wanted, &seen),
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
