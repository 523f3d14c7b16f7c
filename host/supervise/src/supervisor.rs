//! The supervisor: restarts a part that fails, or stops the program if the part is essential. On shutdown, stops each part
//! before the parts that it needs.
//!
//! ```text
//!              stop requested                        returns, or is aborted at the deadline
//! running ────────────────────────▶ stopping ───────────────────────────────────────────────▶ ended
//!   │  ▲ pause      essential: the program exits with an error that names the part
//!   └──┘ fails, panics or returns
//! ```

use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use futures_util::FutureExt as _;
use tenure_conditions::Conditions;
use tenure_types::ConditionName;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::part::{DynPart, Part, panic_words};

/// How long to wait before restarting a part that failed.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a restarted part must run before its condition is cleared.
const STEADY: Duration = Duration::from_secs(10);

/// How long each part may take to stop after the deadline, once no other part needs it.
const LAST_MOMENT: Duration = Duration::from_millis(200);

/// How long to wait for the ends of aborted parts, which remove their sockets: on a busy machine a task waits for its turn.
const ABORTED_ENDS: Duration = Duration::from_secs(2);

/// An essential part has ended.
#[derive(Debug, thiserror::Error)]
#[error("part {name} has ended")]
pub struct PartEnded {
    /// The part's name.
    pub name: &'static str,
    /// Why it ended.
    #[source]
    pub why: anyhow::Error,
}

/// A part that was added, for the parts that need it.
#[derive(Debug, Clone, Copy)]
pub struct Handle(usize);

/// The end of a part that was not told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The program exits with an error that names the part, and the service manager restarts it.
    Essential,
    /// The part is restarted, and a condition reports it meanwhile.
    Restarted,
    /// The part's work is done. If it fails, it is restarted.
    Finite,
}

/// A part with what the supervisor knows of it.
struct Supervised {
    name: &'static str,
    kind: Kind,
    part: Box<dyn DynPart>,
    /// The indices of the parts that it needs.
    needs: Vec<usize>,
}

/// The parts, before they run.
pub struct Supervisor {
    conditions: Arc<Conditions>,
    parts: Vec<Supervised>,
}

impl Supervisor {
    /// Makes a supervisor without parts, which reports restarted parts on this list of conditions.
    #[must_use]
    pub fn new(conditions: &Arc<Conditions>) -> Self {
        Self { conditions: Arc::clone(conditions), parts: Vec::new() }
    }

    /// Adds a part without which the program cannot serve: if it ends, the program exits with an error that names it.
    pub fn essential(&mut self, name: &'static str, part: impl Part, needs: &[Handle]) -> Handle {
        self.add(name, Kind::Essential, part, needs)
    }

    /// Adds a part without which the program can serve: if it ends, it is restarted, and a condition reports it meanwhile.
    pub fn restarted(&mut self, name: &'static str, part: impl Part, needs: &[Handle]) -> Handle {
        self.add(name, Kind::Restarted, part, needs)
    }

    /// Adds a part whose work ends. If it fails, it is restarted.
    pub fn finite(&mut self, name: &'static str, part: impl Part, needs: &[Handle]) -> Handle {
        self.add(name, Kind::Finite, part, needs)
    }

    /// Adds a part that needs others: it is stopped before them. Errors, conditions and the log name it by `name`.
    fn add(&mut self, name: &'static str, kind: Kind, part: impl Part, needs: &[Handle]) -> Handle {
        let needs = needs.iter().map(|need| need.0).collect();
        self.parts.push(Supervised { name, kind, part: Box::new(part), needs });
        Handle(self.parts.len() - 1)
    }

    /// Starts all parts. Needs a tokio runtime.
    #[must_use]
    pub fn start(self) -> Running {
        let (tracker, (ended, ends)) = (TaskTracker::new(), mpsc::unbounded_channel());
        let start = |(index, supervised): (usize, Supervised)| {
            let (name, stop, needs) = (supervised.name, CancellationToken::new(), supervised.needs.clone());
            let work = watch_over(supervised, stop.clone(), Arc::clone(&self.conditions));
            let ended = ended.clone();
            let task = tracker.spawn(async move {
                let end = work.await;
                // The receiver is gone once the daemon has stopped.
                let _ = ended.send((index, end));
            });
            Watched { name, needs, stop, task: task.abort_handle(), has_ended: false }
        };
        let parts = self.parts.into_iter().enumerate().map(start).collect();
        tracker.close();
        Running { tracker, parts, ends }
    }
}

