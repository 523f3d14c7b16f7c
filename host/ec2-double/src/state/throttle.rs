//! EC2's token buckets: one for each kind of call, shared by the whole account.
//!
//! Other nodes' calls are a load that takes tokens first; what it leaves is this test's.

use std::collections::BTreeMap;

use super::time::Time;

/// A bucket's size, and how many tokens it gets back each second.
type Rate = (u32, u32);

/// The rates that AWS publishes; other calls have [`OTHER`].
const RATES: &[(&str, Rate)] = &[
    ("AssignIpv6Addresses", (100, 5)),
    ("AssignPrivateIpAddresses", (100, 5)),
    ("CreateNetworkInterface", (100, 5)),
    ("CreateTags", (100, 10)),
    ("DeleteNetworkInterface", (100, 5)),
    ("DetachNetworkInterface", (50, 5)),
    ("ModifyNetworkInterfaceAttribute", (100, 5)),
    ("UnassignPrivateIpAddresses", (100, 5)),
];

/// Describing with a filter or by pages.
const READS: Rate = (100, 20);

/// Describing everything at once.
const WIDE_READS: Rate = (50, 10);

/// The rate of actions without a row of their own.
const OTHER: Rate = (50, 5);

/// The account's buckets.
#[derive(Debug, Default)]
pub struct Throttle {
    buckets: BTreeMap<String, Bucket>,
    /// Calls per second of other nodes, by action.
    load: BTreeMap<String, u32>,
}

#[derive(Debug)]
struct Bucket {
    /// Thousandths of a token.
    tokens: u64,
    at: Time,
}

impl Throttle {
    /// Takes a token for a call; `false` if there is none. `wide` says that a Describe has neither filter nor pages.
    pub fn admit(&mut self, action: &str, wide: bool, now: Time) -> bool {
        let bucket = self.filled(action, wide, now);
        match bucket.tokens.checked_sub(1000) {
            Some(left) => {
                bucket.tokens = left;
                true
            }
            None => false,
        }
    }

    /// Sets how many calls of an action other nodes make each second from now on; 0 ends them.
    pub fn set_load(&mut self, action: &str, per_second: u32, now: Time) {
        self.filled(action, false, now);
        self.filled(action, true, now);
        if per_second == 0 {
            self.load.remove(action);
        } else {
            self.load.insert(action.to_owned(), per_second);
        }
    }

    /// The bucket of a call, with the tokens that it has now.
    fn filled(&mut self, action: &str, wide: bool, now: Time) -> &mut Bucket {
        let (name, (size, refill)) = rate(action, wide);
        let load = self.load.get(action).copied().unwrap_or(0);
        let full = u64::from(size) * 1000;
        let bucket = self.buckets.entry(name).or_insert(Bucket { tokens: full, at: now });
        let passed = now.since(bucket.at);
        let (gained, lost) =
            (u64::from(refill).saturating_mul(passed), u64::from(load).saturating_mul(passed));
        bucket.tokens = bucket.tokens.saturating_add(gained).saturating_sub(lost).min(full);
        bucket.at = now;
        bucket
    }

    /// The calls per second of other nodes.
    #[must_use]
    pub fn load(&self) -> &BTreeMap<String, u32> {
        &self.load
    }
}

/// The bucket that a call takes from, and its rate.
fn rate(action: &str, wide: bool) -> (String, Rate) {
    let is_read = action.starts_with("Describe") || action.starts_with("Get");
    if let Some((name, rate)) = RATES.iter().find(|(name, _)| *name == action) {
        ((*name).to_owned(), *rate)
    } else if is_read && wide {
        (format!("{action} of everything"), WIDE_READS)
    } else if is_read {
        (action.to_owned(), READS)
    } else {
        (action.to_owned(), OTHER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(throttle: &mut Throttle, action: &str, wide: bool, now: Time) -> usize {
        (0..1000).take_while(|_| throttle.admit(action, wide, now)).count()
    }

    #[test]
    fn a_bucket_empties_and_fills_again() {
        let mut throttle = Throttle::default();
        let start = Time::default();
        assert_eq!(admitted(&mut throttle, "AssignPrivateIpAddresses", false, start), 100);
        assert_eq!(admitted(&mut throttle, "AssignPrivateIpAddresses", false, start.after(199)), 0);
        assert_eq!(admitted(&mut throttle, "AssignPrivateIpAddresses", false, start.after(1000)), 5);
        assert_eq!(admitted(&mut throttle, "AssignPrivateIpAddresses", false, start.after(3_600_000)), 100);
    }

    #[test]
    fn wide_reads_have_a_smaller_bucket_of_their_own() {
        let mut throttle = Throttle::default();
        let start = Time::default();
        assert_eq!(admitted(&mut throttle, "DescribeNetworkInterfaces", true, start), 50);
        assert_eq!(admitted(&mut throttle, "DescribeNetworkInterfaces", false, start), 100);
        assert_eq!(admitted(&mut throttle, "AttachNetworkInterface", false, start), 50);
    }

    #[test]
    fn other_nodes_take_their_share_first() {
        let mut throttle = Throttle::default();
        let start = Time::default();
        throttle.set_load("AssignPrivateIpAddresses", 4, start);
        assert_eq!(admitted(&mut throttle, "AssignPrivateIpAddresses", false, start), 100);
        assert_eq!(admitted(&mut throttle, "AssignPrivateIpAddresses", false, start.after(10_000)), 10);
        throttle.set_load("AssignPrivateIpAddresses", 40, start.after(10_000));
        assert_eq!(admitted(&mut throttle, "AssignPrivateIpAddresses", false, start.after(20_000)), 0);
        throttle.set_load("AssignPrivateIpAddresses", 0, start.after(20_000));
        assert_eq!(admitted(&mut throttle, "AssignPrivateIpAddresses", false, start.after(21_000)), 5);
    }
}
