//! What every owner stands on: admission, the committer, the undo of abandoned requests, and the counts of failures.

pub(crate) mod admission;
pub(crate) mod committer;
pub(crate) mod feed;
pub(crate) mod inspect;
pub(crate) mod snapshots;
pub(crate) mod strikes;
pub(crate) mod turns;
pub(crate) mod undo;
