//! The chapter `ledger`: a book for each network, and the rules that every proposal must pass. Ownership is decided
//! only here.
//!
//! ```text
//!             admit (checked)          release
//!   free ───────────────────▶ held ─────────────▶ cooling ──▶ free   (expire: time passes)
//!     ▲                         ▲                    │
//!     └─ never: network,        └────────────────────┘
//!        broadcast, gateway,      only if cooling is `preferred`, and no other address is left, the
//!        a draining range,        caller requests this one, or its owner's name had it last
//!        quarantine
//! ```

mod admission;
mod book;
mod changes;
mod chart;
mod cooling;
mod counts;
mod definition;
mod fact;
mod image;
mod outline;
mod quarantine;
mod remembered;
mod removed;
mod runs;
mod shared_map;
mod stock;
mod view;
mod violation;

/// The maximum number of ended claims remembered, of a network and of all that were removed. A forgotten claim is taken over again
/// by an import that still finds it; then an address is held although nobody uses it, but none is assigned twice.
const MOST_SETTLED: usize = 1 << 17;

pub use book::{Book, Repeat};
pub use changes::BookChange;
pub use cooling::CoolingAddress;
pub use definition::{Defined, InvalidDefinition, check_definition};
pub use fact::LedgerFact;
pub use image::{Image, LastAddress, Remembrance, Supplied};
pub use outline::Outline;
pub use quarantine::{
    MOST_QUARANTINED, QuarantineMark, QuarantineRefusal, QuarantineSubject, QuarantinedAddress,
};
pub use removed::{RemovedNetwork, RemovedNetworks};
pub use stock::{Direction, RangeView, Shelf, Usage};
pub use view::Standing;
pub use violation::{Conflict, Violation};
