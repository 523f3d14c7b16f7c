//! Live policies: which component serves a network, and how one replaces another under load.
//!
//! ```text
//!  load ─▶ conformance ─▶ shadow ─▶ exchange ─▶ watch ─▶ kept
//!            │ fails        │ ends     │ not durable  │ does worse
//!            ▼              ▼          ▼              ▼
//!          refused       nothing     undone       rolled back
//! ```
//!
//! Each step is a fact of the chapter `choices` and a line of the network's history. A failed step leaves the policy
//! before it serving. Nothing here runs in the path of a request, except that a watched network's failures are
//! repeated with the policy before, and that a shadowed network's requests are noted in a bounded queue.

mod activate;
mod changed;
mod components;
pub(crate) mod conformance;
mod exchange;
mod follower;
mod history;
mod inherit;
mod judge;
mod replace_state;
mod rollback;
mod run;
mod shadow;
mod shadows;
mod tend;
mod verdicts;
mod vetted;
mod vetting;
mod watch;
mod words;

pub use self::activate::Activate;
pub use self::changed::Changed;
pub use self::components::Loaded;
pub use self::replace_state::ReplaceState;
pub use self::run::ShadowReport;
pub(crate) use self::run::{Reports, Runs};
pub(crate) use self::shadows::Shadows;
pub use self::verdicts::Verdicts;
pub(crate) use self::vetted::Vetting;
pub(crate) use self::watch::Watch;
