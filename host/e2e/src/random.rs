//! Numbers from a seed, so that a random test can be done again.

use std::time::{SystemTime, UNIX_EPOCH};

/// Names the seed of the random tests; without it each run has one of its own, and prints it.
const VARIABLE: &str = "TENURE_SEED";

/// SplitMix64: small, good enough, and the same everywhere.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The numbers of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number.
    pub fn next_number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.state;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    /// A number less than a bound; 0 where the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_number().checked_rem(bound).unwrap_or_default()
    }
}

/// The seed that this run was told to use, or one of its own, and says which.
///
/// # Errors
/// When it was told something that is no number.
pub fn seed() -> anyhow::Result<u64> {
    let seed = match std::env::var(VARIABLE) {
        Ok(text) => text.parse()?,
        Err(_) => SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos().into(),
    };
    println!("{VARIABLE}={seed}");
    Ok(seed)
}

/// How many rounds an environment variable asks for.
///
/// # Errors
/// When it is no number.
pub fn rounds(variable: &str, default: u64) -> anyhow::Result<u64> {
    Ok(std::env::var(variable).map_or(Ok(default), |text| text.parse())?)
}
