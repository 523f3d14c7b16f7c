//! Creating and attaching an interface, and undoing that.
//!
//! ```text
//! creating ─▶ attaching ─▶ keeping (deleted with the instance) ─▶ arriving ─▶ done
//!     │            └──────────────┴──────────────┴─▶ undoing ─▶ undone
//!     └─▶ searching, if an answer was lost ─▶ undone
//! ```

use std::time::Duration;

use super::{
    Aim, Answer, Change, IntentMemory, IntentOrder, IntentProgress, Request, Step, StepEvent, StepFacts,
    removal,
};
use crate::names::INTENT_TAG;
use crate::port::{Assign, Attachment, Ec2Interface, Failure, Status, Which};

/// For how long the kernel's link is waited for before EC2 is asked.
const LATEST: Duration = Duration::from_secs(15);

/// How often the kernel's links are looked at meanwhile.
const POLL: Duration = Duration::from_millis(200);

/// The most device indexes that are tried.
const MOST_INDEXES: usize = 5;

/// For how long a new interface may not be found, as AWS documents.
const PATIENCE: Duration = Duration::from_secs(300);

pub(super) fn next(
    order: &IntentOrder,
    instance: &str,
    reached: &IntentProgress,
    memory: &IntentMemory,
    facts: &StepFacts,
) -> Step {
    let Some(interface) = &reached.interface else { return creating(order, memory) };
    if let Some(why) = &reached.why {
        return undoing(interface, why, reached, memory, facts);
    }
    match &reached.attachment {
        None => attaching(interface, memory, facts),
        Some(attachment) if !reached.with_instance => keeping(interface, attachment),
        Some(_) => arriving(interface, instance, memory, facts),
    }
}

fn creating(order: &IntentOrder, memory: &IntentMemory) -> Step {
    match &memory.refused {
        None => Step::Call(Request::Create),
        // An earlier call may have created it all the same.
        Some(_) if memory.is_unsure => {
            Step::Look(Which::Tagged([(INTENT_TAG.to_owned(), order.id.clone())].into()))
        }
        Some(why) => Step::Undone(why.clone()),
    }
}

fn attaching(interface: &str, memory: &IntentMemory, facts: &StepFacts) -> Step {
    if memory.must_look {
        return Step::Look(Which::Ids(vec![interface.to_owned()]));
    }
    let is_free = |device: &u32| !facts.devices.contains(device) && !memory.tried.contains(device);
    // Index 0 is the primary interface's.
    let device = (1..).find(is_free).unwrap_or(1);
    Step::Call(Request::Attach { interface: interface.to_owned(), device })
}

fn keeping(interface: &str, attachment: &str) -> Step {
    let (interface, attachment) = (interface.to_owned(), attachment.to_owned());
    Step::Call(Request::DeleteWithInstance { interface, attachment })
}

fn arriving(interface: &str, instance: &str, memory: &IntentMemory, facts: &StepFacts) -> Step {
    let is_here = |attached: &&Ec2Interface| {
        attached.attachment.as_ref().is_some_and(|attachment| attachment.instance == instance)
    };
    if let Some(attached) = memory.attached.as_deref().filter(is_here) {
        return Step::Done(Change::Attached(Box::new(attached.clone())));
    }
    // What it is, the answers have said; that it has come, the kernel says.
    let made = memory.made.as_deref().filter(is_here).zip(memory.moves_since);
    match (made, facts.has_link) {
        (Some((made, _)), Some(true)) => Step::Done(Change::Attached(Box::new(made.clone()))),
        (Some((_, since)), Some(false)) if facts.now.saturating_sub(since) < LATEST => Step::Wait(POLL),
        _ => Step::Look(Which::Ids(vec![interface.to_owned()])),
    }
}

fn undoing(
    interface: &str,
    why: &str,
    reached: &IntentProgress,
    memory: &IntentMemory,
    facts: &StepFacts,
) -> Step {
    removal::next(interface, reached, memory, facts).unwrap_or_else(|| Step::Undone(why.to_owned()))
}

pub(super) fn heard(
    (order, instance): (&IntentOrder, &str),
    reached: &mut IntentProgress,
    memory: &mut IntentMemory,
    facts: &StepFacts,
    what: &StepEvent<'_>,
) {
    if reached.interface.is_none() {
        heard_creating(order, reached, memory, facts, what);
    } else if reached.why.is_some() {
        // It is not in a ledger yet: on any failure, it has to go.
        removal::heard(instance, reached, memory, facts, what);
    } else if reached.attachment.is_none() {
        heard_attaching(instance, reached, memory, facts, what);
    } else if !reached.with_instance {
        heard_keeping(reached, memory, facts, what);
    } else {
        heard_arriving(instance, reached, memory, facts, what);
    }
}

