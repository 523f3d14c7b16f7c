//! The abilities and grants of a loaded policy.

use std::time::Duration;

use tenure_types::{Meter, PolicyName};

/// The world of policies that plan.
const PLANNER: &str = "planner";

/// A loaded policy's abilities, grants and use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    /// The worlds that it exports besides `policy`, and whether each is granted; one that is not is never called.
    pub worlds: Vec<(&'static str, bool)>,
    /// The effects that its plans may contain.
    pub effects: Vec<&'static str>,
    /// The processor time of a call.
    pub deadline: Duration,
    /// The memory of a call, in bytes.
    pub memory: u64,
    /// Whether it may serve without passing the conformance suite.
    pub unchecked: bool,
    /// Use by its calls.
    pub meter: Meter,
}

impl Details {
    /// Tells what a policy of this name that plans cannot do with its grants, and what to set; `None` if it does not plan, or may.
    #[must_use]
    pub fn notice(&self, name: &PolicyName) -> Option<String> {
        let (_, is_asked) = self.worlds.iter().find(|(world, _)| *world == PLANNER)?;
        let (trouble, keys) = match (is_asked, self.effects.is_empty()) {
            (true, false) => return None,
            (true, true) => (
                "it plans, and each of its plans that changes anything fails: no effects are granted to it",
                "`effects`, such as [\"request-block\"],",
            ),
            (false, true) => (
                "it plans, and is never asked for a plan: neither the world planner nor effects are granted to it",
                "`worlds`, such as [\"planner\"], and `effects`, such as [\"request-block\"],",
            ),
            (false, false) => (
                "it plans, and is never asked for a plan: the world planner is not granted to it",
                "`worlds`, such as [\"planner\"],",
            ),
        };
        Some(format!(
            "{trouble}; set {keys} in [policies.{name}] of tenured.toml, and run `tenurectl reload`"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_whose_plans_change_nothing_is_told_with_the_keys_to_set() {
        let name = PolicyName::new("mine").unwrap();
        let notice = |worlds: &[(&'static str, bool)], effects: &[&'static str]| {
            let details = Details { worlds: worlds.into(), effects: effects.into(), ..Details::default() };
            details.notice(&name)
        };
        let has = |notice: Option<String>, words: [&str; 2]| {
            let notice = notice.unwrap();
            assert!(words.iter().all(|words| notice.contains(words)), "{notice}");
            assert!(
                notice.ends_with("in [policies.mine] of tenured.toml, and run `tenurectl reload`"),
                "{notice}"
            );
        };
        assert_eq!(notice(&[("stateful", false)], &[]), None, "it does not plan");
        assert_eq!(notice(&[("planner", true)], &["request-block"]), None);
        has(
            notice(&[("stateful", true), ("planner", true)], &[]),
            ["no effects are granted", "set `effects`, such"],
        );
        has(notice(&[("planner", false)], &[]), ["never asked", "and `effects`, such"]);
        has(
            notice(&[("planner", false)], &["request-block"]),
            ["the world planner is not", "set `worlds`, such"],
        );
    }
}
