//! The requests of runtimes and operators, each with what it needs of all owners.

pub(crate) mod check;
pub(crate) mod define;
pub(crate) mod delegated;
pub(crate) mod foresee;
pub(crate) mod pipeline;
pub(crate) mod predecessors;
pub(crate) mod quarantine;
pub(crate) mod reap;
pub(crate) mod release;
pub(crate) mod remove;
pub(crate) mod status;
