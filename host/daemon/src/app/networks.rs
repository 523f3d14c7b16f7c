//! The wing of networks and their policies: the configuration, its policy files, the node's CNI configurations, and exchanges.

use std::sync::Arc;

use tenure_supervise::{Gate, Handle, Supervisor};

use super::ledger::LedgerWing;
use super::spine::Spine;
use crate::parts;

/// The networks of the configuration.
pub(super) struct NetworksWing {
    pub(super) configured: Handle,
    /// Opens once each network of the configuration has been tried.
    pub(super) tried: Gate,
}

pub(super) fn add(parts: &mut Supervisor, spine: &Spine, ledger: &LedgerWing) -> NetworksWing {
    let Spine { engine, config, .. } = spine;
    let followed = parts::PolicyFilesPart::build(Arc::clone(&spine.files), config.clone());
    let named = followed.read();
    parts.restarted("policy-files", followed, &[ledger.undo]);
    parts.restarted("vetting", parts::VettingPart::build(Arc::clone(engine)), &[]);
    let networks = parts::NetworksPart::build(Arc::clone(&spine.networks), config.clone(), named);
    let tried = networks.tried();
    let configured = parts.restarted("networks", networks, &[ledger.checkpoint]);
    let files = parts::CniFilesPart::build(
        spine.cni.clone(),
        config.clone(),
        engine.conditions(),
        ledger.replayed.clone(),
    );
    parts.restarted("cni-files", files, &[ledger.undo, configured]);
    let exchanges = parts::ExchangesPart::build(Arc::clone(engine));
    parts.restarted("exchanges", spine.state_seen.confirmed().before(exchanges), &[ledger.undo]);
    parts.restarted("delegates", parts::DelegatesPart::build(Arc::clone(engine)), &[ledger.undo]);
    NetworksWing { configured, tried }
}
