//! Carrying out what plans begin outside the ledger: what every wing shares.
//!
//! A *wing* acts outside the ledger for one network: it makes network interfaces of a cloud carry addresses, or leases blocks through an API
//! server. The executor here does for each wing what does not depend on what is outside: it has the policy plan, makes intents durable,
//! queues them by what they change, carries them on after a restart, and ends each with the ranges that it brought or took. [`Wing`] is what
//! a wing adds. The crate knows no cloud and no cluster, and changes the ledger only through the engine.

mod begin;
mod begun;
pub mod budget;
mod carry;
mod core;
mod ending;
mod executor;
mod explain;
mod gathered;
mod ids;
mod looks;
mod plan;
mod queue;
mod status;
mod tools;
mod wing;

pub use self::executor::{Config, Executor, Handle, TaskFailure};
pub use self::explain::{Explained, PoolStatus};
pub use self::gathered::{Gathered, GatheredAnswer};
pub use self::ids::Ids;
pub use self::queue::Target;
pub use self::status::{IntentStatus, PlanStatus, Progress};
pub use self::tools::{Timer, Tools};
pub use self::wing::{End, Step, Wing};
