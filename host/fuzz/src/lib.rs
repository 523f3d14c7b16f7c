//! Fuzz targets: one function for each way that bytes of others come in. It panics when a promise is broken.
//!
//! `cargo xtask fuzz` drives them by libFuzzer, with the coverage that stable Rust has; the corpus beside this crate is
//! replayed by its tests, with no more than Rust. A crash's input that was mended goes into the corpus.
//!
//! | target | whose bytes | what must hold |
//! |---|---|---|
//! | [`cni_input`] | a runtime's | every answer is one JSON object that says what was decided |
//! | [`log_recovery`] | a disk's | a state is recovered the same twice, and damage is never another state |
//! | [`policy_answer`] | a policy's | no address has two owners, or comes from outside its pool |

mod cni_input;
mod input;
mod log_recovery;
mod policy_answer;

pub use cni_input::cni_input;
pub use log_recovery::log_recovery;
pub use policy_answer::policy_answer;
