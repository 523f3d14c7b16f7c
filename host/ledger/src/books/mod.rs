//! The chapter `ledger`: a book for each network, and the rules that every proposal passes. The only place that decides ownership.
//!
//! ```text
//!             admit (checked)          release
//!   free ───────────────────▶ held ─────────────▶ cooling ──▶ free   (expire: time passes)
//!     ▲                         ▲                    │
//!     └─ never: network,        └────────────────────┘
//!        broadcast, gateway,      only where cooling is `preferred` and nothing else is left,
//!        a draining range         or where the caller insists on the address
//! ```

mod admission;
mod book;
mod chart;
mod cooling;
mod counts;
mod definition;
mod fact;
mod image;
mod remembered;
mod renewal;
mod runs;
mod stock;
mod takeover;
mod view;
mod violation;

pub use book::Book;
pub use definition::{Defined, InvalidDefinition, check_definition};
pub use fact::LedgerFact;
pub use image::{Image, LastAddress, Remembrance, Supplied};
pub use renewal::Repeat;
pub use stock::{RangeView, Shelf, Usage};
pub use view::{Direction, Standing};
pub use violation::{Conflict, Violation};
