//! Releasing an address or a prefix. Unassigning by value can be repeated: what is not there is what was wanted.

use ipnet::IpNet;

use super::{Change, Heard, Memory, Request, Step};
use crate::port::Failure;

pub(super) fn next(interface: &str, net: IpNet, memory: &Memory) -> Step {
    match &memory.refused {
        Some(why) => Step::Undone(why.clone()),
        None if memory.is_over => Step::Done(Change::Released(interface.to_owned(), net)),
        None => Step::Call(Request::Unassign),
    }
}

pub(super) fn heard(memory: &mut Memory, what: &Heard<'_>) {
    let Heard::Answer(_, answer) = what else { return };
    match answer {
        Ok(_) => memory.is_over = true,
        Err(error) => match error.failure {
            Failure::NotAssigned => memory.is_over = true,
            Failure::Throttled | Failure::Unknown => memory.wait(),
            _ => memory.refused = Some(error.to_string()),
        },
    }
}
