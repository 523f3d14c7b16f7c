//! Which sandboxes there are: what the container runtime lists, and which network namespaces are to be seen.
//!
//! Unknown never means gone, and one source alone proves nothing. What both show to be gone for a while is a leak, and the engine
//! is told to free it; nothing here owns an address.
//!
//! ```text
//! netns (the kernel) ──┐
//!                      ├─▶ sandboxes ─▶ traces of each allocation ─▶ leaks ─▶ the engine
//! cri (the runtime) ───┤
//!                      └─▶ living (may anybody live whom nobody knows?) ◀── strangers (every namespace of the node)
//! ```

mod cri;
#[cfg(test)]
mod fake;
mod leaks;
mod living;
pub mod netns;
mod sandboxes;
mod strangers;
mod traces;
mod v1;

pub use cri::Runtime;
pub use leaks::Leaks;
pub use living::who_may_live;
pub use sandboxes::Sandboxes;
pub use traces::{Trace, Traces};
