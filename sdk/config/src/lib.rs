//! Reads a network's configuration: JSON by path, subnets, and ranges as the reference host-local reads them.
//!
//! Pure: it turns strings into values. The host implements `configuration.ranges` with it, so that policies need not
//! parse CIDRs themselves; policies in Rust may also use it directly, through the SDK.

mod attributes;
mod error;
mod json;
mod keys;
mod node;
mod prefixes;
mod range;
mod read;
mod subnet;

pub use attributes::{Attributes, RESERVED, is_reserved};
pub use error::ConfigError;
pub use json::Json;
pub use node::Node;
pub use range::{ASSIGNS, PREFIXES, Range, RangeSet};
pub use read::{RUNTIME_RANGES, Texts, read};
pub use subnet::{InvalidSubnet, Subnet};
