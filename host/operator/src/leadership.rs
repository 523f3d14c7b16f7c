//! Leadership: one operator works at a time, so that two do not undo each other's work. Safety never rests on it.

mod lease;
mod rule;

pub use self::lease::{Election, ElectionError};
pub use self::rule::{ElectionStep, LeaseRecord, Observation, RENEW_DEADLINE};
