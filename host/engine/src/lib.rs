//! The path of a request, and the ports it crosses.
//!
//! ```text
//! rpc ─▶ admission ─▶ network's book ─▶ policy ─▶ ledger check ─▶ journal ─▶ reply
//!        (order by key)    (locked)      (proposes)  (disposes)    (durable)
//! ```
//!
//! [`Engine::add`] is that path in one function. The engine spawns no tasks and never sleeps, so it runs on any
//! executor, and a simulation can drive it step by step.

mod admission;
mod asking;
mod bounds;
mod claims;
mod committer;
mod define;
mod delegates;
mod difference;
mod effects;
mod engine;
mod foresee;
mod gateways;
mod import;
mod inspect;
mod links;
mod live;
mod lock;
mod memory;
mod naming;
mod networks;
mod pipeline;
pub mod ports;
mod ranges;
mod reap;
mod redefine;
mod release;
mod remove;
mod slot;
mod snapshots;
mod states;
mod status;
mod strikes;
mod supply;
mod undo;
mod within;
mod wrong;

pub use admission::Load;
pub use bounds::{Bounds, NetworkBounds, NetworkPattern, PolicyBounds};
pub use claims::{
    Agent, AgentStanding, Ask, Changes, ClaimFigures, ClaimFilter, Claimed, Declared, MissingFamily,
    Place as ClaimedPlace, Precondition, Watching, WhyMissing, WitnessedClaim,
};
pub use define::Define;
pub use delegates::{Pending, Phase};
pub use difference::{Difference, Verdict};
pub use effects::{Attending, Begun, Demand, EffectTarget, Outlook, Planned, Refusal};
pub use engine::{Engine, ExchangeSettings, Ports, Settings};
pub use foresee::Foreseen;
pub use import::{Abandon, Claim, Import, ImportOrigin, Imported, Importing, Place};
pub use inspect::Listed;
pub use live::conformance::{Conformance, conformance};
pub use live::{Activate, Changed, Loaded, ReplaceState, ShadowReport, Verdicts};
pub use pipeline::Add;
pub use redefine::Redefined;
pub use release::{Del, Gc};
pub use supply::Supply;
pub use undo::Abandoned;
