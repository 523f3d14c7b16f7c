//! Breaks down the time of an ADD: medians from the same rounds, and the remainder.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use tenure_e2e::Daemon;
use tenure_e2e::random::Random;

use crate::exec::Subject;
use crate::metrics::{POLICY, Page, SYNC};
use crate::times::Times;

/// The time of one ADD by part, and that of its peers, in microseconds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Parts {
    /// `/bin/true`, for comparison.
    pub(crate) bin_true: f64,
    /// Debian's host-local, for comparison.
    pub(crate) host_local: f64,
    /// The plugin starts and exits without calling the daemon.
    exec: f64,
    /// The plugin connects and makes a call that the daemon answers from memory.
    connect: f64,
    policy: f64,
    sync: f64,
    /// The remaining time of an ADD. It can be negative, because the parts are measured separately.
    daemon: f64,
}

impl Parts {
    /// Measures ADDs on a network, and reads the daemon's own metrics before and after each.
    pub(crate) fn measure(daemon: &Daemon, network: &Value, rounds: usize) -> anyhow::Result<Self> {
        let add = Subject::tenure(daemon, vec![network.clone()])?;
        let subjects = [
            Subject::bin_true(),
            Subject::host_local(network.clone())?,
            Subject::version(daemon)?,
            Subject::status(daemon, network.clone())?,
        ];
        add.warm_up()?;
        subjects.iter().try_for_each(Subject::warm_up)?;
        let mut random = Random::new(2);
        let (mut times, mut adds) = ([const { Vec::new() }; 4], Vec::new());
        let (mut policies, mut syncs) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let mut turns: Vec<_> = subjects.iter().zip(&mut times).collect();
            turns.sort_by_cached_key(|_| random.next_number());
            for (subject, times) in turns {
                times.push(subject.once(|| Ok(()))?);
            }
            let before = Page::read(daemon)?;
            adds.push(add.once(|| {
                let after = Page::read(daemon)?;
                policies.push(after.spent_since(&before, POLICY));
                syncs.push(after.spent_since(&before, SYNC));
                Ok(())
            })?);
        }
        let [bin_true, host_local, version, status] = times.map(|times| Times::new(times).median());
        let (policy, sync) =
            (Times::of_microseconds(policies).median(), Times::of_microseconds(syncs).median());
        let (exec, connect) = (version, status - version);
        let daemon = Times::new(adds).median() - exec - connect - policy - sync;
        Ok(Self { bin_true, host_local, exec, connect, policy, sync, daemon })
    }

    /// The parts with their names, in the order of an ADD.
    pub(crate) fn named(&self) -> [(&'static str, f64); 5] {
        [
            ("exec", self.exec),
            ("connect", self.connect),
            ("policy", self.policy),
            ("sync", self.sync),
            ("daemon", self.daemon),
        ]
    }

    pub(crate) fn sum(&self) -> f64 {
        self.named().iter().map(|(_, microseconds)| microseconds).sum()
    }

    /// For people.
    pub(crate) fn lines(&self) -> String {
        let mut text = "where the time of an ADD goes:\n".to_owned();
        for (name, microseconds) in self.named() {
            let _ = writeln!(text, "  {name:<10} {microseconds:>6.0} us");
        }
        text
    }
}
