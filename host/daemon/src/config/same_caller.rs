//! Which agent a caller is that matches several tables: never a matter of their names.
//!
//! A table with a pod comes before one without. Among those with a pod, and among those without, the narrower one comes first:
//! the one whose callers all match the other one, too. Tables that share callers and are neither are refused.

use std::collections::BTreeMap;

use tenure_types::NamePattern;

use super::AgentTable;

impl AgentTable {
    /// Whether a caller that matches both tables is this agent.
    pub(crate) fn comes_before(&self, other: &Self) -> bool {
        match (&self.pod, &other.pod) {
            (Some(_), None) => true,
            (None, Some(_)) => false,
            _ => self.is_within(other) && !other.is_within(self),
        }
    }

    /// Whether all callers that match this table match the other one, too.
    fn is_within(&self, other: &Self) -> bool {
        let is_within = |ours: Option<u32>, theirs: Option<u32>| theirs.is_none() || ours == theirs;
        is_within(self.uid, other.uid) && is_within(self.gid, other.gid) && pod_is_within(self, other)
    }

    /// Whether there may be a caller that matches both tables.
    fn shares_callers(&self, other: &Self) -> bool {
        let fits =
            |ours: Option<u32>, theirs: Option<u32>| ours.is_none() || theirs.is_none() || ours == theirs;
        let pods_fit = match (pod(self), pod(other)) {
            (Some(ours), Some(theirs)) => overlap(ours.0, theirs.0) && overlap(ours.1, theirs.1),
            _ => true,
        };
        fits(self.uid, other.uid) && fits(self.gid, other.gid) && pods_fit
    }
}

/// Refuses tables between which a caller's agent would depend on their names; returns the key and the reason.
pub(super) fn check(agents: &BTreeMap<String, AgentTable>) -> Result<(), (String, String)> {
    for (index, (name, table)) in agents.iter().enumerate() {
        for (other, others) in agents.iter().take(index) {
            let is_clear = table.comes_before(others) || others.comes_before(table);
            if !is_clear && table.shares_callers(others) {
                let message = format!(
                    "the same caller could be agents.{other}: tell them apart by `uid`, `gid` or `pod`, or narrow one of them down within the other"
                );
                return Err((format!("agents.{name}"), message));
            }
        }
    }
    Ok(())
}

/// The patterns of a table's pod.
fn pod(table: &AgentTable) -> Option<(&str, &str)> {
    table.pod.as_deref().and_then(|pod| pod.split_once('/'))
}

fn pod_is_within(table: &AgentTable, other: &AgentTable) -> bool {
    // A star of the one can only be matched by a star of the other: no name has one.
    match (pod(table), pod(other)) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(ours), Some(theirs)) => {
            NamePattern::new(theirs.0).matches(ours.0) && NamePattern::new(theirs.1).matches(ours.1)
        }
    }
}

/// Whether some text matches both patterns.
fn overlap(one: &str, other: &str) -> bool {
    // By the number of the other's characters: whether so many, and those of the one so far, can stand for the same text.
    let mut fits = vec![true];
    for theirs in other.chars() {
        fits.push(fits.last().is_some_and(|fits| *fits) && theirs == '*');
    }
    for ours in one.chars() {
        let mut next = vec![fits.first().is_some_and(|fits| *fits) && ours == '*'];
        for ((theirs, with_neither), without_ours) in other.chars().zip(&fits).zip(fits.iter().skip(1)) {
            let without_theirs = next.last().is_some_and(|fits| *fits);
            next.push(match ours == '*' || theirs == '*' {
                // The star stands for nothing, or for one more character or star of the other.
                true => *without_ours || without_theirs,
                false => *with_neither && ours == theirs,
            });
        }
        fits = next;
    }
    fits.last().is_some_and(|fits| *fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(uid: Option<u32>, gid: Option<u32>, pod: Option<&str>) -> AgentTable {
        AgentTable { uid, gid, pod: pod.map(str::to_owned), ..AgentTable::default() }
    }

    fn refusal(one: &AgentTable, other: &AgentTable) -> Option<(String, String)> {
        let both = |one: &AgentTable, other: &AgentTable| {
            check(&BTreeMap::from([("backup".to_owned(), one.clone()), ("cilium".to_owned(), other.clone())]))
        };
        let refusal = both(one, other).err();
        assert_eq!(refusal.is_some(), both(other, one).is_err(), "their names do not matter");
        refusal
    }

    #[test]
    fn tables_that_one_caller_matches_are_refused_unless_one_is_narrower() {
        let (key, why) = refusal(&table(Some(0), None, None), &table(Some(0), None, None)).unwrap();
        assert_eq!(key, "agents.cilium");
        assert!(why.starts_with("the same caller could be agents.backup: tell them apart by"), "{why}");
        let cilium = "kube-system/cilium-*";
        for (one, other, is_clear) in [
            (table(Some(0), None, None), table(Some(1), None, None), true),
            (table(Some(0), None, None), table(None, Some(0), None), false),
            (table(Some(0), None, None), table(Some(0), Some(7), None), true),
            (table(Some(0), None, None), table(None, None, Some(cilium)), true),
            (table(None, None, Some(cilium)), table(None, None, Some(cilium)), false),
            (table(None, None, Some(cilium)), table(None, None, Some("kube-system/cilium-operator-*")), true),
            (table(None, None, Some(cilium)), table(None, None, Some("kube-system/*-operator")), false),
            (table(None, None, Some(cilium)), table(None, None, Some("kube-*/cilium")), true),
            (table(Some(0), None, Some(cilium)), table(None, Some(0), Some(cilium)), false),
            (table(Some(0), None, Some(cilium)), table(Some(1), None, Some(cilium)), true),
            (table(Some(0), None, Some(cilium)), table(None, None, Some("*/*")), true),
            (table(None, None, Some("a/*")), table(None, None, Some("a/**")), false),
        ] {
            assert_eq!(refusal(&one, &other).is_none(), is_clear, "{one:?} {other:?}");
        }
    }

    #[test]
    fn patterns_overlap_if_some_text_matches_both() {
        for (one, other, expected) in [
            ("a", "a", true),
            ("a", "b", false),
            ("", "", true),
            ("", "*", true),
            ("", "a", false),
            ("*", "**", true),
            ("a*", "*b", true),
            ("a*", "b*", false),
            ("a*c", "ab*", true),
            ("*a*", "*b*", true),
            ("ab*", "a", false),
            ("a*b", "a*c", false),
            ("cilium-*", "cilium", false),
            ("*-x", "cilium-*", true),
            ("a*a", "a", false),
            ("a*a", "aa", true),
        ] {
            assert_eq!((overlap(one, other), overlap(other, one)), (expected, expected), "{one} {other}");
        }
    }
}
