//! The engine over ports that a test controls: one program, because each program costs minutes of linking.
//!
//! `cargo test -p tenure-engine SUITE` runs the tests of one module.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "test helpers are part of the tests")]

mod abandoned;
mod beginning;
mod beside_delegates;
mod changed;
mod claim_answers;
mod claiming;
mod claims;
mod conditions;
mod conformance;
mod connecting;
mod declaring;
mod defined;
mod delegate_answers;
mod delegate_trouble;
mod delegate_unknown;
mod delegates;
mod delegating;
mod effects;
mod foresee;
mod history;
mod importing;
mod inspect;
mod links;
mod live;
mod moving;
mod naming;
mod networks;
mod optional;
mod planning;
mod predecessors;
mod presence;
mod quarantine;
mod ranges;
mod remembering;
mod scopes;
mod shadows;
mod shares;
mod stalls;
mod states;
mod supply_waits;
mod support;
mod taking;
mod taking_over;
mod tidying;
mod versions;
mod vetting;
mod watched;
mod way_of_a_request;
mod witnessed;
