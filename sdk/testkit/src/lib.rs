#![doc = include_str!("../README.md")]

pub mod cases;
mod convert;
pub mod histories;
mod host;
mod macros;
mod native;
mod node;
mod planning;
mod situation;
mod subject;
mod supply;

pub use histories::histories;
pub use native::Native;
pub use node::{Node, define, define_stateful};
pub use subject::Subject;
pub use tenure_types::{Error, ErrorCode};

#[doc(hidden)]
pub use macros::run_cases;
