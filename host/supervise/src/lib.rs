//! Runs the parts of a long-lived program.
//!
//! A program builds its [`Part`]s, adds them to a [`Supervisor`] with a name and with the parts that each needs, starts them, and waits
//! for a [signal](Signals) or for the end of an essential part. Nothing here knows what a part does.
//!
//! It does not own the configuration or its reload, which each program has of its own.

mod beat;
pub mod exit;
mod gate;
mod part;
mod signals;
mod supervisor;

pub use beat::{beat, idle_beat, stir};
pub use gate::{Gate, Gated};
pub use part::{Interruptible, Part};
pub use signals::{Signals, hangups};
pub use supervisor::{Handle, PartEnded, Running, Supervisor};
