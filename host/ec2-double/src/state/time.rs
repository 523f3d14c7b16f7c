//! The double's time: milliseconds, virtual or real.
//!
//! The subnets and the first instances exist since 0, and the clock starts at [`Time::START`], so that there is a past for
//! readers that lag.

use serde::{Deserialize, Serialize};

/// A moment, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(u64);

impl Time {
    /// The time at which the double starts: an hour after its first instances.
    pub const START: Self = Self(3_600_000);

    /// The moment of a number of milliseconds.
    #[must_use]
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds)
    }

    /// The moment as milliseconds.
    #[must_use]
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// The moment `milliseconds` later.
    #[must_use]
    pub const fn after(self, milliseconds: u64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }

    /// The moment `milliseconds` earlier, or 0.
    #[must_use]
    pub const fn before(self, milliseconds: u64) -> Self {
        Self(self.0.saturating_sub(milliseconds))
    }

    /// Milliseconds since an earlier moment; 0 if that is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
