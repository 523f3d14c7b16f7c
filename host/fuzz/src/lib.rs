//! Fuzz targets: one function for each source of untrusted bytes. A target panics when a promise is broken.
//!
//! `cargo xtask fuzz` runs them under libFuzzer, with the coverage that stable Rust offers. The tests replay this
//! crate's `corpus` directory without libFuzzer. The input of a fixed crash goes into the corpus.
//!
//! | target | source of the bytes | what must hold |
//! |---|---|---|
//! | [`cni_input`] | a runtime | every answer is one JSON object that matches the decision |
//! | [`log_recovery`] | a disk | recovery is repeatable, and damage never yields a state that was not written |
//! | [`policy_answer`] | a policy | no address has two owners or comes from outside its pool |
//! | [`policy_component`] | an operator | loading and calling a component end with an answer or with an error that names it |

mod cni_input;
mod generated;
mod input;
mod log_recovery;
mod policy_answer;
mod policy_component;

pub use cni_input::cni_input;
pub use log_recovery::log_recovery;
pub use policy_answer::policy_answer;
pub use policy_component::policy_component;
