//! The parts of the kernel's state that we compare, as plain data.

mod address;
mod link;
mod mac;
mod route;
mod rule;

pub use address::InterfaceAddress;
pub use link::KernelLink;
pub use mac::Mac;
pub use route::KernelRoute;
pub use rule::{IpFamily, PacketMark, RoutingRule};
