//! Troubles between this node and EC2, in words: silence and refusals are told apart, because their ways out differ.
//!
//! A call is named once, with EC2's code and words, and what is missing by the name that an operator gives it: a permission, a subnet, the
//! time.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::budget::{BlockedCall, Budget};
use crate::port::{CallError, Failure};

/// How often a call that changes something is not answered before that is said; what becomes of one lost answer is found out.
const OFTEN: u32 = 2;

/// For how long it is said, without another such call.
const RECENT: Duration = Duration::from_secs(120);

/// For how long a refusal is said after the time at which the call may be made again: by then it was made, or is not needed any more.
const UNTRIED: Duration = Duration::from_secs(60);

/// Refusals that somebody has to do something about.
const REFUSALS: [Failure; 4] = [Failure::Denied, Failure::Configuration, Failure::Quota, Failure::Refused];

/// The calls that are not answered, and the answers that do not count.
#[derive(Debug, Default)]
pub(super) struct Silences {
    /// How often in succession a call was not answered, when last, and how it ended.
    calls: BTreeMap<&'static str, (u32, Duration, String)>,
    /// Answers that do not count, by the call, in words.
    odd: BTreeMap<&'static str, String>,
}

impl Silences {
    /// Notes what became of a call.
    pub(super) fn called(&mut self, action: &'static str, failure: Option<&CallError>, now: Duration) {
        match failure.filter(|error| error.failure == Failure::Unknown) {
            None => _ = self.calls.remove(action),
            Some(CallError { code, message, .. }) => {
                let words = format!("EC2 does not answer {action}: {code}: {message}");
                let before = self.calls.get(action).map_or(0, |(count, ..)| *count);
                self.calls.insert(action, (before.saturating_add(1), now, words));
            }
        }
    }

    /// EC2 is called no more, and the metadata service answers in its place.
    pub(super) fn ec2_is_not_asked(&mut self) {
        self.calls.clear();
        self.odd.remove("DescribeSubnets");
    }

    /// Notes whether an answer counts, and why not.
    pub(super) fn believed(&mut self, action: &'static str, odd: Option<String>) {
        match odd {
            None => _ = self.odd.remove(action),
            Some(why) => _ = self.odd.insert(action, why),
        }
    }

    /// Says the worst, or nothing if EC2 answers as it should: of calls that are not answered the latest, and otherwise an answer that does not count.
    pub(super) fn words(&self, now: Duration) -> Option<&str> {
        let is_told = |(action, (count, at, _)): &(&&'static str, &(u32, Duration, String))| {
            action.starts_with("Describe") || (*count >= OFTEN && now.saturating_sub(*at) < RECENT)
        };
        let silent = self.calls.iter().filter(is_told).max_by_key(|(_, (_, at, _))| *at);
        silent.map(|(_, (.., words))| words.as_str()).or_else(|| self.odd.values().next().map(String::as_str))
    }
}

/// Says what EC2 refuses; `None` if it refuses nothing that this node wants.
pub(super) fn refusal(budget: &Budget, now: Duration) -> Option<String> {
    let of_somebody = |(_, _, blocked): &(&'static str, Option<&str>, &BlockedCall)| {
        REFUSALS.contains(&blocked.failure) && blocked.until.saturating_add(UNTRIED) > now
    };
    let mut refused: Vec<_> = budget.remembered().filter(of_somebody).collect();
    // A wrong clock explains all others.
    refused.sort_by_key(|(_, _, blocked)| (!is_of_clock(blocked), blocked.failure));
    let ((call, subnet, blocked), others) = refused.split_first()?;
    let more = if others.is_empty() { String::new() } else { format!("; {} more", others.len()) };
    Some(format!("{}{more}", refused_words(call, *subnet, blocked)))
}

/// A refusal for people.
fn refused_words(call: &str, subnet: Option<&str>, blocked: &BlockedCall) -> String {
    let place = subnet.map_or_else(String::new, |subnet| format!(" in {subnet}"));
    let why = &blocked.why;
    if is_of_clock(blocked) {
        return format!("EC2 finds the time of this node wrong, so set its clock: {call}: {why}");
    }
    match permission(call, blocked) {
        Some(permission) => {
            format!("the node's role lacks the permission {permission}, so EC2 refuses {call}{place}: {why}")
        }
        None => format!("EC2 refuses {call}{place}: {why}"),
    }
}

