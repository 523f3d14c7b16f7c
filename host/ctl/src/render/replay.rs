//! The result of a replay: a row for each decision that was made otherwise, and a summary.

use jiff::Timestamp;
use tenure_policy::decisions::{Decision, Function, Outcome};

use super::parts::{clean, counted, or_dash, short};
use super::table::{table, text};
use crate::report::{Difference, Replayed};

/// The differences and their number.
pub(super) fn replayed(replayed: &Replayed) -> String {
    let mut out = String::new();
    if !replayed.differences.is_empty() {
        let mut table = table(["NETWORK", "DECISION", "TIME", "POD", "RECORDED", "NOW"]);
        for Difference { decision, now } in &replayed.differences {
            let (recorded, now) = words(&decision.outcome, now);
            table.add_row([
                clean(&decision.network),
                decision.number.to_string(),
                time(decision.at_ms),
                who(decision),
                clean(&recorded),
                clean(&now),
            ]);
        }
        out = text(&table);
    }
    let names: Vec<_> = replayed.recorded.iter().map(|(name, digest)| stamp(name, digest)).collect();
    let different = u64::try_from(replayed.differences.len()).unwrap_or(u64::MAX);
    out += &format!(
        "{} of {}, replayed with {}: {} the same, {different} different\n",
        counted(replayed.decisions, "decision", "decisions"),
        or_dash(&names.join(", ")),
        stamp(replayed.policy.as_str(), &replayed.digest),
        replayed.decisions.saturating_sub(different),
    );
    let is_missing = |difference: &&Difference| matches!(difference.now, Outcome::NotRecorded(_));
    let missing = replayed.differences.iter().filter(is_missing).count();
    if missing > 0 {
        let missing = counted(u64::try_from(missing).unwrap_or(u64::MAX), "decision", "decisions");
        out += &format!("In {missing}, it asked something that the record does not contain.\n");
    }
    if replayed.passed_over > 0 {
        out += &format!("{} could not be read.\n", counted(replayed.passed_over, "line", "lines"));
    }
    out
}

/// Both outcomes in words, or whole if the words are the same.
fn words(recorded: &Outcome, now: &Outcome) -> (String, String) {
    let words = (recorded.to_string(), now.to_string());
    if words.0 != words.1 {
        return words;
    }
    let whole = |outcome| serde_json::to_string(outcome).unwrap_or_default();
    (whole(recorded), whole(now))
}

/// Whom a decision was for: a pod, another owner, or the network itself.
fn who(decision: &Decision) -> String {
    match decision.function {
        Function::Define => "(definition)".to_owned(),
        Function::Propose | Function::ProposeWithState => or_dash(&decision.who()),
    }
}

fn stamp(name: &str, digest: &str) -> String {
    format!("{}@{}", clean(name), short(digest))
}

fn time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    at.map_or_else(|| "-".to_owned(), |at| format!("{at:.3}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenure_types::PolicyName;

    use super::*;

    fn decision(number: u64, function: Function, outcome: Outcome) -> Decision {
        let attributes = json!([
            { "name": "pod.namespace", "value": "shop" }, { "name": "pod.name", "value": "web-0" },
        ]);
        Decision {
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
        }
    }

    fn address(address: &str, tag: &str) -> Outcome {
        Outcome::Proposal(json!({ "assignments": [{ "address": address }], "tags": tag }))
    }

    #[test]
    fn differences_are_rows_and_the_summary_counts_them() {
        let with = |number, recorded, now| Difference {
            decision: decision(number, Function::Propose, recorded),
            now,
        };
        let definition = json!({ "pools": [{ "ranges": [{ "first": "10.1.0.1", "last": "10.1.0.6" }] }] });
        let full = || Outcome::Refusal(json!({ "Exhausted": { "message": "none left" } }));
        let replayed = Replayed {
            policy: PolicyName::new("mine").unwrap(),
            digest: "fedcba9876543210".into(),
            recorded: [("host-local".to_owned(), "0123456789abcdef".to_owned())].into(),
            decisions: 10,
            differences: vec![
                with(3, address("10.1.0.2", ""), address("10.1.0.6", "")),
                with(4, full(), Outcome::NotRecorded("free(pool 0, limit 1)".into())),
                with(5, address("10.1.0.3", ""), address("10.1.0.3", "red")),
                Difference {
                    decision: decision(6, Function::Define, Outcome::Definition(definition)),
                    now: Outcome::Failure { kind: "trap".into(), cause: "unreachable\u{1b}".into() },
                },
            ],
            passed_over: 1,
        };
        insta::assert_snapshot!(super::replayed(&replayed), @r#"
        NETWORK  DECISION  TIME                      POD           RECORDED                                                         NOW
        pods     3         2023-11-14T22:13:20.003Z  shop/web-0    10.1.0.2                                                         10.1.0.6
        pods     4         2023-11-14T22:13:20.004Z  shop/web-0    exhausted: none left                                             asked something that the record does not contain: free(pool 0, limit 1)
        pods     5         2023-11-14T22:13:20.005Z  shop/web-0    {"proposal":{"assignments":[{"address":"10.1.0.3"}],"tags":""}}  {"proposal":{"assignments":[{"address":"10.1.0.3"}],"tags":"red"}}
        pods     6         2023-11-14T22:13:20.006Z  (definition)  1 pool: 10.1.0.1-10.1.0.6                                        failed (trap): unreachable�
        10 decisions of host-local@0123456789ab, replayed with mine@fedcba987654: 6 the same, 4 different
        In 1 decision, it asked something that the record does not contain.
        1 line could not be read.
        "#);
        let same = Replayed { differences: Vec::new(), passed_over: 0, ..replayed };
        insta::assert_snapshot!(super::replayed(&same), @"10 decisions of host-local@0123456789ab, replayed with mine@fedcba987654: 10 the same, 0 different");
    }
}
