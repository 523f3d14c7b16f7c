//! Taking an interface off its instance and deleting it, by an intent that detaches, or by one that is undone.
//!
//! ```text
//! look ─ attached ─▶ detach ─▶ look, until it is off ─▶ delete ─▶ over
//!   │ ─ off ─────────────────────────────────────────────▲
//!   │ ─ not shown for a window ──────────────────────────┘ over only if EC2 does not know it either
//!   └ ─ somewhere else ─▶ over
//! ```

use std::time::Duration;

use super::{IntentMemory, IntentProgress, Request, Step, StepEvent, StepFacts};
use crate::port::{CallError, Ec2Interface, Failure, Status, Which};

/// How long after a Detach was answered the interface is deleted at the earliest. Its link is gone within a moment; EC2 takes about five seconds
/// until it counts as off, and refuses a Delete before.
const SOONEST: Duration = Duration::from_secs(6);

/// For how long the kernel's link is waited for before EC2 is asked.
const LATEST: Duration = Duration::from_secs(30);

/// How often the kernel's links are looked at meanwhile.
const POLL: Duration = Duration::from_secs(1);

/// The next step; `None` once it is over.
pub(super) fn next(
    interface: &str,
    reached: &IntentProgress,
    memory: &IntentMemory,
    facts: &StepFacts,
) -> Option<Step> {
    if memory.is_over {
        return None;
    }
    if let Some(since) = memory.moves_since.filter(|_| !reached.is_off) {
        let after = facts.now.saturating_sub(since);
        match facts.has_link {
            // Deleting fails while it is attached.
            Some(false) if after >= SOONEST => return Some(delete(interface, facts)),
            Some(_) if after < LATEST => return Some(Step::Wait(POLL)),
            _ => {}
        }
    }
    Some(match (reached.is_off, &reached.attachment) {
        (true, _) => delete(interface, facts),
        (false, Some(attachment)) if !memory.must_look => {
            once(facts.detaches_in, Request::Detach { attachment: attachment.clone() })
        }
        _ => Step::Look(Which::Ids(vec![interface.to_owned()])),
    })
}

fn delete(interface: &str, facts: &StepFacts) -> Step {
    once(facts.deletes_in, Request::Delete { interface: interface.to_owned() })
}

/// Makes a call once EC2 may be asked again.
fn once(wait: Option<Duration>, request: Request) -> Step {
    wait.map_or(Step::Call(request), Step::Wait)
}

/// Takes in what has happened; returns a failure after which nothing can be done.
pub(super) fn heard<'a>(
    instance: &str,
    reached: &mut IntentProgress,
    memory: &mut IntentMemory,
    facts: &StepFacts,
    what: &StepEvent<'a>,
) -> Option<&'a CallError> {
    match what {
        StepEvent::Shown(shown) => looked(instance, *shown, reached, memory, facts),
        StepEvent::Answer(Request::Detach { .. }, Ok(_)) => {
            memory.moved();
            memory.must_look = true;
            memory.may_detach = true;
            memory.moves_since = Some(facts.now);
            memory.wait();
        }
        StepEvent::Answer(Request::Delete { .. }, Ok(_)) => memory.is_over = true,
        StepEvent::Answer(request, Err(error)) => return failed(request, error, memory, reached, facts),
        StepEvent::Answer(..) | StepEvent::Waited => {}
    }
    None
}

fn failed<'a>(
    request: &Request,
    error: &'a CallError,
    memory: &mut IntentMemory,
    reached: &mut IntentProgress,
    facts: &StepFacts,
) -> Option<&'a CallError> {
    let is_delete = matches!(request, Request::Delete { .. });
    // That it is attached is known only from a refusal that says so.
    reached.is_off |= is_delete;
    memory.moves_since = None;
    memory.may_detach |= !is_delete && error.failure == Failure::Unknown;
    if !is_delete && error.failure == Failure::Throttled {
        // EC2 has done nothing, unless it has carried out an earlier call.
        reached.asked &= memory.may_detach;
    }
    match error.failure {
        // A new interface cannot be seen by calls for a while: only later does this mean that it is gone.
        Failure::NotFound if is_delete && memory.unsure_for(facts.now) >= facts.window => {
            memory.is_over = true;
        }
        Failure::InUse if is_delete => {
            reached.is_off = false;
            memory.must_look = true;
        }
        Failure::NotFound
        | Failure::Throttled
        | Failure::Unknown
        | Failure::InUse
        | Failure::InstanceState => {
            memory.must_look = !is_delete && error.failure != Failure::Throttled;
        }
        _ => {
            memory.wait();
            return Some(error);
        }
    }
    memory.wait();
    None
}

fn looked(
    instance: &str,
    shown: Option<&Ec2Interface>,
    reached: &mut IntentProgress,
    memory: &mut IntentMemory,
    facts: &StepFacts,
) {
    let Some(shown) = shown else {
        // A describe may hide what is there; a call that deletes it does not miss it.
        reached.is_off = memory.unsure_for(facts.now) >= facts.window;
        if !reached.is_off {
            memory.wait();
        }
        return;
    };
    match (shown.status, &shown.attachment) {
        (_, Some(attachment)) if attachment.instance != instance => memory.is_over = true,
        (Status::InUse | Status::Attaching, Some(attachment)) => {
            let is_known = reached.attachment.as_ref() == Some(&attachment.id);
            reached.attachment = Some(attachment.id.clone());
            // Right after a Detach, a describe may still show it as it was.
            let may_lag = reached.asked && is_known && memory.unsure_for(facts.now) < facts.window;
            match may_lag {
                true => memory.wait(),
                false => memory.moved(),
            }
        }
        (Status::Available, _) => {
            reached.is_off = true;
            memory.moved();
        }
        _ => memory.wait(),
    }
}
