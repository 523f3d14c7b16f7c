//! The node's side: what its agent does with hints, marks and what it reads from the API server.
//!
//! ```text
//!                                   mark, in use, cooling, ...: refused(reason); nothing recorded
//!                                  ┌──────┐
//!          accept                  │      ▼   mark, drain, not empty            GET: no mark
//!   (none) ───────────────────────▶ open ───────────────────────────▶ cordoned ─────────────▶ open
//!     ▲                            │   ▲                                 │ empty
//!     │                            │   │ GET: same uid, no mark,         ▼
//!     │  GET: 404 or another uid   └───┼─────────────────────────────▶ frozen ── another mark ──▶ frozen for that one
//!     └────────────────────────────────┼── tombstone ────────────────────┘
//!                                      │
//!   open, GET: another holder's ─▶ contested ── GET: its own again ──▶ open
//!   ledger lost ─▶ doubted ── the node's pods are known ──▶ open
//! ```
//!
//! Durable before each arrow's effect outside of the node: the ledger's record of the new state. Freezing checks and records in one critical
//! section of the book, so that no address is handed out in between.

pub mod accept;
pub mod compare;
pub mod demand;
pub mod ledger;
pub mod lost;
pub mod mark;
pub mod settings;
pub mod time;
pub mod tombstones;
pub mod turn;
pub mod words;
