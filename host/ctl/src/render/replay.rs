//! The result of a replay: a row for each decision that was made otherwise, and a summary.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;
use tenure_policy::decisions::{DecisionOutcome, Function};

use super::cell::Cell;
use super::page::Page;
use super::parts::{clean, counted, or_dash, short};
use super::shown::Shown;
use super::table::Table;
use crate::report::{ComponentStamp, ReplayDifference, Replayed};

/// The kinds of an outcome, by their names in a record.
const OUTCOMES: [&str; 2] = ["proposal", "definition"];

impl Shown for Replayed {
    /// The differences and their number.
    fn page(&self, _: u64) -> Page {
        let table = Table::of(&self.differences)
            .name("NETWORK", |of| clean(&of.network))
            .wide("DECISION", |of| of.number)
            .column("TIME", |of| Cell::valued(time(of.at_ms), of.at_ms))
            .name("POD", who)
            .prose("VERDICT", verdict)
            .prose("RECORDED", |of| clean(&words(&of.recorded, &of.now).0))
            .prose("NOW", |of| clean(&words(&of.recorded, &of.now).1));
        let names: Vec<_> = self.recorded.iter().map(stamp).collect();
        let others = u64::try_from(self.differences.len()).unwrap_or(u64::MAX);
        let mut out = format!(
            "{} of {}, replayed with {}: {} the same, {} different, {} could not be answered\n",
            counted(self.decisions, "decision", "decisions"),
            or_dash(&names.join(", ")),
            stamp(&self.policy),
            self.decisions.saturating_sub(others),
            others.saturating_sub(self.unanswered),
            self.unanswered,
        );
        if self.passed_over > 0 {
            out += &format!("{} could not be read.\n", counted(self.passed_over, "line", "lines"));
        }
        Page::default().section(table).text(out)
    }

