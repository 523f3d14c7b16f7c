//! Runs steps one after the other, announces each with its number, and summarizes them in a table.

use std::time::Duration;

use anyhow::Result;
use rustix::time::{ClockId, clock_gettime};

/// The outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepOutcome {
    Passed,
    Failed,
    /// The step that it depends on has failed.
    NotRun,
}

/// The steps so far.
#[derive(Debug)]
pub(crate) struct StepProgress {
    total: usize,
    steps: Vec<(&'static str, StepOutcome, Duration)>,
}

impl StepProgress {
    /// Starts with no step run, out of `total`.
    pub(crate) fn new(total: usize) -> Self {
        Self { total, steps: Vec::with_capacity(total) }
    }

    /// Runs a step, unless the step that it depends on has failed.
    pub(crate) fn step(&mut self, name: &'static str, after: Option<&str>, run: impl FnOnce() -> Result<()>) {
        let header = format!("[{}/{}] {name}", self.steps.len() + 1, self.total);
        if let Some(after) = after.filter(|after| !self.passed(after)) {
            println!("\n{header}: not run, because `{after}` has failed");
            self.steps.push((name, StepOutcome::NotRun, Duration::ZERO));
            return;
        }
        println!("\n{header}");
        let start = now();
        let outcome = match run() {
            Ok(()) => StepOutcome::Passed,
            Err(error) => {
                println!("error: {error:#}");
                StepOutcome::Failed
            }
        };
        let took = now().saturating_sub(start);
        println!("{header}: {outcome} in {:.1} s", took.as_secs_f64());
        self.steps.push((name, outcome, took));
    }

    /// Whether every step has passed.
    pub(crate) fn all_passed(&self) -> bool {
        self.steps.iter().all(|(_, outcome, _)| *outcome == StepOutcome::Passed)
    }

    /// A table with one line for each step.
    pub(crate) fn table(&self) -> String {
        let width = self.steps.iter().map(|(name, ..)| name.len()).max().unwrap_or_default();
        let line = |(name, outcome, took): &(&str, StepOutcome, Duration)| {
            format!("{name:width$}  {outcome:7}  {:8.1} s\n", took.as_secs_f64())
        };
        self.steps.iter().map(line).collect()
    }

    fn passed(&self, step: &str) -> bool {
        self.steps.iter().any(|(name, outcome, _)| *name == step && *outcome == StepOutcome::Passed)
    }
}

impl std::fmt::Display for StepOutcome {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(match self {
            Self::Passed => "ok",
            Self::Failed => "FAILED",
            Self::NotRun => "not run",
        })
    }
}

/// The time since boot, for measuring durations.
pub(crate) fn now() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn a_failed_step_stops_only_what_builds_upon_it() {
        let mut progress = StepProgress::new(3);
        progress.step("build", None, || bail!("no"));
        progress.step("test", Some("build"), || unreachable!());
        progress.step("book", None, || Ok(()));
        assert!(!progress.all_passed());
        let words: Vec<_> = progress.table().lines().map(|line| line[..14].to_owned()).collect();
        assert_eq!(words, ["build  FAILED ", "test   not run", "book   ok     "]);
    }
}
