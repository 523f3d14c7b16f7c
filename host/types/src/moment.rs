//! Points in time as the ledger keeps them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time: what the host decides by, and what a person reads.
///
/// Decisions compare `boot_ns` only, and only within one boot: `CLOCK_BOOTTIME` counts through suspend and
/// no clock jump moves it. Nanoseconds, since a DEL and the ADD after it may begin in one millisecond.
/// `wall_ms` is for people and never compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct Moment {
    /// Nanoseconds of `CLOCK_BOOTTIME`.
    pub boot_ns: u64,
    /// Milliseconds since the Unix epoch.
    pub wall_ms: u64,
}

/// Nanoseconds in a millisecond, the unit that moments were kept in before.
const NANOSECONDS: u64 = 1_000_000;

impl Moment {
    /// How much later this moment is than an earlier one of the same boot; nothing when it is not later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.boot_ns.saturating_sub(earlier.boot_ns))
    }
}

/// A moment as it is read: the first checkpoints had milliseconds.
#[derive(Deserialize)]
struct Stored {
    #[serde(default)]
    boot_ns: u64,
    #[serde(default)]
    boot_ms: u64,
    wall_ms: u64,
}

impl From<Stored> for Moment {
    fn from(Stored { boot_ns, boot_ms, wall_ms }: Stored) -> Self {
        Self { boot_ns: boot_ns.max(boot_ms.saturating_mul(NANOSECONDS)), wall_ms }
    }
}

/// The kernel's random id of the running boot, `/proc/sys/kernel/random/boot_id`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootId(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_in_milliseconds_is_the_same_moment() {
        let read = |text: &str| serde_json::from_str::<Moment>(text).unwrap();
        let moment = Moment { boot_ns: 7_000_000, wall_ms: 9 };
        assert_eq!(read(r#"{"boot_ms":7,"wall_ms":9}"#), moment);
        assert_eq!(read(&serde_json::to_string(&moment).unwrap()), moment);
    }

    #[test]
    fn nothing_is_before_its_beginning() {
        let at = |boot_ns| Moment { boot_ns, wall_ms: 0 };
        assert_eq!(at(9).since(at(4)), Duration::from_nanos(5));
        assert_eq!(at(4).since(at(9)), Duration::ZERO);
    }
}
