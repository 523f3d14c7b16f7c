//! The tokens that a metadata service gave out.

use std::collections::BTreeMap;

use crate::state::Time;

/// Tokens, and until when each is good.
#[derive(Debug, Default)]
pub(super) struct Tokens(BTreeMap<String, Time>);

impl Tokens {
    /// Adds a token, and forgets those that have expired.
    pub(super) fn add(&mut self, token: String, now: Time, seconds: u64) {
        self.0.retain(|_, until| *until > now);
        self.0.insert(token, now.after(seconds.saturating_mul(1000)));
    }

    /// Whether a token is good.
    pub(super) fn knows(&self, token: &str, now: Time) -> bool {
        self.0.get(token).is_some_and(|until| *until > now)
    }
}
