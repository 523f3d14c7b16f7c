//! The wing of container runtimes: the plugin's socket, and the record of decisions that is made behind it.

use std::sync::Arc;

use tenure_supervise::{Gate, Handle, Supervisor};

use super::ledger::LedgerWing;
use super::networks::NetworksWing;
use super::spine::{CNI_SOCKET, Spine};
use crate::parts;

/// The plugin's socket.
pub(super) struct CniWing {
    pub(super) part: Handle,
    /// Opens once the socket exists.
    pub(super) listens: Gate,
}

pub(super) fn add(
    parts: &mut Supervisor,
    spine: &Spine,
    ledger: &LedgerWing,
    networks: &NetworksWing,
) -> CniWing {
    let decisions = parts::DecisionsPart::build(
        Arc::clone(&spine.decisions),
        Arc::clone(&spine.engine),
        spine.config.clone(),
    );
    let decisions = parts.restarted("decisions", decisions, &[]);
    let cni = parts::CniPart::build(
        spine.run_dir.join(CNI_SOCKET),
        spine.cni.clone(),
        Arc::clone(&spine.policies),
        spine.engine.conditions(),
        [ledger.replayed.clone(), networks.tried.clone(), spine.held_back.clone()],
    );
    let listens = cni.listening();
    let needs = [ledger.undo, ledger.spool, networks.configured, decisions];
    CniWing { part: parts.essential("cni", cni, &needs), listens }
}
