//! The token bucket of one call.

use std::time::Duration;

use super::Rate;

/// A bucket's size and how many tokens it gets back each second.
type Published = (u64, u64);

/// The buckets that AWS publishes, of an account in a region; other calls have [`OTHER`].
const PUBLISHED: &[(&str, Published)] = &[
    ("AssignIpv6Addresses", (100, 5)),
    ("AssignPrivateIpAddresses", (100, 5)),
    ("CreateNetworkInterface", (100, 5)),
    ("CreateTags", (100, 10)),
    ("DeleteNetworkInterface", (100, 5)),
    ("DescribeInstanceTypes", (100, 20)),
    ("DescribeNetworkInterfaces", (100, 20)),
    ("DescribeSubnets", (100, 20)),
    ("ModifyNetworkInterfaceAttribute", (100, 5)),
    ("UnassignPrivateIpAddresses", (100, 5)),
];

/// The buckets of other calls, such as Attach and Detach.
const OTHER: Published = (50, 5);

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
pub(super) struct Bucket {
    size: u64,
    published: u64,
    rate: u64,
    tokens: u64,
    at: Duration,
    /// No call before this.
    until: Duration,
    /// How often in succession EC2 throttled it.
    throttled: u32,
}

impl Bucket {
    pub(super) fn of(call: &str, now: Duration) -> Self {
        let known = PUBLISHED.iter().find(|(name, _)| *name == call);
        let (size, refill) = known.map_or(OTHER, |(_, published)| *published);
        let (size, published) = (size * 1000 / SHARE, refill * 1000);
        Self { size, published, rate: published, tokens: size, at: now, until: now, throttled: 0 }
    }

    /// Takes a token, or says how long there is none.
    pub(super) fn take(&mut self, now: Duration) -> Result<(), Duration> {
        self.fill(now);
        let wait = self.until.saturating_sub(now);
        if !wait.is_zero() {
            return Err(wait);
        }
        match self.tokens.checked_sub(1000) {
            Some(left) => {
                self.tokens = left;
                Ok(())
            }
            None => Err(Duration::from_millis((1000 - self.tokens) * 1000 / self.rate + 1)),
        }
    }

    /// Raises the rate by a sixteenth of the published one.
    pub(super) fn succeeded(&mut self) {
        self.throttled = 0;
        self.rate = self.rate.saturating_add(self.published / 16).min(self.published);
    }

    /// Halves the rate and empties the bucket; returns how long to wait.
    pub(super) fn throttled(&mut self) -> Duration {
        self.rate = (self.rate / 2).max(LEAST);
        self.tokens = 0;
        let wait = FIRST.saturating_mul(1 << self.throttled.min(DOUBLINGS));
        self.throttled = self.throttled.saturating_add(1);
        wait
    }

    pub(super) fn wait_until(&mut self, until: Duration) {
        self.until = self.until.max(until);
    }

    pub(super) fn rate(&self, now: Duration) -> Rate {
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
