//! Effects: what policies want done outside the ledger, from a plan to its end.
//!
//! ```text
//! an ADD finds nothing ─▶ demand ─▶ plan ─▶ guard ─▶ intent, durable ─▶ whoever carries effects out ─▶ reached … ─▶ done
//!        ▲                                (refused, with the reason)                                           │
//!        └──────────────────────── woken by the new ranges, which are one group with the end of the intent ◀───┘
//! ```
//!
//! The host may begin effects without a plan, such as when a cluster asks for a block back: the same guard judges them.
//!
//! The engine carries nothing out itself. A part of the daemon plugs in as the [`Outside`](crate::ports::Outside).

mod attend;
mod begin;
mod demand;
mod guard;
mod plan;
mod progress;
mod refusal;

pub use self::begin::Begun;
pub(crate) use self::demand::Demands;
pub use self::demand::{Attending, Demand};
pub(crate) use self::guard::taker;
pub use self::plan::{Outlook, Planned};
pub use self::refusal::{EffectTarget, Refusal};
