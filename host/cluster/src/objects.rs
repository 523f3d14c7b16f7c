//! The kinds, their schemas, and the rules that the API server checks on each write.
//!
//! Every list and every string has a limit, since the API server refuses a rule whose cost it cannot bound. Enumerations are strings in the types
//! and enumerations in the schema: the words come from `tenure-leases`.

#![expect(unreachable_pub, reason = "the derive macro of a schema copies each type into a function")]
#![expect(clippy::duplicated_attributes, reason = "each printer column says its type and priority")]

pub mod block;
pub mod claim;
pub mod delivery;
pub mod eni_config;
pub mod ipam_claim;
pub mod node;
pub mod pool;
pub mod reference;
pub mod schema;
pub mod space;
