//! The interface as defined in `wit/ipam.wit` of this package, generated: what every policy imports and exports, and a module for each
//! interface that only some export.
#![expect(
    missing_docs,
    unreachable_pub,
    unsafe_code,
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    clippy::panic,
    clippy::uninlined_format_args,
    clippy::unwrap_used,
    reason = "generated from ipam.wit, which documents it"
)]

include!("bindings/generated.rs");
