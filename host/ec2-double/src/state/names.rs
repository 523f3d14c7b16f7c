//! Identifiers and MAC addresses, the same for the same seed.

use tenure_fixtures::random::Random;

/// Draws identifiers.
#[derive(Debug)]
pub(super) struct Names {
    random: Random,
    /// Counts up, so that no two interfaces ever share a MAC.
    mac: u64,
}

impl Names {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mac = random.next_number();
        Self { random, mac }
    }

    /// An identifier such as `eni-0123456789abcdef0`: the kind, and 17 hexadecimal digits.
    pub(super) fn id(&mut self, kind: &str) -> String {
        format!("{kind}-0{:016x}", self.random.next_number())
    }

    /// A locally administered unicast MAC.
    pub(super) fn mac(&mut self) -> String {
        self.mac = self.mac.wrapping_add(1);
        let [_, _, _, a, b, c, d, e] = self.mac.to_be_bytes();
        format!("02:{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}")
    }
}
