//! Steps one after the other, each announced with its number, and a table of all at the end.

use std::time::Duration;

use anyhow::Result;
use rustix::time::{ClockId, clock_gettime};

/// What became of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    /// What it builds upon has failed.
    NotRun,
}

/// The steps so far.
#[derive(Debug)]
pub(crate) struct Progress {
    total: usize,
    steps: Vec<(&'static str, Outcome, Duration)>,
}

impl Progress {
    /// No step yet, of so many.
    pub(crate) fn new(total: usize) -> Self {
        Self { total, steps: Vec::with_capacity(total) }
    }

    /// Runs a step, unless what it builds upon has failed.
    pub(crate) fn step(&mut self, name: &'static str, after: Option<&str>, run: impl FnOnce() -> Result<()>) {
        let header = format!("[{}/{}] {name}", self.steps.len() + 1, self.total);
        if let Some(after) = after.filter(|after| !self.passed(after)) {
            println!("\n{header}: not run, because `{after}` has failed");
            self.steps.push((name, Outcome::NotRun, Duration::ZERO));
            return;
        }
        println!("\n{header}");
        let start = now();
        let outcome = match run() {
            Ok(()) => Outcome::Passed,
            Err(error) => {
                println!("error: {error:#}");
                Outcome::Failed
            }
        };
        let took = now().saturating_sub(start);
        println!("{header}: {outcome} in {:.1} s", took.as_secs_f64());
        self.steps.push((name, outcome, took));
    }

    /// Whether every step has passed.
    pub(crate) fn all_passed(&self) -> bool {
        self.steps.iter().all(|(_, outcome, _)| *outcome == Outcome::Passed)
    }

    /// One line for each step.
    pub(crate) fn table(&self) -> String {
        let width = self.steps.iter().map(|(name, ..)| name.len()).max().unwrap_or_default();
        let line = |(name, outcome, took): &(&str, Outcome, Duration)| {
            format!("{name:width$}  {outcome:7}  {:8.1} s\n", took.as_secs_f64())
        };
        self.steps.iter().map(line).collect()
    }

    fn passed(&self, step: &str) -> bool {
        self.steps.iter().any(|(name, outcome, _)| *name == step && *outcome == Outcome::Passed)
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(match self {
            Self::Passed => "ok",
            Self::Failed => "FAILED",
            Self::NotRun => "not run",
        })
    }
}

/// Time since boot, for durations.
fn now() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn a_failed_step_stops_only_what_builds_upon_it() {
        let mut progress = Progress::new(3);
        progress.step("build", None, || bail!("no"));
        progress.step("test", Some("build"), || unreachable!());
        progress.step("book", None, || Ok(()));
        assert!(!progress.all_passed());
        let words: Vec<_> = progress.table().lines().map(|line| line[..14].to_owned()).collect();
        assert_eq!(words, ["build  FAILED ", "test   not run", "book   ok     "]);
    }
}
