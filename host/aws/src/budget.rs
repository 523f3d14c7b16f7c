//! Limits on EC2 calls: a budget for each call, and the memory of what EC2 did not have.
//!
//! EC2's buckets are the whole account's. A node does not know the others: it begins at the published rate, halves its own
//! when EC2 throttles it, and raises it again with each success. What a subnet did not have is not asked for again for a time that doubles;
//! what is forbidden or misconfigured, for a long one. All waits are jittered, so that nodes do not ask in step. Pure:
//! driven by the readings of a clock and by a seed.

mod published;
#[cfg(test)]
mod tests;
mod unit;

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_effects::budget::{Bucket, Jitter, Pause};

use self::published::published;
use crate::port::{CallError, Failure};

pub use self::unit::{Place, Unit};
pub use tenure_effects::budget::Rate;

/// The longest time for which a call is not repeated that was denied, that the quota or the configuration does not allow, or that the service
/// or a proxy wants to hear later: pods wait, and somebody puts it right without a word.
const LONGEST: Duration = Duration::from_secs(75);

/// The addresses of a prefix of IPv4.
const PREFIX: u32 = 16;

/// How long nothing is attached to an instance that is not running.
const NOT_RUNNING: Duration = Duration::from_secs(60);

/// Why a call is not made, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedCall {
    /// Until when.
    pub until: Duration,
    /// The meaning of EC2's failure.
    pub failure: Failure,
    /// EC2's code.
    pub code: String,
    /// EC2's code and words.
    pub why: String,
}

