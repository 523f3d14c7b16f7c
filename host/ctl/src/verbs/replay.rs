//! `tenurectl policy replay`: makes recorded decisions again with any component, without a daemon.

use std::collections::BTreeSet;
use std::path::Path;

use tenure_policy::decisions::{
    DecisionFiles, DecisionOutcome, Recorded, RecordedBooks, RecordedLimits, Unreadable,
};
use tenure_policy::{CallLimits, Compiler, PolicyRuntime, WasmPolicy};
use tenure_types::{Error, ErrorCode, PolicyName};

use super::file::{component_name, read};
use crate::arguments::Replay;
use crate::report::{ComponentStamp, ReplayDifference, Replayed};

/// Replays every decision of a record.
pub(super) fn replay(arguments: &Replay) -> Result<Replayed, Error> {
    let component = read(&arguments.file)?;
    let mut files = DecisionFiles::at(&arguments.record).map_err(unreadable)?;
    let mut player = Player { name: name(&arguments.file)?, component: &component, made: None };
    let mut replayed = Replayed {
        policy: ComponentStamp { name: player.name.to_string(), sha256: tenure_policy::sha256(&component) },
        recorded: BTreeSet::new(),
        decisions: 0,
        unanswered: 0,
        differences: Vec::new(),
        passed_over: 0,
    };
    let mut books = RecordedBooks::new()?;
    while let Some(Recorded { decision, limits }) = files.next_decision().map_err(unreadable)? {
        replayed.decisions += 1;
        let stamp = ComponentStamp { name: decision.policy.clone(), sha256: decision.digest.clone() };
        if !replayed.recorded.contains(&stamp) {
            replayed.recorded.insert(stamp);
        }
        let book = books.at(&decision)?;
        let now = player.with(&limits)?.replay(&decision, book.as_ref())?;
        if !decision.outcome.is_same(&now) {
            replayed.unanswered += u64::from(matches!(now, DecisionOutcome::NotRecorded(_)));
            replayed.differences.push(ReplayDifference::of(decision, now));
        }
    }
    replayed.passed_over = files.passed_over();
    Ok(replayed)
}

/// The component, loaded for the limits of the last decision.
struct Player<'a> {
    name: PolicyName,
    component: &'a [u8],
    made: Option<(RecordedLimits, WasmPolicy)>,
}

impl Player<'_> {
    fn with(&mut self, limits: &RecordedLimits) -> Result<&WasmPolicy, Error> {
        let made = match self.made.take().filter(|(made, _)| made == limits) {
            Some(made) => made,
            None => {
                let runtime = PolicyRuntime::new(CallLimits::replaying(limits), Compiler::Child)?;
                (limits.clone(), runtime.load(&self.name, self.component, None)?)
            }
        };
        Ok(&self.made.insert(made).1)
    }
}

/// A name for the component.
fn name(file: &Path) -> Result<PolicyName, Error> {
    let name = PolicyName::new(component_name(file)).or_else(|_| PolicyName::new("component"));
    name.map_err(|error| Error::new(ErrorCode::Internal, error))
}

fn unreadable(error: Unreadable) -> Error {
    Error::new(ErrorCode::InputOutput, error)
}
