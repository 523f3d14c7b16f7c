//! Random waits, the same for the same seed.

use std::time::Duration;

/// SplitMix64.
#[derive(Debug)]
pub(crate) struct Jitter(u64);

impl Jitter {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A wait from three quarters to five quarters of this one.
    pub(crate) fn around(&mut self, wait: Duration) -> Duration {
        let part = u32::try_from(self.next_number() % 501).unwrap_or_default();
        wait.saturating_mul(750 + part) / 1000
    }

    /// A wait from this one to five quarters of it.
    pub(crate) fn later(&mut self, wait: Duration) -> Duration {
        let part = u32::try_from(self.next_number() % 251).unwrap_or_default();
        wait.saturating_mul(1000 + part) / 1000
    }

    /// The next number.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }
}
