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

pub(crate) mod attend;
pub(crate) mod begin;
pub(crate) mod guard;
pub(crate) mod plan;
pub(crate) mod progress;
pub(crate) mod refusal;
pub(crate) mod supply;

use std::sync::Arc;

use crate::claims::AgentClaims;
use crate::core::EngineCore;
use crate::import::NetworkImports;
use crate::network::demand::Demands;

/// Owns the effects outside the ledger, and the supply that they bring.
pub(crate) struct HostEffects {
    core: Arc<EngineCore>,
    imports: Arc<NetworkImports>,
    claims: Arc<AgentClaims>,
    /// The requests that wait for supply.
    pub(crate) demands: Arc<Demands>,
}

impl HostEffects {
    pub(crate) fn new(
        core: Arc<EngineCore>,
        imports: Arc<NetworkImports>,
        claims: Arc<AgentClaims>,
        demands: Arc<Demands>,
    ) -> Self {
        Self { core, imports, claims, demands }
    }
}
