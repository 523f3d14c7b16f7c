//! Assigning addresses or prefixes by count, which is never repeated unless EC2 said that nothing was done.

use super::{Answer, Change, IntentMemory, IntentProgress, Request, Step, StepEvent, StepFacts};
use crate::port::{Failure, Which};

pub(super) fn next(interface: &str, reached: &IntentProgress, memory: &IntentMemory) -> Step {
    if let Some(why) = &memory.refused {
        return Step::Undone(why.clone());
    }
    if let Some(new) = &memory.assigned {
        return Step::Done(Change::Assigned(interface.to_owned(), new.clone()));
    }
    match reached.asked && memory.is_unsure {
        true => Step::Look(Which::Ids(vec![interface.to_owned()])),
        false => Step::Call(Request::Assign),
    }
}

pub(super) fn heard(
    reached: &IntentProgress,
    memory: &mut IntentMemory,
    facts: &StepFacts,
    what: &StepEvent<'_>,
) {
    match what {
        StepEvent::Answer(_, Ok(Answer::Assigned(new))) => memory.assigned = Some(new.clone()),
        StepEvent::Answer(_, Ok(_)) | StepEvent::Waited => {}
        StepEvent::Answer(_, Err(error)) => match error.failure {
            Failure::Throttled => {
                memory.is_unsure = false;
                memory.wait();
            }
            Failure::Unknown => {
                memory.is_unsure = true;
                memory.wait();
            }
            _ => memory.refused = Some(error.to_string()),
        },
        StepEvent::Shown(shown) => {
            let carries = shown.map(|shown| shown.carries.as_slice()).unwrap_or_default();
            let new: Vec<_> = carries.iter().copied().filter(|net| !reached.before.contains(net)).collect();
            if !new.is_empty() {
                memory.assigned = Some(new);
                return;
            }
            // A describe may lag: only what is not there a window later was not done.
            if memory.unsure_for(facts.now) >= facts.window {
                let seconds = facts.window.as_secs();
                memory.refused =
                    Some(format!("the answer was lost, and EC2 shows nothing new after {seconds} s"));
            } else {
                memory.wait_in_window(facts);
            }
        }
    }
}