/// A node's budget.
#[derive(Debug)]
pub struct Budget {
    jitter: Jitter,
    buckets: BTreeMap<&'static str, Bucket>,
    subnets: BTreeMap<(String, Unit), Exhausted>,
    /// By call, and by subnet if only that is wrong.
    blocked: BTreeMap<(&'static str, Option<String>), BlockedCall>,
    /// How long each call is not made that was denied, or refused for a reason that is not known here.
    denied: BTreeMap<(&'static str, Option<String>), Pause>,
}

/// The shortage of a subnet.
#[derive(Debug, Default)]
struct Exhausted {
    pause: Pause,
    /// The fewest free addresses that EC2 has counted in the subnet since.
    counted: Option<u32>,
}

impl Budget {
    /// A full budget. The seed decides the jitter.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let jitter = Jitter::new(seed);
        let (buckets, subnets, blocked, denied) = Default::default();
        Self { jitter, buckets, subnets, blocked, denied }
    }

    /// Takes a token for a call.
    ///
    /// # Errors
    /// How long to wait before asking again.
    pub fn admit(&mut self, call: &'static str, now: Duration) -> Result<(), Duration> {
        let bucket = self.buckets.entry(call).or_insert_with(|| Bucket::new(published(call), now));
        bucket.take(now).map_err(|wait| self.jitter.later(wait))
    }

    /// How long a call would wait for a token, which is not taken; `None` if there is one.
    pub fn lacks(&mut self, call: &'static str, now: Duration) -> Option<Duration> {
        let bucket = self.buckets.entry(call).or_insert_with(|| Bucket::new(published(call), now));
        bucket.lacks(now).map(|wait| self.jitter.later(wait))
    }

    /// A call succeeded.
    pub fn succeeded(&mut self, call: &'static str, place: Option<Place<'_>>, now: Duration) {
        self.buckets.entry(call).or_insert_with(|| Bucket::new(published(call), now)).succeeded();
        self.blocked.remove(&(call, None));
        self.denied.remove(&(call, None));
        if let Some((subnet, unit)) = place {
            self.blocked.remove(&(call, Some(subnet.to_owned())));
            self.denied.remove(&(call, Some(subnet.to_owned())));
            self.subnets.remove(&(subnet.to_owned(), unit));
        }
    }

    /// A call failed.
    pub fn failed(&mut self, error: &CallError, place: Option<Place<'_>>, now: Duration) {
        let call = error.action;
        match error.failure {
            Failure::Throttled => {
                let bucket = self.buckets.entry(call).or_insert_with(|| Bucket::new(published(call), now));
                let wait = error.retry_after.unwrap_or_default().min(LONGEST).max(bucket.throttled());
                bucket.wait_until(now.saturating_add(self.jitter.around(wait)));
            }
            Failure::SubnetExhausted | Failure::NoBlock | Failure::TooFew => {
                if let Some((subnet, unit)) = place {
                    self.exhausted(subnet, unit, now);
                    // Where there is no address, there is no prefix either.
                    if unit == Unit::Address && error.failure != Failure::NoBlock {
                        self.exhausted(subnet, Unit::Prefix, now);
                    }
                }
            }
            Failure::Denied | Failure::Refused | Failure::Quota | Failure::Never => {
                self.pause(error, None, now);
            }
            Failure::Configuration => self.pause(error, place.map(|(subnet, _)| subnet), now),
            Failure::InstanceState => {
                let until = now.saturating_add(self.jitter.around(NOT_RUNNING));
                self.block_until(error, None, until);
            }
            _ => {}
        }
    }

    /// Forgets that a call was refused: nothing depends on it, or somebody else has made it since.
    pub fn forgive(&mut self, call: &'static str) {
        self.blocked.remove(&(call, None));
        self.denied.remove(&(call, None));
    }

    /// EC2 has counted the free addresses of a subnet. Where there are more than since something was not to be had there, somebody has given
    /// some back, and the pause is over; for a prefix, as many more as one has.
    pub fn counted(&mut self, subnet: &str, available: u32) {
        for (unit, more) in [(Unit::Address, 1), (Unit::Prefix, PREFIX)] {
            let Some(exhausted) = self.subnets.get_mut(&(subnet.to_owned(), unit)) else { continue };
            let least = exhausted.counted.map_or(available, |counted| counted.min(available));
            exhausted.counted = Some(least);
            if available >= least.saturating_add(more) {
                exhausted.pause.until = Duration::ZERO;
            }
        }
    }

    /// For how long a subnet should not be asked for more; zero if it may be.
    #[must_use]
    pub fn backoff(&self, (subnet, unit): Place<'_>, now: Duration) -> Duration {
        let exhausted = self.subnets.get(&(subnet.to_owned(), unit));
        exhausted.map_or(Duration::ZERO, |exhausted| exhausted.pause.until.saturating_sub(now))
    }

    /// Why a call should not be made at all, or not in a subnet.
    #[must_use]
    pub fn blocked(&self, call: &'static str, subnet: Option<&str>, now: Duration) -> Option<&BlockedCall> {
        let general = self.blocked.get(&(call, None));
        let own = subnet.and_then(|subnet| self.blocked.get(&(call, Some(subnet.to_owned()))));
        general.into_iter().chain(own).find(|blocked| blocked.until > now)
    }

    /// A wait, jittered.
    pub fn around(&mut self, wait: Duration) -> Duration {
        self.jitter.around(wait)
    }

    /// The buckets that were used, by call.
    pub fn rates(&self, now: Duration) -> impl Iterator<Item = (&'static str, Rate)> {
        self.buckets.iter().map(move |(call, bucket)| (*call, bucket.rate(now)))
    }

    /// Lists the subnets that should not be asked, with the resource and the remaining time.
    pub fn backoffs(&self, now: Duration) -> impl Iterator<Item = (&str, Unit, Duration)> {
        let all = self.subnets.iter();
        let left =
            all.map(move |((subnet, unit), of)| (subnet.as_str(), *unit, of.pause.until.saturating_sub(now)));
        left.filter(|(.., left)| !left.is_zero())
    }

    /// The calls that are not made, each with the subnet if only that is wrong.
    pub fn blocked_calls(
        &self,
        now: Duration,
    ) -> impl Iterator<Item = (&'static str, Option<&str>, &BlockedCall)> {
        self.remembered().filter(move |(_, _, blocked)| blocked.until > now)
    }

    /// The same with the calls that may be made again, and were not or have not succeeded since.
    pub fn remembered(&self) -> impl Iterator<Item = (&'static str, Option<&str>, &BlockedCall)> {
        self.blocked.iter().map(|((call, subnet), blocked)| (*call, subnet.as_deref(), blocked))
    }

    fn exhausted(&mut self, subnet: &str, unit: Unit, now: Duration) {
        let exhausted = self.subnets.entry((subnet.to_owned(), unit)).or_default();
        if exhausted.pause.until <= now {
            exhausted.counted = None;
        }
        exhausted.pause.extend(now, &mut self.jitter);
    }

    /// Does not make a call for a time that doubles.
    fn pause(&mut self, error: &CallError, subnet: Option<&str>, now: Duration) {
        let pause = self.denied.entry((error.action, subnet.map(str::to_owned))).or_default();
        pause.extend_up_to(LONGEST, now, &mut self.jitter);
        let until = pause.until;
        self.block_until(error, subnet, until);
    }

    fn block_until(&mut self, error: &CallError, subnet: Option<&str>, until: Duration) {
        let CallError { code, message, .. } = error;
        let why = format!("{code}: {message}");
        let blocked = BlockedCall { until, failure: error.failure, code: code.clone(), why };
        self.blocked.insert((error.action, subnet.map(str::to_owned)), blocked);
    }
}
