//! The first-party policies, inside the program.

use crate::CatalogueSource;

/// The rules of the reference host-local plugin; what a network gets that names no policy.
pub const HOST_LOCAL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/host-local.wasm"));

/// The highest free address first.
pub const HIGHEST_FIRST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/highest-first.wasm"));

/// All of them by name.
pub(crate) const ALL: [(&str, CatalogueSource); 2] = [
    ("host-local", CatalogueSource::Embedded(HOST_LOCAL)),
    ("highest-first", CatalogueSource::Embedded(HIGHEST_FIRST)),
];
