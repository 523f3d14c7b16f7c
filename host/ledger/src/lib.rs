//! The book of who owns which address: pure state, and the invariants that every proposal passes.
//!
//! The ledger does no I/O, reads no clock and holds no lock: the same records applied in the same order
//! make the same book, on a running node, after a crash and in a test. It is the only place that decides ownership.
//!
//! ```text
//!             admit (checked)          release
//!   free ───────────────────▶ held ─────────────▶ cooling ──▶ free   (expire: time passes)
//!     ▲                         ▲                    │
//!     └─ never: network,        └────────────────────┘
//!        broadcast, gateway       only where cooling is `preferred` and nothing else is left,
//!                                 or where the caller insists on the address
//! ```

mod book;
mod chart;
mod definition;
mod image;
mod renewal;
mod runs;
mod takeover;
mod view;
mod violation;

pub use book::Book;
pub use definition::{InvalidDefinition, check_definition};
pub use image::Image;
pub use renewal::Repeat;
pub use view::{Direction, Standing, Usage};
pub use violation::{Conflict, Violation};
