//! Counts tests from their runners' output, in libtest's format, which libtest-mimic also prints.

use std::collections::BTreeMap;
use std::fmt;

/// How the reason begins why a test was skipped that need not run everywhere: it needs a language, or moto, that not every
/// machine can have.
const OPTIONAL: &str = "optional: ";

/// How many tests passed, failed and were skipped, why they were skipped, and what the failed ones said.
#[derive(Debug, Default)]
pub(crate) struct TestTally {
    passed: u64,
    failed: u64,
    skipped: u64,
    reasons: BTreeMap<String, String>,
    /// The failed tests' names, each with the first line of its output.
    failures: Vec<(String, String)>,
    /// Whether the next line that is not empty is the first of a failed test's output.
    is_at_head: bool,
}

impl TestTally {
    /// Reads one line of output.
    ///
    /// `SKIP name: reason` gives the reason of a test that its result line counts as ignored.
    pub(crate) fn read(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" ----")) {
            self.failures.push((name.trim_end_matches(" stdout").to_owned(), String::new()));
            self.is_at_head = true;
        } else if self.is_at_head {
            if let Some((_, first)) = self.failures.last_mut().filter(|_| !line.is_empty()) {
                line.clone_into(first);
                self.is_at_head = false;
            }
        } else if let Some((name, reason)) = line.strip_prefix("SKIP ").and_then(|rest| rest.split_once(": "))
        {
            self.reasons.insert(name.to_owned(), reason.to_owned());
        } else if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ignored"))
        {
            let reason = name.1.trim_start_matches([',', ' ']);
            self.reasons.entry(name.0.trim_end().to_owned()).or_insert_with(|| reason.to_owned());
        } else if let Some((_, counts)) =
            line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        {
            for count in counts.split("; ") {
                match count
                    .split_once(' ')
                    .and_then(|(number, word)| Some((number.parse::<u64>().ok()?, word)))
                {
                    Some((number, "passed")) => self.passed += number,
                    Some((number, "failed")) => self.failed += number,
                    Some((number, "ignored")) => self.skipped += number,
                    _ => {}
                }
            }
        }
    }

    /// Records that a runner failed: one that died before its result line counts as a failed test.
    pub(crate) fn runner_failed(&mut self) {
        self.failed = self.failed.max(1);
    }

    /// Whether no test has ended.
    pub(crate) fn is_empty(&self) -> bool {
        self.passed + self.failed + self.skipped == 0
    }

    /// How many tests were skipped that must run everywhere.
    pub(crate) fn missed(&self) -> u64 {
        let optional = self.reasons.values().filter(|reason| reason.starts_with(OPTIONAL)).count();
        self.skipped.saturating_sub(u64::try_from(optional).unwrap_or_default())
    }

    /// Each skipped test with its reason, one per line.
    pub(crate) fn skips(&self) -> impl Iterator<Item = String> {
        self.reasons.iter().map(|(name, reason)| format!("SKIPPED {name}: {reason}"))
    }

    /// Each failed test with the first line of its output, one per line.
    pub(crate) fn failures(&self) -> impl Iterator<Item = String> {
        self.failures.iter().map(|(name, first)| format!("FAILED {name}: {first}"))
    }
}

/// The line that CI reads.
impl fmt::Display for TestTally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_all_binaries_are_added_up() {
        let mut tally = TestTally::default();
        for line in [
            "test a ... ok",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "SKIP podman: podman is not installed",
            "test podman ... ignored",
            "SKIP go: optional: go is not installed",
            "test go     ... ignored",
            "test slow ... ignored, takes an hour",
            "failures:",
            "",
            "---- lease::ends stdout ----",
            "",
            "thread 'lease::ends' panicked at src/lease.rs:7:5:",
            "assertion failed: ends",
            "",
            "---- a_reboot_frees_all ----",
            "10.1.0.7 is still held",
            "failures:",
            "    lease::ends",
            "    a_reboot_frees_all",
            "test result: FAILED. 1 passed; 2 failed; 2 ignored; 0 measured; 0 filtered out; finished in 1.00s",
            "error: test failed, to rerun pass `-p x`",
        ] {
            tally.read(line);
        }
        assert_eq!(tally.to_string(), "4 passed, 2 failed, 3 skipped");
        let skips: Vec<_> = tally.skips().collect();
        let expected = [
            "SKIPPED go: optional: go is not installed",
            "SKIPPED podman: podman is not installed",
            "SKIPPED slow: takes an hour",
        ];
        assert_eq!(skips, expected);
        assert_eq!(tally.missed(), 2);
        let failures: Vec<_> = tally.failures().collect();
        let expected = [
            "FAILED lease::ends: thread 'lease::ends' panicked at src/lease.rs:7:5:",
            "FAILED a_reboot_frees_all: 10.1.0.7 is still held",
        ];
        assert_eq!(failures, expected);
    }

    #[test]
    fn a_runner_that_dies_counts() {
        let mut tally = TestTally::default();
        tally.runner_failed();
        assert_eq!(tally.to_string(), "0 passed, 1 failed, 0 skipped");
    }
}
