//! How bytes become a policy: found, verified, compiled, and cached for the next start.
//!
//! What a loaded policy may do is up to the sandbox.
//!
//! ```text
//! queue (in the background) -> bytes (source, or the kept copy) -> runtime: verify -> compile -> cache -> policy
//! ```

mod accepted;
mod bytes;
mod cache;
mod compile;
mod kept;
mod private;
mod queue;
mod release;
mod runtime;
mod signature;
mod source;
mod table;
mod verify;

pub(crate) use accepted::AcceptedReleases;
pub(crate) use bytes::{Catalogued, ComponentStore, Sources};
pub use compile::{Compiler, maybe_run_compiler_child};
pub(crate) use kept::KeptComponents;
pub(crate) use queue::{Load, Loader, apart};
pub use release::{ReleaseVersion, SignedRelease};
pub use runtime::PolicyRuntime;
pub(crate) use signature::{Trusted, Verified};
pub use signature::{TrustedKey, TrustedKeys};
pub use source::{CatalogueSource, read_component};
pub(crate) use table::{LoadFailure, LoadState, Rank};
