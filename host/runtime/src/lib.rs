//! Which sandboxes exist: what the container runtime lists, which network namespaces exist, and which pods the API server has.
//!
//! Unknown never means gone, and one source alone proves nothing. An allocation whose sandbox the runtime and another source report as
//! gone for a while is a leak, which the engine frees; nothing here owns an address.
//!
//! ```text
//! pods (the API server) ┐
//! netns (the kernel) ──┐│
//!                      ├┴▶ sandboxes ─▶ evidence ─▶ leaks ─▶ the engine
//! cri (the runtime) ───┤
//!                      ├─▶ living (may unknown containers be running?) ◀── strangers (all namespaces of the node)
//!                      └─▶ addresses (of running pods)
//! ```

mod addresses;
mod cri;
mod doubts;
mod evidence;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
mod gone;
mod last_reads;
mod leaks;
mod listed;
mod living;
pub mod netns;
mod pods;
mod predecessors;
mod sandboxes;
mod strangers;
mod v1;

pub use addresses::Addresses;
pub use cri::{PodName, Runtime};
pub use evidence::{SandboxEvidence, SandboxStanding, WitnessVerdict};
pub use leaks::Leaks;
pub use listed::{ListedSandbox, SandboxList};
pub use living::who_may_live;
pub use pods::{PodReport, PodWitness};
pub use sandboxes::Sandboxes;
