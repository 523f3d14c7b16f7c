//! What a side needed for its pods, and both sides in one table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tenure_ec2_double::Violation;

/// What was counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures {
    /// Minutes of traces.
    pub(crate) minutes: u64,
    /// Pods.
    pub(crate) pods: u64,
    /// EC2 calls by action.
    pub(crate) calls: BTreeMap<&'static str, u64>,
    /// How long each pod waited for its address, in milliseconds; those that got none, as long as they lived.
    pub(crate) waits: Vec<u32>,
    /// ADDs that failed.
    pub(crate) failed: u64,
    /// Pods that ended without an address.
    pub(crate) unserved: u64,
    /// Looks at the nodes, and what they saw: idle addresses and interfaces.
    pub(crate) samples: u64,
    pub(crate) idle: u64,
    pub(crate) interfaces: u64,
    /// What must never happen and did, by kind.
    pub(crate) found: BTreeMap<&'static str, u64>,
}

/// An address that two pods of a node have.
const TWICE: &str = "addresses given twice on a node";

/// What must never happen, as the table has it.
const NEVER: [&str; 4] =
    [TWICE, "pods whose address was taken away", "addresses on two nodes in 30 s", "interfaces left behind"];

impl Figures {
    pub(crate) fn add(&mut self, other: Self) {
        self.minutes += other.minutes;
        self.pods += other.pods;
        other.calls.into_iter().for_each(|(call, count)| *self.calls.entry(call).or_default() += count);
        self.waits.extend(other.waits);
        self.failed += other.failed;
        self.unserved += other.unserved;
        self.samples += other.samples;
        self.idle += other.idle;
        self.interfaces += other.interfaces;
        other.found.into_iter().for_each(|(kind, count)| *self.found.entry(kind).or_default() += count);
    }

    /// An address was given to a second pod of a node.
    pub(crate) fn twice(&mut self) {
        *self.found.entry(TWICE).or_default() += 1;
    }

    /// What the oracle found.
    pub(crate) fn judged(&mut self, verdict: &[Violation]) {
        for violation in verdict {
            let kind = match violation {
                Violation::Taken { .. } | Violation::NotOnNode { .. } => NEVER[1],
                Violation::TwoNodes { .. } => NEVER[2],
                Violation::WithoutOwner { .. } => NEVER[3],
                Violation::TooManyCalls { .. } => continue,
            };
            *self.found.entry(kind).or_default() += 1;
        }
    }

    fn total(&self) -> f64 {
        self.calls.values().sum::<u64>() as f64
    }

    pub(crate) fn calls_per_pod(&self) -> f64 {
        self.total() / self.pods as f64
    }

    pub(crate) fn wait(&self) -> f64 {
        self.waits.iter().map(|wait| f64::from(*wait)).sum::<f64>() / 1000.0 / self.waits.len() as f64
    }

    pub(crate) fn idle(&self) -> f64 {
        self.idle as f64 / self.samples as f64
    }

    /// The rows of the table: a name, and the number.
    fn rows(&self) -> Vec<(&'static str, f64)> {
        let mut waits = self.waits.clone();
        waits.sort_unstable();
        let at = |hundredths: usize| f64::from(waits[(waits.len() - 1) * hundredths / 100]) / 1000.0;
        let reads = self.calls.iter().filter(|(call, _)| call.starts_with("Describe"));
        let reads = reads.map(|(_, count)| *count).sum::<u64>() as f64;
        let share = waits.iter().filter(|wait| **wait > 1000).count() as f64 * 100.0 / waits.len() as f64;
        let never = NEVER.map(|kind| (kind, self.found.get(kind).copied().unwrap_or_default() as f64));
        let rows = [
            ("EC2 calls per pod", self.calls_per_pod()),
            ("  that change something", (self.total() - reads) / self.pods as f64),
            ("EC2 calls per minute", self.total() / self.minutes as f64),
            ("mean wait of a pod, s", self.wait()),
            ("99 % waited at most, s", at(99)),
            ("longest wait, s", at(100)),
            ("pods that waited over 1 s, %", share),
            ("failed ADDs per 1,000 pods", self.failed as f64 * 1000.0 / self.pods as f64),
            ("pods without an address", self.unserved as f64),
            ("idle addresses per node", self.idle()),
            ("interfaces per node", self.interfaces as f64 / self.samples as f64),
        ];
        rows.into_iter().chain(never).collect()
    }

    /// The calls by action, per 1,000 pods.
    fn by_action(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.calls.iter().map(|(call, count)| (*call, *count as f64 * 1000.0 / self.pods as f64))
    }
}

/// Both sides on the same traces.
pub(crate) fn table(title: &str, tenure: &Figures, ipamd: &Figures) -> String {
    let hours = tenure.minutes / 60;
    let mut text = format!("\n{title}: {hours} hours, {} pods\n", tenure.pods);
    let mut line = |name: &str, one: f64, other: f64| {
        let _ = writeln!(text, "  {name:<36} {one:>12.2} {other:>12.2}");
    };
    for ((name, one), (_, other)) in tenure.rows().into_iter().zip(ipamd.rows()) {
        line(name, one, other);
    }
    let mut calls: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    tenure.by_action().for_each(|(call, count)| calls.entry(call).or_default()[0] = count);
    ipamd.by_action().for_each(|(call, count)| calls.entry(call).or_default()[1] = count);
    for (call, [one, other]) in calls {
        line(&format!("  {call} /1,000"), one, other);
    }
    text
}
