//! Tests of the checkpoint against disks that lie, lose and fill up.

mod compaction;
pub(crate) mod corpus;
mod findings;
mod fixture;
mod golden;
mod groups;
mod lies;
mod life;
mod loss;
mod made_up;
mod model;
mod mutations;
mod quarantine;
mod reader;
mod real;
mod room;
mod running;
mod snapshot_thread;
mod takeover;
mod unknown;
mod witness;
