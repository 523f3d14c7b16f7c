//! The next call to EC2, described for people.

use std::fmt;

use crate::port::Which;
use crate::steps::Request;

/// The next call to EC2.
#[derive(Debug)]
pub(super) enum Action {
    /// Describes interfaces, of which the first is the answer.
    Look(Which),
    /// Makes a call that changes something.
    Call(Request),
}

impl fmt::Display for Action {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = match self {
            Self::Look(_) => return out.write_str("look"),
            Self::Call(request) => request,
        };
        match request {
            Request::Create => out.write_str("create"),
            Request::Attach { interface, device } => write!(out, "attach {interface} at {device}"),
            Request::DeleteWithInstance { interface, .. } => {
                write!(out, "delete {interface} with the instance")
            }
            Request::Assign => out.write_str("assign"),
            Request::Unassign => out.write_str("unassign"),
            Request::Detach { attachment } => write!(out, "detach {attachment}"),
            Request::Delete { interface } => write!(out, "delete {interface}"),
        }
    }
}