fn is_of_clock(blocked: &BlockedCall) -> bool {
    blocked.code == "RequestExpired"
}

/// The permission that is missing: what EC2 names, as it does where a call needs another one besides its own, or the call's own.
fn permission(call: &str, blocked: &BlockedCall) -> Option<String> {
    if !matches!(&*blocked.code, "UnauthorizedOperation" | "AccessDenied" | "AccessDeniedException") {
        return None;
    }
    let named = blocked.why.split_once("perform: ").and_then(|(_, rest)| rest.split_whitespace().next());
    let named = named.filter(|name| name.starts_with("ec2:"));
    Some(named.map_or_else(|| format!("ec2:{call}"), |name| name.trim_end_matches(['.', ',']).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::seconds;

    fn blocked(code: &str, message: &str) -> BlockedCall {
        let failure = Failure::Denied;
        BlockedCall { until: seconds(30), failure, code: code.to_owned(), why: format!("{code}: {message}") }
    }

    #[test]
    fn a_wrong_clock_is_said_before_what_else_is_refused() {
        let mut budget = Budget::new(1);
        for (action, code) in [
            ("AssignPrivateIpAddresses", "UnauthorizedOperation"),
            ("CreateNetworkInterface", "RequestExpired"),
        ] {
            let (code, message) = (code.to_owned(), "no".to_owned());
            let error = CallError { action, failure: Failure::Denied, code, message, retry_after: None };
            budget.failed(&error, None, seconds(10));
        }
        let words = refusal(&budget, seconds(11)).unwrap();
        assert!(
            words.starts_with("EC2 finds the time of this node wrong") && words.ends_with("; 1 more"),
            "{words}"
        );
    }

    #[test]
    fn a_refusal_names_the_call_once_and_what_is_missing() {
        let words = |blocked: &BlockedCall, subnet| refused_words("CreateNetworkInterface", subnet, blocked);
        let denied = "UnauthorizedOperation";
        assert_eq!(
            words(&blocked(denied, "You are not authorized."), None),
            "the node's role lacks the permission ec2:CreateNetworkInterface, so EC2 refuses CreateNetworkInterface: UnauthorizedOperation: You are not authorized."
        );
        let other = blocked(
            denied,
            "User: x is not authorized to perform: ec2:CreateTags because no policy allows it",
        );
        assert!(
            words(&other, None).starts_with("the node's role lacks the permission ec2:CreateTags, so EC2")
        );
        assert_eq!(
            words(&blocked("RequestExpired", "Request has expired."), None),
            "EC2 finds the time of this node wrong, so set its clock: CreateNetworkInterface: RequestExpired: Request has expired."
        );
        assert_eq!(
            words(&blocked("InvalidSubnetID.NotFound", "no"), Some("subnet-7")),
            "EC2 refuses CreateNetworkInterface in subnet-7: InvalidSubnetID.NotFound: no"
        );
    }

    #[test]
    fn a_describe_that_is_not_answered_is_said_at_once_and_another_call_the_second_time() {
        let lost = |action| CallError {
            action,
            failure: Failure::Unknown,
            code: "time-out".to_owned(),
            message: "after 10 s".to_owned(),
            retry_after: None,
        };
        let mut silences = Silences::default();
        let (assign, describe) = ("AssignPrivateIpAddresses", "DescribeNetworkInterfaces");
        silences.called(assign, Some(&lost(assign)), seconds(1));
        assert_eq!(silences.words(seconds(1)), None);
        silences.called(assign, Some(&lost(assign)), seconds(5));
        let words = "EC2 does not answer AssignPrivateIpAddresses: time-out: after 10 s";
        assert_eq!(silences.words(seconds(5)), Some(words));
        assert_eq!(silences.words(seconds(125)), None, "nobody has asked since");
        silences.called(describe, Some(&lost(describe)), seconds(6));
        assert!(silences.words(seconds(600)).unwrap().starts_with("EC2 does not answer Describe"));
        silences.called(describe, None, seconds(601));
        silences.called(assign, None, seconds(601));
        silences.believed(describe, Some("EC2's answer does not count".to_owned()));
        assert_eq!(silences.words(seconds(601)), Some("EC2's answer does not count"));
        silences.believed(describe, None);
        assert_eq!(silences.words(seconds(601)), None);
    }
}
