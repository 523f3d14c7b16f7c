//! The agents' socket, which exists as long as the configuration has an agent.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use tenure_conditions::Conditions;
use tenure_conditions::Report;
use tenure_engine::Engine;
use tenure_rpc::claims::{Agents, ClaimsService};
use tenure_rpc::door::Access;
use tenure_rpc::server::{self, HealthServer, HealthService, UnderWay};
use tenure_supervise::{Gate, Part};
use tenure_types::ConditionName;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::listening::Listening;
use crate::config::Config;

/// The mode of the socket's directory: every user that the socket's own mode admits can get there.
const DIRECTORY_MODE: u32 = 0o755;

/// Serves agents.
pub(crate) struct ClaimsPart {
    path: PathBuf,
    engine: Arc<Engine>,
    agents: Arc<dyn Agents>,
    health: HealthServer<HealthService>,
    config: watch::Receiver<Arc<Config>>,
    after: Gate,
    report: Report,
    under_way: UnderWay,
}

impl ClaimsPart {
    pub(crate) fn build(
        path: PathBuf,
        engine: Arc<Engine>,
        agents: Arc<dyn Agents>,
        health: HealthServer<HealthService>,
        config: watch::Receiver<Arc<Config>>,
        after: Gate,
    ) -> Self {
        let conditions: &Arc<Conditions> = engine.conditions();
        let report = Report::new(conditions, ConditionName::AgentSocketMissing);
        Self { path, engine, agents, health, config, after, report, under_way: UnderWay::default() }
    }

    /// Serves until a stop is requested or there is no agent left.
    async fn serve(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        let claims = self.config.borrow().claims.clone();
        let access =
            Access { mode: claims.mode().unwrap_or(0o600), group: claims.socket_group, anybody: true };
        let directory = self.path.parent().context("the agents' socket has no directory")?;
        fs::create_dir_all(directory)
            // Independent of the umask.
            .and_then(|()| fs::set_permissions(directory, Permissions::from_mode(DIRECTORY_MODE)))
            .with_context(|| directory.display().to_string())?;
        let listening = Listening::open_to(&self.path, access, &self.under_way, self.report.clone());
        let (_listening, calls) = listening?;
        self.report.well();
        let (ending, ends) = watch::channel(false);
        let service = ClaimsService::new(Arc::clone(&self.engine), Arc::clone(&self.agents), ends);
        let ended = async {
            tokio::select! {
                () = stop.cancelled() => {}
                _ = self.config.wait_for(|config| config.agents.is_empty()) => {}
            }
            // Watches never end by themselves.
            ending.send_replace(true);
        };
        let (agents, health) = (Arc::clone(&self.agents), self.health.clone());
        Ok(server::serve_claims(calls, agents, service, health, self.under_way.clone(), ended).await?)
    }
}

impl Part for ClaimsPart {
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        if stop.run_until_cancelled(self.after.passed()).await.is_none() {
            return Ok(());
        }
        while !stop.is_cancelled() {
            let mut config = self.config.clone();
            let has_agents = config.wait_for(|config| !config.agents.is_empty());
            if stop.run_until_cancelled(async { _ = has_agents.await }).await.is_some() {
                self.serve(stop).await?;
            }
        }
        Ok(())
    }
}
