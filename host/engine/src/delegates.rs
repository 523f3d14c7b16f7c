//! Networks whose addresses come from a delegate: another proposer, whose proposals the ledger disposes of like a policy's.
//!
//! ```text
//! key's turn ─▶ undo what is open ─▶ fact: asked ─▶ delegate (no turn, no place) ─▶ network's turn ─▶ ledger check
//!                                                                                                        │
//!                                     reply ◀── durable ◀── one group: ranges, allocation, fact: given ◀─┘
//! ```
//!
//! A delegation whose allocation is not in the book has to be undone at the delegate with DEL, for whatever reason: the call
//! failed, the caller went away, the daemon crashed, the ledger refused the answer, or the allocation was released. That is
//! derived from the facts and never recorded, so it cannot be forgotten. [`Engine::tidy`](crate::Engine::tidy) does it, and
//! nothing else is asked for the same key before.

pub(crate) mod check;
pub(crate) mod given;
pub(crate) mod identity;
mod marks;
pub(crate) mod obtain;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod settle;
pub(crate) mod tidy;
pub(crate) mod trouble;
pub(crate) mod waiting;

use std::sync::Arc;

use self::trouble::DelegateMemory;
use crate::core::EngineCore;

/// Owns the calls of delegates, and the undoing of delegations.
pub(crate) struct DelegateClient {
    core: Arc<EngineCore>,
    memory: DelegateMemory,
}

impl DelegateClient {
    pub(crate) fn new(core: Arc<EngineCore>) -> Self {
        Self { core, memory: DelegateMemory::default() }
    }
}
