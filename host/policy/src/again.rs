//! Makes recorded decisions again with another policy, and compares them with what was decided.

use std::io;
use std::path::Path;
use std::time::Duration;

use tenure_engine::ports::Again;
use tenure_engine::{Difference, Verdict};
use tenure_types::{Error, ErrorCode, Moment, Result};

use crate::decisions::{DecisionFiles, DecisionOutcome, Function, Recorded, RecordedBooks, Unreadable};
use crate::sandbox::{WasmPolicy, processor_time};

/// How many of the latest decisions are made again.
const MOST: usize = 256;

/// The processor time of the policy for that. One that exceeds its limits in each of them would take much longer. Reading the decisions before them does
/// not count: a large record takes longer than that.
const LONGEST: Duration = Duration::from_secs(2);

/// Makes the latest decisions of a network again. Blocks.
///
/// # Errors
/// `InputOutput` when the record cannot be read.
pub(crate) fn again(policy: &WasmPolicy, record: &Path) -> Result<Again> {
    let mut again = Again::default();
    let unreadable = |error| Error::new(ErrorCode::InputOutput, error);
    let Some(mut files) = opened(record).map_err(unreadable)? else { return Ok(again) };
    let mut before = proposals(record).map_err(unreadable)?.saturating_sub(MOST);
    let mut books = RecordedBooks::new()?;
    let mut spent = Duration::ZERO;
    while let Some(Recorded { decision, .. }) = files.next_decision().map_err(unreadable)? {
        let book = books.at(&decision)?;
        if decision.function == Function::Define {
            continue;
        }
        if before > 0 {
            before -= 1;
            continue;
        }
        if spent > LONGEST {
            break;
        }
        let start = processor_time();
        let now = policy.replay(&decision, book.as_ref())?;
        spent += processor_time().saturating_sub(start);
        drop(book);
        let Some(verdict) = verdict(&decision.outcome, &now) else {
            again.unanswered += 1;
            continue;
        };
        let refuses = verdict == Verdict::OtherRefusal && matches!(now, DecisionOutcome::Refusal(_));
        if decision.is_of_agent() {
            again.of_claims.0 += 1;
            again.of_claims.1 += u64::from(refuses);
        }
        match verdict {
            Verdict::Same => again.same += 1,
            verdict => again.different.push(Difference {
                at: Moment { boot_ns: 0, wall_ms: decision.at_ms },
                owner: decision.who(),
                verdict,
                refuses,
                served: decision.outcome.to_string(),
                candidate: now.to_string(),
            }),
        }
    }
    Ok(again)
}

/// The decisions of a network; `None` if nothing is recorded.
fn opened(record: &Path) -> std::result::Result<Option<DecisionFiles>, Unreadable> {
    match DecisionFiles::at(record) {
        Err(Unreadable::Empty(_)) => Ok(None),
        Err(Unreadable::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        files => files.map(Some),
    }
}

/// The number of proposals that are recorded.
fn proposals(record: &Path) -> std::result::Result<usize, Unreadable> {
    let Some(mut files) = opened(record)? else { return Ok(0) };
    let mut count = 0;
    while let Some(recorded) = files.next_decision()? {
        count += usize::from(recorded.decision.function != Function::Define);
    }
    Ok(count)
}

/// Compares a decision with the one that was recorded; `None` if the record does not contain what it depends on.
fn verdict(recorded: &DecisionOutcome, now: &DecisionOutcome) -> Option<Verdict> {
    if let (Some(recorded), Some(now)) = (recorded.addresses(), now.addresses()) {
        // The same addresses may have other tags, and another policy another state.
        return Some(if recorded == now { Verdict::Same } else { Verdict::OtherAddress });
    }
    Some(match (recorded, now) {
        (_, DecisionOutcome::NotRecorded(_)) => return None,
        _ if recorded.is_same(now) => Verdict::Same,
        (_, DecisionOutcome::Failure { .. }) => Verdict::Failed,
        (DecisionOutcome::Refusal(recorded), DecisionOutcome::Refusal(now))
            if kind(recorded) == kind(now) =>
        {
            Verdict::Same
        }
        _ => Verdict::OtherRefusal,
    })
}

/// A refusal's case in the interface.
fn kind(refusal: &serde_json::Value) -> Option<&String> {
    refusal.as_object()?.keys().next()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn outcomes_are_compared_as_live_decisions_are() {
        let proposal = |address: &str, tag: &str| {
            DecisionOutcome::Proposal(json!({ "assignments": [{ "address": address }], "tags": [tag] }))
        };
        let kept = |address: &str| DecisionOutcome::ProposalWithState {
            proposal: json!({ "assignments": [{ "address": address }] }),
            state: Some("YQ==".into()),
        };
        let refusal =
            |kind: &str, message: &str| DecisionOutcome::Refusal(json!({ kind: { "message": message } }));
        let failure = || DecisionOutcome::Failure { kind: "trap".into(), cause: "unreachable".into() };
        let one = proposal("10.0.0.1", "red");
        for (recorded, now, expected) in [
            (&one, one.clone(), Some(Verdict::Same)),
            (&one, proposal("10.0.0.1", "blue"), Some(Verdict::Same)),
            (&one, proposal("10.0.0.2", "red"), Some(Verdict::OtherAddress)),
            (&one, refusal("Exhausted", "none"), Some(Verdict::OtherRefusal)),
            (&refusal("Exhausted", "none"), refusal("Exhausted", "none left"), Some(Verdict::Same)),
            (&refusal("Exhausted", "none"), refusal("Other", "none"), Some(Verdict::OtherRefusal)),
            (&refusal("Exhausted", "none"), one.clone(), Some(Verdict::OtherRefusal)),
            (&one, failure(), Some(Verdict::Failed)),
            (&failure(), one.clone(), Some(Verdict::OtherRefusal)),
            (&one, DecisionOutcome::NotRecorded("free(pool 0)".into()), None),
            (&one, kept("10.0.0.1"), Some(Verdict::Same)),
            (&one, kept("10.0.0.2"), Some(Verdict::OtherAddress)),
        ] {
            assert_eq!(verdict(recorded, &now), expected, "{recorded} and then {now}");
        }
    }
}
