//! The generated messages and services of package `tenure.v1`; `proto/` documents them.
#![expect(missing_docs, reason = "generated")]
#![cfg_attr(feature = "server", expect(clippy::allow_attributes, reason = "generated"))]

include!("v1/generated.rs");

/// The compiled protos, for reflection.
#[cfg(feature = "server")]
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("v1/descriptors.bin");
