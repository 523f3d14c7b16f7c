//! The path of a request, and the ports it crosses.
//!
//! ```text
//! rpc ─▶ admission ─▶ network's book ─▶ policy ─▶ ledger check ─▶ journal ─▶ reply
//!        (order by key)    (locked)      (proposes)  (disposes)    (durable)
//! ```
//!
//! [`Engine::add`] is that path in one function. The engine spawns no tasks and never sleeps, so it runs on any
//! executor, and a simulation can drive it step by step.

mod claims;
mod core;
mod delegates;
mod difference;
mod effects;
mod engine;
mod exchange;
mod give_way;
mod import;
mod links;
mod lock;
mod network;
mod policy;
pub mod ports;
mod request;

pub use claims::changes::Changes;
pub use claims::contact::Asking;
pub use claims::declare::Declared;
pub use claims::filter::ClaimFilter;
pub use claims::heard::Watching;
pub use claims::optional::{MissingFamily, WhyMissing};
pub use claims::release::Precondition;
pub use claims::standing::{AgentStanding, ClaimFigures};
pub use claims::view::{Claimed, Place as ClaimedPlace};
pub use claims::witnessed::{WitnessedChange, WitnessedClaim, WitnessedClaims};
pub use claims::{Agent, Ask};
pub use core::admission::Load;
pub use core::inspect::Listed;
pub use core::undo::Abandoned;
pub use core::{ExchangeSettings, Ports, Settings};
pub use delegates::report::{Pending, Phase};
pub use difference::{Difference, Verdict};
pub use effects::begin::Begun;
pub use effects::plan::{Outlook, Planned};
pub use effects::refusal::{EffectTarget, Refusal};
pub use effects::supply::Supply;
pub use engine::Engine;
pub use exchange::activate::Activate;
pub use exchange::changed::Changed;
pub use exchange::components::Loaded;
pub use exchange::conformance::{Conformance, conformance};
pub use exchange::define::Define;
pub use exchange::replace_state::ReplaceState;
pub use exchange::run::ShadowReport;
pub use import::abandon::{Abandon, AbandonedMoves};
pub use import::claim::{Claim, Imported, Place};
pub use import::{Import, ImportOrigin, Importing};
pub use network::bounds::settings::SettingPattern;
pub use network::bounds::{Bounds, ConfiguredNetwork, NetworkBounds, PolicyBounds};
pub use network::demand::{Attending, Demand};
pub use network::redefine::Redefined;
pub use policy::verdicts::Verdicts;
pub use request::foresee::Foreseen;
pub use request::pipeline::Add;
pub use request::release::{CalledWith, Del, Gc};
