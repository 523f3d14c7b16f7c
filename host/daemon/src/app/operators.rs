//! The wing of operators and service managers: administration, health, metrics, readiness, and the reload of the configuration.

use std::sync::Arc;

use tenure_rpc::admin::AdminService;
use tenure_rpc::server::{self, HealthServer, HealthService};
use tenure_supervise::{Handle, Supervisor};

use super::ledger::LedgerWing;
use super::networks::NetworksWing;
use super::runtimes::CniWing;
use super::spine::Spine;
use crate::node::DaemonNode;
use crate::parts::{self, ReloadRequests};

/// The service of `grpc.health.v1`.
pub(super) struct Health {
    part: Handle,
    service: HealthServer<HealthService>,
}

impl Health {
    pub(super) fn service(&self) -> HealthServer<HealthService> {
        self.service.clone()
    }
}

/// Adds what finds out how healthy the node is.
pub(super) fn health(parts: &mut Supervisor, spine: &Spine, ledger: &LedgerWing) -> Health {
    let (reporter, service) = server::health();
    let health = parts::HealthPart::build(reporter, Arc::clone(&spine.engine));
    Health { part: parts.restarted("health", health, &[ledger.checkpoint]), service }
}

/// The wings that operators reach.
pub(super) struct OperatorAccess<'a> {
    pub(super) ledger: &'a LedgerWing,
    pub(super) networks: &'a NetworksWing,
    pub(super) cni: CniWing,
    pub(super) health: Health,
}

pub(super) fn add(
    parts: &mut Supervisor,
    spine: &Spine,
    reached: OperatorAccess<'_>,
    node: &Arc<DaemonNode>,
    reloads: ReloadRequests,
) {
    let OperatorAccess { ledger, networks, cni, health } = reached;
    let service = AdminService::new(Arc::clone(&spine.engine), Arc::clone(node) as _);
    let admin = parts::AdminPart::build(
        spine.run_dir.join("admin.sock"),
        service,
        health.service,
        spine.engine.conditions(),
        ledger.replayed.clone(),
    );
    let admin_listens = admin.listening();
    let admin = parts.essential("admin", admin, &[ledger.undo, health.part]);
    let ready = parts::ReadyPart::build(cni.listens, admin_listens, Arc::clone(&spine.policies));
    parts.finite("ready", ready, &[cni.part, admin]);
    let reload = parts::ReloadPart::build(reloads, Arc::clone(&spine.live));
    parts.restarted("reload", reload, &[networks.configured]);
    if let Some(address) = spine.config.borrow().metrics.listen.clone() {
        let metrics = parts::MetricsPart::build(address, Arc::clone(node), Arc::clone(&spine.metrics));
        parts.restarted("metrics", metrics, &[ledger.checkpoint]);
    }
}
