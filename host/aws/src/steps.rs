//! The next step of an intent. Pure: no call and no clock; what happened is told, and the next step is answered.
//!
//! ```text
//! attach   create ─▶ attach at the lowest free index ─▶ delete with the instance ─▶ wait until in use ─▶ done: its ranges
//!            │          │ full, denied, not running
//!            ▼          ▼
//!          undone ◀─ take off and delete
//!
//! assign   assign ─▶ done: the new ranges              take off   look ─▶ detach ─▶ look until it is off ─▶ delete
//!            │ result unknown, or a restart
//!            ▼                                         release    unassign ─▶ done: the range goes
//!          look, and compare with what it carried             │ refused, after an answer was lost
//!          before ─▶ done, or undone a window later           ▼
//!                                                           look, for a window ─▶ done or undone
//!
//! detach   take off ─▶ done: its ranges go
//! ```
//!
//! The link of an interface in the kernel is evidence that it has come, and its absence that it may have gone: where the kernel says
//! so, no describe is made for it.
//!
//! An intent remembers in two places. [`IntentProgress`] is durable before the next call depends on it; [`IntentMemory`] is this
//! process's, and empty after a restart. [`next`] has a function for each state, and [`heard`] one for each state's answers.
//! A call that may not be repeated blindly is marked in `IntentProgress` first, by [`prepare`].

mod assign;
mod attach;
mod detach;
mod memory;
mod order;
mod reached;
mod release;
mod removal;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use ipnet::IpNet;

use crate::port::{CallError, Ec2Interface, Which};

pub use self::memory::IntentMemory;
pub(crate) use self::order::range;
pub use self::order::{Aim, IntentOrder, Making, WrongIntent};
pub use self::reached::IntentProgress;

/// The next step of an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Make a call.
    Call(Request),
    /// Describe interfaces. The first of them is the answer.
    Look(Which),
    /// Wait so long before the next step.
    Wait(Duration),
    /// The intent is done, with this change.
    Done(Change),
    /// Nothing of it is left, because of this.
    Undone(String),
}

/// A call that changes something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Creates the interface.
    Create,
    /// Attaches an interface at a device index.
    Attach {
        /// The interface.
        interface: String,
        /// The device index.
        device: u32,
    },
    /// Has an interface deleted when its instance ends.
    DeleteWithInstance {
        /// The interface.
        interface: String,
        /// EC2's id of the attachment.
        attachment: String,
    },
    /// Assigns what the intent says.
    Assign,
    /// Takes an address or a prefix away.
    Unassign,
    /// Detaches an interface.
    Detach {
        /// EC2's id of the attachment.
        attachment: String,
    },
    /// Deletes an interface.
    Delete {
        /// The interface.
        interface: String,
    },
}

/// The change that an intent made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// An interface came, with all that it carries.
    Attached(Box<Ec2Interface>),
    /// The interface gained these.
    Assigned(String, Vec<IpNet>),
    /// The interface lost this.
    Released(String, IpNet),
    /// An interface went, with all that it carried.
    Detached(String),
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The interface that was created.
    Created(Box<Ec2Interface>),
    /// The attachment's id.
    Attached(String),
    /// Assigned ranges.
    Assigned(Vec<IpNet>),
    /// The call took effect.
    Done,
}

/// An event that an intent reacts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepEvent<'a> {
    /// A call was answered.
    Answer(&'a Request, &'a Result<Answer, CallError>),
    /// A describe of the intent's interface showed this; `None` if it showed none.
    Shown(Option<&'a Ec2Interface>),
    /// A wait is over.
    Waited,
}

/// The facts that the steps of an intent depend on, besides the intent.
#[derive(Debug, Clone, Default)]
pub struct StepFacts {
    /// The clock's reading.
    pub now: Duration,
    /// How long EC2's answers may lag.
    pub window: Duration,
    /// The device indexes that are used, or that other intents are about to use.
    pub devices: BTreeSet<u32>,
    /// Ranges that the intent's interface is known to carry.
    pub carries: Vec<IpNet>,
    /// The wall clock, in seconds since 1970.
    pub wall: u64,
    /// Whether the kernel has the interface's link, if that is known.
    pub has_link: Option<bool>,
    /// EC2's id of the attachment that a describe showed last, if nothing speaks against it.
    pub attachment: Option<String>,
    /// How long until EC2 is asked again to detach an interface, if it has refused that.
    pub detaches_in: Option<Duration>,
    /// The same for deleting one.
    pub deletes_in: Option<Duration>,
}

/// The next step of an intent.
#[must_use]
pub fn next(order: &IntentOrder, reached: &IntentProgress, memory: &IntentMemory, facts: &StepFacts) -> Step {
    if let Some(wait) = memory.pause {
        return Step::Wait(wait);
    }
    match &order.aim {
        Aim::Attach { instance, .. } => attach::next(order, instance, reached, memory, facts),
        Aim::Assign { interface, .. } => assign::next(interface, reached, memory),
        Aim::Release { interface, net } => release::next(interface, *net, memory),
        Aim::Detach { interface } => detach::next(interface, reached, memory, facts),
    }
}

/// Takes in what has happened.
pub fn heard(
    order: &IntentOrder,
    reached: &mut IntentProgress,
    memory: &mut IntentMemory,
    facts: &StepFacts,
    what: &StepEvent<'_>,
) {
    if *what == StepEvent::Waited {
        memory.pause = None;
        return;
    }
    match &order.aim {
        Aim::Attach { instance, .. } => attach::heard((order, instance), reached, memory, facts, what),
        Aim::Assign { .. } => assign::heard(reached, memory, facts, what),
        Aim::Release { net, .. } => release::heard(*net, reached, memory, facts, what),
        Aim::Detach { .. } => detach::heard(&order.instance, reached, memory, facts, what),
    }
}

/// Writes down what must be durable before a call is made.
pub fn prepare(request: &Request, reached: &mut IntentProgress, facts: &StepFacts) {
    match request {
        Request::Assign if !reached.asked => {
            reached.before.clone_from(&facts.carries);
            reached.asked = true;
        }
        Request::Unassign => reached.asked = true,
        Request::Detach { attachment } => {
            reached.asked = true;
            reached.attachment.get_or_insert_with(|| attachment.clone());
        }
        _ => {}
    }
}

/// A call that takes something away, and needs a word of witnesses before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taking {
    /// The first call: if anybody objects, nothing has happened.
    First,
    /// A repetition, perhaps of an earlier process's call: EC2 may have carried that out.
    Again,
}

/// Whether a call takes something away.
#[must_use]
pub fn takes(order: &IntentOrder, request: &Request, reached: &IntentProgress) -> Option<Taking> {
    let is_taking = matches!(request, Request::Unassign | Request::Detach { .. })
        && matches!(order.aim, Aim::Release { .. } | Aim::Detach { .. });
    is_taking.then_some(if reached.asked { Taking::Again } else { Taking::First })
}