/// A running part.
struct Watched {
    name: &'static str,
    needs: Vec<usize>,
    stop: CancellationToken,
    task: AbortHandle,
    has_ended: bool,
}

/// The parts while they run.
pub struct Running {
    tracker: TaskTracker,
    parts: Vec<Watched>,
    ends: mpsc::UnboundedReceiver<(usize, Result<(), PartEnded>)>,
}

impl Running {
    /// Waits until an essential part ends.
    pub async fn failed(&mut self) -> PartEnded {
        while let Some((index, end)) = self.ends.recv().await {
            self.note(index);
            if let Err(ended) = end {
                return ended;
            }
        }
        pending().await
    }

    /// Stops each part as soon as no other part needs it. Parts that still run at the deadline are aborted; returns their names.
    pub async fn stop(mut self, deadline: Duration) -> Vec<&'static str> {
        let (mut until, mut cut_off) = (Instant::now() + deadline, Vec::new());
        loop {
            self.stop_what_nothing_needs();
            if self.parts.iter().all(|part| part.has_ended) {
                break;
            }
            match timeout_at(until, self.ends.recv()).await {
                Ok(Some((index, end))) => {
                    self.note(index);
                    if let Err(ended) = end {
                        tracing::error!(
                            part = ended.name,
                            why = format!("{:#}", ended.why),
                            "a part failed while stopping"
                        );
                    }
                }
                Ok(None) => break,
                Err(_) => {
                    for part in
                        self.parts.iter_mut().filter(|part| part.stop.is_cancelled() && !part.has_ended)
                    {
                        part.task.abort();
                        part.has_ended = true;
                        cut_off.push(part.name);
                    }
                    until = Instant::now() + LAST_MOMENT;
                }
            }
        }
        // An aborted task ends when it is next polled; one that blocks its thread ends with the process.
        let _ = timeout_at(Instant::now() + ABORTED_ENDS, self.tracker.wait()).await;
        cut_off
    }

    fn note(&mut self, index: usize) {
        if let Some(part) = self.parts.get_mut(index) {
            part.has_ended = true;
        }
    }

    fn stop_what_nothing_needs(&self) {
        for (index, part) in self.parts.iter().enumerate() {
            if !self.parts.iter().any(|other| !other.has_ended && other.needs.contains(&index)) {
                part.stop.cancel();
            }
        }
    }
}

/// Runs a part, and restarts it after failures, until a stop is requested or it ends for good.
async fn watch_over(
    supervised: Supervised,
    stop: CancellationToken,
    conditions: Arc<Conditions>,
) -> Result<(), PartEnded> {
    let Supervised { name, kind, mut part, .. } = supervised;
    loop {
        let run = AssertUnwindSafe(part.run(&stop)).catch_unwind();
        let steady = async {
            sleep(STEADY).await;
            conditions.clear(ConditionName::PartFailed, name);
            pending().await
        };
        let end = tokio::select! {
            end = run => end,
            never = steady => never,
        };
        let why = match end {
            Ok(Ok(())) if stop.is_cancelled() || kind == Kind::Finite => {
                conditions.clear(ConditionName::PartFailed, name);
                return Ok(());
            }
            Ok(Ok(())) => anyhow!("it returned without being told to stop"),
            Ok(Err(error)) => error,
            Err(panic) => anyhow!("it panicked: {}", panic_words(panic.as_ref())),
        };
        if kind == Kind::Essential || stop.is_cancelled() {
            return Err(PartEnded { name, why });
        }
        conditions.set(ConditionName::PartFailed, name, format!("part {name} has ended: {why:#}"));
        tokio::select! {
            () = sleep(PAUSE) => {}
            () = stop.cancelled() => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
