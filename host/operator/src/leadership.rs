//! Leadership: one operator works at a time, so that two do not undo each other's work. Safety never rests on it. The Lease also tells a
//! leader whether the store is the one that its predecessor wrote to, or a backup of it.

mod doubt;
mod lease;
mod rule;
mod servers;

pub use self::doubt::StoreDoubt;
pub use self::lease::{Election, ElectionError};
pub use self::rule::{ElectionStep, LeaseRecord, Observation, RENEW_DEADLINE};
pub use self::servers::ApiServers;
