//! The parts of the kernel's state that we compare, as plain data.

mod address;
mod link;
mod mac;
mod route;
mod rule;

pub use address::Address;
pub use link::Link;
pub use mac::Mac;
pub use route::Route;
pub use rule::{Family, Mark, Rule};
