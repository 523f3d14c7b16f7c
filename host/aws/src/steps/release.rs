//! Releasing an address or a prefix. Unassigning by value can be repeated: an address that is not there counts as released.

use ipnet::IpNet;

use super::{Change, IntentMemory, Request, Step, StepEvent};
use crate::port::Failure;

pub(super) fn next(interface: &str, net: IpNet, memory: &IntentMemory) -> Step {
    match &memory.refused {
        Some(why) => Step::Undone(why.clone()),
        None if memory.is_over => Step::Done(Change::Released(interface.to_owned(), net)),
        None => Step::Call(Request::Unassign),
    }
}

pub(super) fn heard(memory: &mut IntentMemory, what: &StepEvent<'_>) {
    let StepEvent::Answer(_, answer) = what else { return };
    match answer {
        Ok(_) => memory.is_over = true,
        Err(error) => match error.failure {
            Failure::NotAssigned => memory.is_over = true,
            Failure::Throttled | Failure::Unknown => memory.wait(),
            _ => memory.refused = Some(error.to_string()),
        },
    }
}
