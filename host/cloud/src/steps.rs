//! What one intent does next. Pure: no call and no clock; what happened is told, and the next step is answered.
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
//!          look, and compare with what it carried
//!          before ─▶ done, or undone a window later    detach     take off ─▶ done: its ranges go
//! ```
//!
//! An intent remembers in two places. [`Reached`] is durable before the next call depends on it; [`Memory`] is this
//! process's, and empty after a restart. [`next`] has a function for each state, and [`heard`] one for each state's answers.
//! A call that may not be repeated blindly is marked in `Reached` first, by [`prepare`].

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

use crate::port::{CallError, Interface, Which};

pub use self::memory::Memory;
pub(crate) use self::order::range;
pub use self::order::{Aim, Making, Order, WrongIntent};
pub use self::reached::Reached;

/// The next step of an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Make a call.
    Call(Request),
    /// Describe interfaces. The first of them is the answer.
    Look(Which),
    /// Wait so long before the next step.
    Wait(Duration),
    /// It is done, and this is what it changed.
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
        /// Its attachment.
        attachment: String,
    },
    /// Assigns what the intent says.
    Assign,
    /// Takes an address or a prefix away.
    Unassign,
    /// Detaches an interface.
    Detach {
        /// Its attachment.
        attachment: String,
    },
    /// Deletes an interface.
    Delete {
        /// The interface.
        interface: String,
    },
}

/// What an intent changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// An interface came, with all that it carries.
    Attached(Box<Interface>),
    /// These came to an interface.
    Assigned(String, Vec<IpNet>),
    /// This went from an interface.
    Released(String, IpNet),
    /// An interface went, with all that it carried.
    Detached(String),
}

/// What a call was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The interface that was created.
    Created(Box<Interface>),
    /// The attachment's id.
    Attached(String),
    /// What was assigned.
    Assigned(Vec<IpNet>),
    /// It was done.
    Done,
}

/// What has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard<'a> {
    /// A call was answered.
    Answer(&'a Request, &'a Result<Answer, CallError>),
    /// A describe of the intent's interface showed this; `None` if it showed none.
    Shown(Option<&'a Interface>),
    /// A wait is over.
    Waited,
}

/// What the steps of an intent depend on besides the intent.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The clock's reading.
    pub now: Duration,
    /// How long EC2's answers may lag.
    pub window: Duration,
    /// The device indexes that are used, or that other intents are about to use.
    pub devices: BTreeSet<u32>,
    /// What the intent's interface is known to carry.
    pub carries: Vec<IpNet>,
}

/// The next step of an intent.
#[must_use]
pub fn next(order: &Order, reached: &Reached, memory: &Memory, facts: &Facts) -> Step {
    if let Some(wait) = memory.pause {
        return Step::Wait(wait);
    }
    match &order.aim {
        Aim::Attach { instance, .. } => attach::next(order, instance, reached, memory, facts),
        Aim::Assign { interface, .. } => assign::next(interface, reached, memory),
        Aim::Release { interface, net } => release::next(interface, *net, memory),
        Aim::Detach { interface } => detach::next(interface, reached, memory),
    }
}

/// Takes in what has happened.
pub fn heard(order: &Order, reached: &mut Reached, memory: &mut Memory, facts: &Facts, what: &Heard<'_>) {
    if *what == Heard::Waited {
        memory.pause = None;
        return;
    }
    match &order.aim {
        Aim::Attach { instance, .. } => attach::heard((order, instance), reached, memory, facts, what),
        Aim::Assign { .. } => assign::heard(reached, memory, facts, what),
        Aim::Release { .. } => release::heard(memory, what),
        Aim::Detach { .. } => detach::heard(&order.instance, reached, memory, facts, what),
    }
}

/// Writes down what must be durable before a call is made.
pub fn prepare(request: &Request, reached: &mut Reached, facts: &Facts) {
    match request {
        Request::Assign if !reached.asked => {
            reached.before.clone_from(&facts.carries);
            reached.asked = true;
        }
        Request::Unassign | Request::Detach { .. } => reached.asked = true,
        _ => {}
    }
}

/// Whether a call takes something away for the first time, so that it needs a witness's word before it.
#[must_use]
pub fn takes(order: &Order, request: &Request, reached: &Reached) -> bool {
    let is_first = !reached.asked && matches!(request, Request::Unassign | Request::Detach { .. });
    is_first && matches!(order.aim, Aim::Release { .. } | Aim::Detach { .. })
}
