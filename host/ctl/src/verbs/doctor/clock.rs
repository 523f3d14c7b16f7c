//! The wall clock. Cooldowns and deadlines go by the time since the boot, but the log, certificates and AWS by the wall clock.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::node::{Location, NodePaths};
use crate::clock;
use crate::render::duration;
use crate::report::NodeCheck;

/// The beginning of 2025, before which no release was made.
const FIRST_RELEASE_MS: u64 = 1_735_689_600_000;

/// The difference that is not worth a word.
const TOLERATED_MS: u64 = 60_000;

const NEXT: &str = "check the node's time synchronization (`timedatectl`); restart nothing for it";

/// Compares the wall clock with the files that were written by it, and with the time since the boot.
pub(super) fn clock(node: &NodePaths, state: &Location, run: &Location) -> NodeCheck {
    let now = clock::now();
    let written = newest(&state.real);
    // A file system in memory has been filled since the boot.
    let is_volatile = node.mount(run).is_some_and(|mount| mount.kind == "tmpfs");
    let made = if is_volatile { oldest(&run.real) } else { None };
    judge(now.wall_ms, now.boot_ns / 1_000_000, written, made)
}

/// Judges the wall clock: `written` is when the state was written last, and `made` when the oldest file since the boot was.
fn judge(wall_ms: u64, since_boot_ms: u64, written: Option<u64>, made: Option<u64>) -> NodeCheck {
    const NAME: &str = "clock";
    if wall_ms < FIRST_RELEASE_MS {
        return NodeCheck::problem(NAME, "the wall clock is before the first release of tenure", NEXT);
    }
    let ahead = written.unwrap_or_default().saturating_sub(wall_ms);
    if ahead > TOLERATED_MS {
        let found =
            format!("the state was written {} in the future: the clock was set back", duration(ahead));
        return NodeCheck::warning(NAME, found, NEXT);
    }
    let booted = wall_ms.saturating_sub(since_boot_ms);
    let before = made.map_or(0, |made| booted.saturating_sub(made));
    if before > TOLERATED_MS {
        let found = format!(
            "the run directory has a file from {} before the boot: the clock was set forward since",
            duration(before)
        );
        return NodeCheck::warning(NAME, found, NEXT);
    }
    NodeCheck::fine(NAME, format!("up {}, and the files' times agree", duration(since_boot_ms)))
}

fn newest(directory: &Path) -> Option<u64> {
    times(directory).max()
}

fn oldest(directory: &Path) -> Option<u64> {
    times(directory).min()
}

/// The times at which the files of a directory were written last, in milliseconds.
fn times(directory: &Path) -> impl Iterator<Item = u64> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok()).filter(fs::Metadata::is_file);
    files.filter_map(|file| u64::try_from(file.mtime()).ok()?.checked_mul(1000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::CheckVerdict;

    #[test]
    fn a_clock_that_was_set_is_told_by_what_it_has_stamped() {
        let (now, hour) = (FIRST_RELEASE_MS + 1_000_000_000, 3_600_000);
        let verdict = |wall, written, made| {
            let check = judge(wall, hour, written, made);
            (check.verdict, check.found)
        };
        assert_eq!(verdict(now, Some(now), Some(now - hour)).0, CheckVerdict::Fine);
        assert_eq!(verdict(now, None, None).0, CheckVerdict::Fine);
        let back = verdict(now, Some(now + 2 * hour), None);
        assert!(back.0 == CheckVerdict::Warning && back.1.contains("2h in the future"), "{back:?}");
        let forward = verdict(now, None, Some(now - 3 * hour));
        assert!(forward.0 == CheckVerdict::Warning && forward.1.contains("2h before"), "{forward:?}");
        assert_eq!(verdict(5_000, None, None).0, CheckVerdict::Problem);
    }
}
