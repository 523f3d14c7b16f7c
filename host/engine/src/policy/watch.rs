//! The count of a watch over a policy that has just begun to serve.

use tenure_types::PolicyStamp;

/// Fewer than this many worse answers never roll a policy back.
const LEAST: u64 = 3;

/// The count of a watch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Watch {
    /// All calls.
    pub(crate) calls: u64,
    /// Failures that the previous policy would have answered.
    pub(crate) worse: u64,
    /// The last of those.
    pub(crate) last: String,
    /// Whether the policy before answers on the present book: its definition was the same.
    pub(crate) comparable: bool,
    /// The policy that this one is compared with and rolled back to, if it is not the one before: that one did worse itself.
    pub(crate) measure: Option<PolicyStamp>,
}

impl Watch {
    /// A watch that begins now; `comparable` says whether the exchange changed the policy and nothing else.
    pub(crate) fn new(comparable: bool) -> Self {
        Self { comparable, ..Self::default() }
    }

    /// A watch that begins while another one, `over` the policy before, has not ended; `before` served before both. Where the policy
    /// before has done worse, it is not the measure of the new one.
    pub(crate) fn in_turn(self, over: Self, before: Option<PolicyStamp>) -> Self {
        match over.worse {
            0 => self,
            _ => Self {
                measure: over.measure.or(before),
                comparable: self.comparable && over.comparable,
                ..self
            },
        }
    }

    /// Whether the budget is exceeded: worse answers in percent of all calls.
    pub(crate) fn is_over(&self, percent: u32) -> bool {
        self.worse >= LEAST && self.worse * 100 > u64::from(percent) * self.calls
    }

    /// The count, in words.
    pub(crate) fn told(&self) -> String {
        let last = if self.last.is_empty() { String::new() } else { format!("; the last: {}", self.last) };
        match self.comparable {
            _ if self.calls == 0 => {
                "nothing was compared: no request came since it was chosen, or since the daemon started"
                    .to_owned()
            }
            true => format!(
                "{} of {} requests failed that the previous policy would have answered{last}",
                self.worse, self.calls
            ),
            false => format!(
                "{} of {} requests failed, and not because of a fault that the policy before has{last}",
                self.worse, self.calls
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_types::PolicyName;

    use super::*;

    #[test]
    fn a_watch_without_requests_says_so() {
        for comparable in [false, true] {
            let told = |calls| Watch { calls, ..Watch::new(comparable) }.told();
            assert!(told(0).starts_with("nothing was compared"), "{}", told(0));
            assert!(told(1).starts_with("0 of 1 requests"), "{}", told(1));
        }
    }

    #[test]
    fn a_budget_is_a_share_of_the_calls_and_never_fewer_than_three() {
        let over = |calls, worse, percent| Watch { calls, worse, ..Watch::default() }.is_over(percent);
        assert!(!over(2, 2, 1), "two are not enough");
        assert!(over(3, 3, 1) && over(299, 3, 1) && !over(300, 3, 1));
        assert!(over(3, 3, 0) && over(1_000_000, 3, 0));
        assert!(!over(10, 10, 100), "100 percent never rolls back");
    }
    #[test]
    fn a_policy_is_measured_by_the_one_before_unless_that_one_has_done_worse() {
        let stamp = |name: &str| PolicyStamp { name: PolicyName::new(name).unwrap(), digest: "d".into() };
        let over = |worse, comparable, measure: Option<&str>| Watch {
            worse,
            measure: measure.map(stamp),
            ..Watch::new(comparable)
        };
        for (over, comparable, measure, is_comparable) in [
            (over(0, false, Some("older")), true, None, true),
            (over(1, true, None), true, Some("before"), true),
            (over(1, true, Some("older")), true, Some("older"), true),
            (over(1, false, None), true, Some("before"), false),
            (over(1, true, None), false, Some("before"), false),
        ] {
            let next = Watch::new(comparable).in_turn(over, Some(stamp("before")));
            assert_eq!((next.measure, next.comparable), (measure.map(stamp), is_comparable));
        }
    }
}
