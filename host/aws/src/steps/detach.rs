//! Detaching an interface and deleting it.
//!
//! Undone means that its addresses are handed out again. So it ends so only while EC2 has done nothing for sure: a Detach that EC2 has
//! accepted, or whose answer was lost, may be carried out minutes later, while another one is refused.

use super::{Change, IntentMemory, IntentProgress, Request, Step, StepEvent, StepFacts, removal};

pub(super) fn next(
    interface: &str,
    reached: &IntentProgress,
    memory: &IntentMemory,
    facts: &StepFacts,
) -> Step {
    if let Some(why) = &memory.refused {
        return Step::Undone(why.clone());
    }
    // A call for an attachment that is not the present one fails; nothing else is detached by it.
    if let (None, Some(attachment), false) = (&reached.attachment, &facts.attachment, memory.must_look) {
        return Step::Call(Request::Detach { attachment: attachment.clone() });
    }
    // Otherwise, the look comes first.
    let mut first = memory.clone();
    first.must_look |= reached.attachment.is_none();
    removal::next(interface, reached, &first, facts)
        .unwrap_or_else(|| Step::Done(Change::Detached(interface.to_owned())))
}

pub(super) fn heard(
    instance: &str,
    reached: &mut IntentProgress,
    memory: &mut IntentMemory,
    facts: &StepFacts,
    what: &StepEvent<'_>,
) {
    let failed = removal::heard(instance, reached, memory, facts, what);
    let Some(error) = failed.filter(|_| !reached.is_off) else { return };
    // Once it is off, or about to be, there is no way back: pods would go with it.
    match memory.may_detach {
        true => memory.must_look = true,
        false => memory.refused = Some(error.to_string()),
    }
}
