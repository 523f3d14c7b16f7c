//! The token bucket of one call.

use std::time::Duration;

/// A bucket as an API's owner publishes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// Calls that may be made at once, by all of the account's nodes together.
    pub size: u64,
    /// Calls that it gets back each second.
    pub refill: u64,
}

/// A bucket, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Calls that may be made at once.
    pub tokens: u64,
    /// Thousandths of a call each second.
    pub rate: u64,
    /// How long no call may be made.
    pub wait: Duration,
}

/// The part of the account's bucket that one node may use at once.
const SHARE: u64 = 5;

/// The least rate, in thousandths of a call each second: one call in 20 seconds.
const LEAST: u64 = 50;

/// The first wait after being throttled; each further one doubles.
const FIRST: Duration = Duration::from_secs(1);

/// The most doublings of the wait.
const DOUBLINGS: u32 = 6;

/// The bucket of a call. Tokens and rates are in thousandths.
#[derive(Debug)]
pub struct Bucket {
    size: u64,
    published: u64,
    rate: u64,
    tokens: u64,
    at: Duration,
    /// No call before this.
    until: Duration,
    /// How often in succession it was throttled.
    throttled: u32,
}

impl Bucket {
    /// A full bucket: a node's share of the published size, at the published rate.
    #[must_use]
    pub fn new(published: Published, now: Duration) -> Self {
        let (size, published) = (published.size * 1000 / SHARE, published.refill * 1000);
        Self { size, published, rate: published, tokens: size, at: now, until: now, throttled: 0 }
    }

    /// Takes a token.
    ///
    /// # Errors
    /// How long there is none.
    pub fn take(&mut self, now: Duration) -> Result<(), Duration> {
        if let Some(wait) = self.lacks(now) {
            return Err(wait);
        }
        self.tokens = self.tokens.saturating_sub(1000);
        Ok(())
    }

    /// How long there is no token; `None` if there is one.
    pub fn lacks(&mut self, now: Duration) -> Option<Duration> {
        self.fill(now);
        let wait = self.until.saturating_sub(now);
        if !wait.is_zero() {
            return Some(wait);
        }
        let missing = 1000_u64.saturating_sub(self.tokens);
        (missing > 0).then(|| Duration::from_millis(missing * 1000 / self.rate + 1))
    }

    /// Raises the rate by a sixteenth of the published one.
    pub fn succeeded(&mut self) {
        self.throttled = 0;
        self.rate = self.rate.saturating_add(self.published / 16).min(self.published);
    }

    /// Halves the rate and empties the bucket; returns how long to wait.
    pub fn throttled(&mut self) -> Duration {
        self.rate = (self.rate / 2).max(LEAST);
        self.tokens = 0;
        let wait = FIRST.saturating_mul(1 << self.throttled.min(DOUBLINGS));
        self.throttled = self.throttled.saturating_add(1);
        wait
    }

    /// Gives no token before this.
    pub fn wait_until(&mut self, until: Duration) {
        self.until = self.until.max(until);
    }

    /// The bucket, for people.
    #[must_use]
    pub fn rate(&self, now: Duration) -> Rate {
        let tokens = self.tokens.saturating_add(self.gained(now)).min(self.size);
        Rate { tokens: tokens / 1000, rate: self.rate, wait: self.until.saturating_sub(now) }
    }

    fn fill(&mut self, now: Duration) {
        let gained = self.gained(now);
        // What is less than a thousandth of a token is not lost.
        if gained > 0 {
            self.tokens = self.tokens.saturating_add(gained).min(self.size);
            self.at = now;
        }
    }

    /// The tokens that came back since they were counted last.
    fn gained(&self, now: Duration) -> u64 {
        let passed = u64::try_from(now.saturating_sub(self.at).as_millis()).unwrap_or(u64::MAX);
        passed.saturating_mul(self.rate) / 1000
    }
}
