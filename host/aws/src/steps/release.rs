//! Releasing an address or a prefix. Unassigning by value can be repeated: an address that is not there counts as released.
//!
//! ```text
//! unassign ─ refused ─▶ may an earlier call have done it? ─ no ─▶ undone
//!                                   │ yes
//!                                   ▼
//!                          look ─ not there any more ─▶ done
//!                            └─── there a window later ─▶ undone
//! ```

use ipnet::IpNet;

use super::{Change, IntentMemory, IntentProgress, Request, Step, StepEvent, StepFacts};
use crate::port::{Ec2Interface, Failure, Which};

pub(super) fn next(interface: &str, net: IpNet, memory: &IntentMemory) -> Step {
    match &memory.refused {
        _ if memory.is_over => Step::Done(Change::Released(interface.to_owned(), net)),
        None => Step::Call(Request::Unassign),
        // A pod that got the address would have none.
        Some(_) if memory.is_unsure => Step::Look(Which::Ids(vec![interface.to_owned()])),
        Some(why) => Step::Undone(why.clone()),
    }
}

pub(super) fn heard(
    net: IpNet,
    reached: &mut IntentProgress,
    memory: &mut IntentMemory,
    facts: &StepFacts,
    what: &StepEvent<'_>,
) {
    match what {
        StepEvent::Answer(_, Ok(_)) => memory.is_over = true,
        StepEvent::Answer(_, Err(error)) => match error.failure {
            Failure::NotAssigned => memory.is_over = true,
            Failure::Throttled => {
                // EC2 has done nothing, unless it has carried out an earlier call.
                reached.asked &= memory.is_unsure;
                memory.wait();
            }
            Failure::Unknown => {
                memory.is_unsure = true;
                memory.wait();
            }
            _ => memory.refused = Some(error.to_string()),
        },
        StepEvent::Shown(shown) => looked(net, *shown, memory, facts),
        StepEvent::Waited => {}
    }
}

/// Takes in what EC2 shows after a refusal. A describe may lag: only what is shown a window later is there.
fn looked(net: IpNet, shown: Option<&Ec2Interface>, memory: &mut IntentMemory, facts: &StepFacts) {
    let is_settled = memory.unsure_for(facts.now) >= facts.window;
    match shown.map(|shown| shown.carries.contains(&net)) {
        Some(false) => memory.is_over = true,
        Some(true) if is_settled => memory.is_unsure = false,
        // Should an interface that EC2 does not show be there after all, what is on it is adopted again.
        None if is_settled => memory.is_over = true,
        Some(true) | None => memory.wait_in_window(facts),
    }
}
