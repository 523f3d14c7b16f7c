//! Random waits, the same for the same seed.

use std::time::Duration;

/// Random waits by SplitMix64.
#[derive(Debug)]
pub struct Jitter(u64);

impl Jitter {
    /// The numbers that follow from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A wait from three quarters to five quarters of this one.
    pub fn around(&mut self, wait: Duration) -> Duration {
        let part = u32::try_from(self.next_number() % 501).unwrap_or_default();
        wait.saturating_mul(750 + part) / 1000
    }

    /// A wait from this one to five quarters of it.
    pub fn later(&mut self, wait: Duration) -> Duration {
        let part = u32::try_from(self.next_number() % 251).unwrap_or_default();
        wait.saturating_mul(1000 + part) / 1000
    }

    /// The next number.
    pub fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }
}
