//! Subjects that are compared take turns, so that all of them run under the same conditions.

use std::time::Duration;

use anyhow::Context;
use tenure_e2e::random::Random;

use crate::exec::Subject;
use crate::times::Times;

/// The number of rounds in which concurrent runs are measured.
const ROUNDS: usize = 4;

/// The subjects that take turns.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    subjects: Vec<Subject>,
}

/// A subject's position among those that take turns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place(usize);

/// The times of all subjects.
#[derive(Debug)]
pub(crate) struct Outcome(Vec<Times>);

impl Turns {
    pub(crate) fn join(&mut self, subject: Subject) -> Place {
        self.subjects.push(subject);
        Place(self.subjects.len() - 1)
    }

    /// Runs each subject once per round. The order changes each round, because each run warms the caches for some subjects and not for
    /// others.
    pub(crate) fn run(&self, rounds: usize) -> anyhow::Result<Outcome> {
        self.subjects.iter().try_for_each(Subject::warm_up)?;
        let mut random = Random::new(1);
        let mut times: Vec<Vec<Duration>> = self.subjects.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            let mut turns: Vec<_> = self.subjects.iter().zip(&mut times).collect();
            turns.sort_by_cached_key(|_| random.next_number());
            for (subject, times) in turns {
                times.push(subject.once(|| Ok(()))?);
            }
        }
        Ok(Outcome(times.into_iter().map(Times::new).collect()))
    }
}

impl Outcome {
    pub(crate) fn of(&self, place: Place) -> anyhow::Result<&Times> {
        self.0.get(place.0).context("a position in other turns")
    }
}

/// Runs many of each subject concurrently, in rounds; returns each subject's rate in programs per second.
pub(crate) fn at_once<const N: usize>(
    callers: usize,
    total: usize,
    subjects: [&Subject; N],
) -> anyhow::Result<[f64; N]> {
    let mut spent = [Duration::ZERO; N];
    for _ in 0..ROUNDS {
        for (subject, spent) in subjects.iter().zip(&mut spent) {
            *spent += subject.burst(callers, total / ROUNDS)?;
        }
    }
    Ok(spent.map(|spent| (total / ROUNDS * ROUNDS) as f64 / spent.as_secs_f64()))
}