    fn is_well(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Both outcomes in words; if the words are the same, each value that differs, behind its place.
fn words(recorded: &DecisionOutcome, now: &DecisionOutcome) -> (String, String) {
    let words = (recorded.to_string(), now.to_string());
    if words.0 != words.1 {
        return words;
    }
    let value = |outcome| serde_json::to_value(outcome).unwrap_or_default();
    let mut found = Vec::new();
    differing("", &value(recorded), &value(now), &mut found);
    let (recorded, now): (Vec<String>, Vec<String>) = found.into_iter().unzip();
    (recorded.join(", "), now.join(", "))
}

/// Collects the values that differ. A place is words, so that a column can fold it.
fn differing(place: &str, recorded: &Value, now: &Value, found: &mut Vec<(String, String)>) {
    match (recorded, now) {
        (recorded, now) if recorded == now => {}
        (Value::Object(recorded), Value::Object(now)) => {
            let keys: BTreeSet<&String> = recorded.keys().chain(now.keys()).collect();
            for key in keys {
                let [recorded, now] = [recorded, now].map(|fields| fields.get(key).unwrap_or(&Value::Null));
                // The kind of the outcome is the same, and says nothing.
                let place = if OUTCOMES.contains(&key.as_str()) { "" } else { &format!("{place}{key} ") };
                differing(place, recorded, now, found);
            }
        }
        (Value::Array(recorded), Value::Array(now)) if recorded.len() == now.len() => {
            for (index, (recorded, now)) in recorded.iter().zip(now).enumerate() {
                differing(&format!("{place}{index} "), recorded, now, found);
            }
        }
        _ => {
            let [recorded, now] =
                [recorded, now].map(|value| format!("{}: {}", place.trim_end(), plain(value)));
            found.push((recorded, now));
        }
    }
}

/// A value for people: attributes as `NAME=VALUE`.
fn plain(value: &Value) -> String {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    match value {
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(_) => match (text("name"), text("value")) {
            (Some(name), Some(value)) => format!("{name}={value}"),
            _ => value.to_string(),
        },
        other => other.to_string(),
    }
}

/// Whether the decision was made otherwise, or not at all.
fn verdict(of: &ReplayDifference) -> &'static str {
    match of.now {
        DecisionOutcome::NotRecorded(_) => "unanswered",
        _ => "different",
    }
}

/// Names the requester of a decision: a pod, another owner, or the network itself.
fn who(of: &ReplayDifference) -> String {
    match of.function {
        Function::Define => "(definition)".to_owned(),
        Function::Propose | Function::ProposeWithState => or_dash(&of.who),
    }
}

fn stamp(of: &ComponentStamp) -> String {
    format!("{}@{}", clean(&of.name), short(&of.sha256))
}

fn time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    at.map_or_else(|| "-".to_owned(), |at| format!("{at:.3}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenure_policy::decisions::RecordedDecision;

    use super::*;

    fn decision(number: u64, function: Function, outcome: DecisionOutcome) -> RecordedDecision {
        let attributes = json!([
            { "name": "pod.namespace", "value": "shop" }, { "name": "pod.name", "value": "web-0" },
        ]);
        RecordedDecision {
            number,
            at_ms: 1_700_000_000_000 + number,
            network: "pods".into(),
            policy: "host-local".into(),
            digest: "0123456789abcdef".into(),
            function,
            given: json!({ "attributes": attributes }),
            state: None,
            limits: None,
            asked: Vec::new(),
            outcome,
            view: None,
        }
    }

    fn address(address: &str, tag: &str) -> DecisionOutcome {
        DecisionOutcome::Proposal(json!({ "assignments": [{ "address": address }], "tags": tag }))
    }

    #[test]
    fn differences_are_rows_and_the_summary_counts_them() {
        let with =
            |number, recorded, now| ReplayDifference::of(decision(number, Function::Propose, recorded), now);
        let definition = json!({ "pools": [{ "ranges": [{ "first": "10.1.0.1", "last": "10.1.0.6" }] }] });
        let full = || DecisionOutcome::Refusal(json!({ "Exhausted": { "message": "none left" } }));
        let replayed = Replayed {
            policy: ComponentStamp { name: "mine".into(), sha256: "fedcba9876543210".into() },
            recorded: [ComponentStamp { name: "host-local".into(), sha256: "0123456789abcdef".into() }]
                .into(),
            decisions: 10,
            unanswered: 1,
            differences: vec![
                with(3, address("10.1.0.2", ""), address("10.1.0.6", "")),
                with(4, full(), DecisionOutcome::NotRecorded("free(pool 0, limit 1)".into())),
                with(5, address("10.1.0.3", ""), address("10.1.0.3", "red")),
                ReplayDifference::of(
                    decision(6, Function::Define, DecisionOutcome::Definition(definition)),
                    DecisionOutcome::Failure { kind: "trap".into(), cause: "unreachable\u{1b}".into() },
                ),
            ],
            passed_over: 1,
        };
        insta::assert_snapshot!(replayed.page(0), @r#"
        NETWORK  TIME                      POD           VERDICT     RECORDED             NOW
        pods     2023-11-14T22:13:20.003Z  shop/web-0    different   10.1.0.2             10.1.0.6
        pods     2023-11-14T22:13:20.004Z  shop/web-0    unanswered  exhausted: none      asked something
                                                                     left                 that the record
                                                                                          does not contain:
                                                                                          free(pool 0, limit
                                                                                          1)
        pods     2023-11-14T22:13:20.005Z  shop/web-0    different   tags: ""             tags: "red"
        pods     2023-11-14T22:13:20.006Z  (definition)  different   1 pool:              failed (trap):
                                                                     10.1.0.1-10.1.0.6    unreachable\u{1b}
        10 decisions of host-local@0123456789ab, replayed with mine@fedcba987654: 6 the same, 3 different, 1 could not be answered
        1 line could not be read.
        "#);
        let same = Replayed { differences: Vec::new(), passed_over: 0, unanswered: 0, ..replayed };
        insta::assert_snapshot!(same.page(0), @"10 decisions of host-local@0123456789ab, replayed with mine@fedcba987654: 10 the same, 0 different, 0 could not be answered");
    }
}
