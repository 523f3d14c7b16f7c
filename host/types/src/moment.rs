//! Points in time, as the ledger records them.

use std::time::Duration;

/// A point in time, once for decisions and once for people.
///
/// Decisions compare only `boot_ns`, and only within one boot: `CLOCK_BOOTTIME` counts through suspend and is not
/// affected by clock jumps. It has nanosecond resolution because a DEL and the next ADD may begin within one
/// millisecond. `wall_ms` is for people and is never compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment {
    /// Nanoseconds of `CLOCK_BOOTTIME`.
    pub boot_ns: u64,
    /// Milliseconds since the Unix epoch.
    pub wall_ms: u64,
}

impl Moment {
    /// The time elapsed since an earlier moment of the same boot; zero if that is not earlier.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.boot_ns.saturating_sub(earlier.boot_ns))
    }
}

/// The kernel's random id of the running boot, `/proc/sys/kernel/random/boot_id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootId(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_before_its_beginning() {
        let at = |boot_ns| Moment { boot_ns, wall_ms: 0 };
        assert_eq!(at(9).since(at(4)), Duration::from_nanos(5));
        assert_eq!(at(4).since(at(9)), Duration::ZERO);
    }
}
