//! Policies that run natively, as their authors test them.

#![expect(clippy::unwrap_used, reason = "test helpers are part of the tests")]

mod cases;
mod pieces;
mod planning;
mod stateful;
mod tenants;
mod tiers;
