//! The operators' socket: administration, gRPC health, and reflection.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use tenure_conditions::Conditions;
use tenure_conditions::Report;
use tenure_rpc::admin::AdminService;
use tenure_rpc::server::{self, HealthServer, HealthService, UnderWay};
use tenure_supervise::{Gate, Part};
use tenure_types::ConditionName;
use tokio_util::sync::CancellationToken;

use super::listening::Listening;

/// Serves operators.
pub(crate) struct AdminPart {
    path: PathBuf,
    services: Option<(AdminService, HealthServer<HealthService>)>,
    after: Gate,
    report: Report,
    under_way: UnderWay,
    listening: Gate,
}

impl AdminPart {
    pub(crate) fn build(
        path: PathBuf,
        service: AdminService,
        health: HealthServer<HealthService>,
        conditions: &Arc<Conditions>,
        after: Gate,
    ) -> Self {
        let report = Report::new(conditions, ConditionName::AdminSocketMissing);
        let (under_way, listening) = (UnderWay::default(), Gate::default());
        Self { path, services: Some((service, health)), after, report, under_way, listening }
    }

    /// Opens once the socket exists.
    pub(crate) fn listening(&self) -> Gate {
        self.listening.clone()
    }
}

impl Part for AdminPart {
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        if stop.run_until_cancelled(self.after.passed()).await.is_none() {
            return Ok(());
        }
        let (service, health) = self.services.take().context("it can run only once")?;
        let (_listening, calls) = Listening::at(&self.path, &self.under_way, self.report.clone())?;
        self.listening.open();
        Ok(server::serve_admin(calls, service, health, self.under_way.clone(), stop.cancelled()).await?)
    }
}