fn heard_creating(
    order: &IntentOrder,
    reached: &mut IntentProgress,
    memory: &mut IntentMemory,
    facts: &StepFacts,
    what: &StepEvent<'_>,
) {
    match what {
        StepEvent::Answer(_, Ok(Answer::Created(interface))) => {
            reached.interface = Some(interface.id.clone());
            // After a restart, the same call answers an interface that may be attached already.
            memory.must_look = memory.is_unsure;
            if !memory.is_unsure && is_complete(order, interface) {
                memory.made = Some(interface.clone());
            }
            memory.tries = 0;
        }
        StepEvent::Answer(_, Err(error)) => match error.failure {
            Failure::Throttled => memory.wait(),
            Failure::Unknown => {
                memory.is_unsure = true;
                memory.wait();
            }
            failure => {
                memory.is_created = failure == Failure::TokenReused;
                memory.is_unsure |= memory.is_created;
                memory.refused = Some(error.to_string());
            }
        },
        StepEvent::Shown(shown) => {
            let is_its = |shown: &&&Ec2Interface| shown.tags.get(INTENT_TAG) == Some(&order.id);
            match shown.as_ref().filter(is_its) {
                // Its settings have changed since, or a repeated call was refused: it is there all the same.
                Some(found) => {
                    reached.interface = Some(found.id.clone());
                    memory.refused = None;
                    memory.must_look = true;
                    memory.since = None;
                }
                // A describe may lag behind EC2's own word.
                None if memory.is_created && memory.unsure_for(facts.now) < facts.window => {
                    memory.wait_in_window(facts);
                }
                None => memory.is_unsure = false,
            }
        }
        StepEvent::Answer(..) | StepEvent::Waited => {}
    }
}

fn heard_attaching(
    instance: &str,
    reached: &mut IntentProgress,
    memory: &mut IntentMemory,
    facts: &StepFacts,
    what: &StepEvent<'_>,
) {
    match what {
        StepEvent::Answer(request, Ok(Answer::Attached(attachment))) => {
            reached.attachment = Some(attachment.clone());
            memory.moved();
            if let (Some(made), Request::Attach { device, .. }) = (&mut memory.made, request) {
                made.status = Status::InUse;
                made.attachment = Some(Attachment {
                    id: attachment.clone(),
                    instance: instance.to_owned(),
                    card: 0,
                    device: *device,
                    delete_with_instance: true,
                    since: facts.wall,
                });
            }
        }
        StepEvent::Answer(Request::Attach { device, .. }, Err(error)) => match error.failure {
            Failure::Throttled => memory.wait(),
            Failure::NotFound if memory.unsure_for(facts.now) < PATIENCE => memory.wait(),
            Failure::Unknown | Failure::InUse => {
                memory.must_look = true;
                memory.wait();
            }
            Failure::IndexTaken => {
                // It may be taken by this very interface, if an earlier answer was lost.
                memory.tried.insert(*device);
                memory.must_look = true;
                if memory.tried.len() >= MOST_INDEXES {
                    undo(reached, memory, error.to_string());
                }
            }
            _ => undo(reached, memory, error.to_string()),
        },
        StepEvent::Shown(Some(shown)) => match &shown.attachment {
            Some(attachment) if attachment.instance == instance && shown.status != Status::Detaching => {
                reached.attachment = Some(attachment.id.clone());
                memory.moved();
            }
            Some(attachment) if attachment.instance != instance => {
                undo(reached, memory, attached_elsewhere(&attachment.instance));
            }
            Some(_) => memory.wait(),
            None => memory.must_look = false,
        },
        // It is too new to be shown.
        StepEvent::Shown(None) if memory.unsure_for(facts.now) < PATIENCE => memory.wait(),
        StepEvent::Shown(None) => {
            reached.why = Some("EC2 does not show the interface that it created".to_owned());
        }
        StepEvent::Answer(..) | StepEvent::Waited => {}
    }
}

fn heard_keeping(
    reached: &mut IntentProgress,
    memory: &mut IntentMemory,
    facts: &StepFacts,
    what: &StepEvent<'_>,
) {
    match what {
        StepEvent::Answer(_, Ok(_)) => {
            reached.with_instance = true;
            memory.moved();
            memory.moves_since = Some(facts.now);
        }
        StepEvent::Answer(_, Err(error)) => match error.failure {
            Failure::Throttled | Failure::Unknown | Failure::InstanceState => memory.wait(),
            Failure::NotFound if memory.tries < 8 => memory.wait(),
            _ => undo(reached, memory, error.to_string()),
        },
        StepEvent::Shown(_) | StepEvent::Waited => {}
    }
}

fn heard_arriving(
    instance: &str,
    reached: &mut IntentProgress,
    memory: &mut IntentMemory,
    facts: &StepFacts,
    what: &StepEvent<'_>,
) {
    let StepEvent::Shown(shown) = what else { return };
    let is_late = memory.unsure_for(facts.now) >= PATIENCE;
    let at = shown.and_then(|shown| shown.attachment.as_ref()).map(|attachment| attachment.instance.as_str());
    let why = match (shown, at) {
        (_, Some(other)) if other != instance => attached_elsewhere(other),
        (Some(shown), Some(_)) if shown.status == Status::InUse => {
            memory.attached = Some(Box::new((*shown).clone()));
            return;
        }
        _ if is_late => format!("it was not attached within {} s", PATIENCE.as_secs()),
        _ => return memory.wait(),
    };
    undo(reached, memory, why);
}

fn attached_elsewhere(instance: &str) -> String {
    format!("somebody has attached it to {instance}")
}

/// Whether the answer to a creation has all that the interface is to carry.
fn is_complete(order: &IntentOrder, created: &Ec2Interface) -> bool {
    let Aim::Attach { creation, .. } = &order.aim else { return false };
    let count = match creation.carries {
        Assign::Nothing => 0,
        Assign::Addresses(count) | Assign::Prefixes(count) | Assign::Ipv6Prefixes(count) => count,
    };
    u32::try_from(created.carries.len()) == Ok(count) && !created.mac.is_empty()
}

/// Begins to take everything back.
fn undo(reached: &mut IntentProgress, memory: &mut IntentMemory, why: String) {
    reached.why = Some(why);
    memory.moves_since = None;
    memory.moved();
    memory.must_look = true;
}
