//! The wing of agents: their socket, and the end of claims whose agents are gone.

use std::sync::Arc;

use tenure_rpc::server::{HealthServer, HealthService};
use tenure_supervise::Supervisor;
use tenure_types::AgentName;

use super::ledger::LedgerWing;
use super::networks::NetworksWing;
use super::spine::Spine;
use crate::agents::ConfiguredAgents;
use crate::parts;

pub(super) fn add(
    parts: &mut Supervisor,
    spine: &Spine,
    ledger: &LedgerWing,
    networks: &NetworksWing,
    health: HealthServer<HealthService>,
) {
    let Spine { engine, config, .. } = spine;
    let claims = Arc::clone(engine);
    let may_have_called = move |agent: &AgentName| claims.may_have_called(agent);
    let agents = ConfiguredAgents::new(config.clone(), spine.runtime.clone(), may_have_called);
    let agents = Arc::new(agents);
    let claims = parts::ClaimsPart::build(
        spine.run_dir.join(tenure_rpc::AGENT_SOCKET),
        Arc::clone(engine),
        agents,
        health,
        config.clone(),
        ledger.replayed.clone(),
    );
    parts.restarted("claims", claims, &[ledger.undo, networks.configured]);
    parts.restarted("lapses", parts::LapsesPart::build(Arc::clone(engine)), &[ledger.undo]);
}
