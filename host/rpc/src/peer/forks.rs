//! Whether the number of a process can have become another's while a connection of it waited, for kernels that only tell the number (before 6.5).
//!
//! The kernel gives numbers out in turn: one comes back once as many processes and threads have begun as there are numbers. It counts those that have
//! begun since the boot. So the daemon notes that count whenever no connection waits at the agents' socket: each one accepted later was made after
//! that. If fewer than half of all numbers have been given out since, the process that has the number is the one that connected.

use std::fs;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of processes and threads begun since the boot, noted while no connection waited; 0 before that was noted.
static NOTED: AtomicU64 = AtomicU64::new(0);

/// Whether this kernel tells a connection's process by number only.
static ONLY_NUMBERS: LazyLock<bool> = LazyLock::new(|| {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map_while(|text| text.parse::<u32>().ok());
    (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default()) < (6, 5)
});

/// No connection waits at the agents' socket.
pub(crate) fn note() {
    if *ONLY_NUMBERS && let Some(begun) = begun() {
        NOTED.store(begun, Ordering::Relaxed);
    }
}

/// Whether a number may be another process's than when a connection was made that was accepted since the last note.
pub(super) fn may_have_reused() -> bool {
    let numbers =
        fs::read_to_string("/proc/sys/kernel/pid_max").ok().and_then(|text| text.trim().parse().ok());
    is_too_long(NOTED.load(Ordering::Relaxed), begun(), numbers)
}

fn is_too_long(noted: u64, begun: Option<u64>, numbers: Option<u64>) -> bool {
    match (noted, begun, numbers) {
        (1.., Some(begun), Some(numbers)) => begun.saturating_sub(noted) >= numbers / 2,
        _ => true,
    }
}

/// How many processes and threads have begun since the boot.
fn begun() -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("processes "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_comes_back_only_after_as_many_others() {
        assert!(
            !is_too_long(1000, Some(1000), Some(32_768)) && !is_too_long(1000, Some(17_000), Some(32_768))
        );
        assert!(is_too_long(1000, Some(17_384), Some(32_768)));
        for (noted, begun, numbers) in
            [(0, Some(5), Some(32_768)), (5, None, Some(32_768)), (5, Some(5), None)]
        {
            assert!(is_too_long(noted, begun, numbers), "what is not known counts as reused");
        }
    }

    #[test]
    fn the_kernel_counts_what_begins() {
        let before = begun().unwrap();
        std::thread::spawn(|| {}).join().unwrap();
        assert!(begun().unwrap() > before);
    }
}
