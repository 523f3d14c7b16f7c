//! The checkpoint, tried against disks that lie, lose and fill up.

mod findings;
mod fixture;
mod golden;
mod life;
mod loss;
mod model;
mod real;
mod room;
