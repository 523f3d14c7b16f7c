//! The composition root: builds the spine, then each wing on it, and runs their parts.

mod agents;
mod ledger;
mod networks;
mod operators;
mod runtimes;
mod sandboxes;
mod spine;
mod supply;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tenure_conditions::Conditions;
use tenure_observe::Metrics;
use tenure_observe::logging::Control;
use tenure_policy::Compiler;
use tenure_supervise::{Signals, Supervisor};
use tenure_types::{Clock, ConditionName, NodeIdentity, PolicyStamp};

use self::operators::OperatorAccess;
use self::spine::Spine;
use crate::config::{Config, ConfigFile};
use crate::identity;
use crate::live::Live;
use crate::parts::ReloadRequests;
use crate::state::{Directories, RecoveredState};

/// How long the other parts have to stop after an essential one failed. Requests in flight fail anyway, and the service
/// manager waits to restart the daemon.
const AFTER_FAILURE: Duration = Duration::from_millis(300);

/// The daemon's inputs other than its configuration.
pub(crate) struct Surroundings<'a> {
    /// The configuration's file.
    pub(crate) config_file: Arc<ConfigFile>,
    pub(crate) run_dir: &'a Path,
    pub(crate) state_dir: &'a Path,
    pub(crate) identity: NodeIdentity,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) compiler: Compiler,
    pub(crate) log: Control,
    /// Requests to reload the configuration.
    pub(crate) reloads: ReloadRequests,
}

/// The daemon, built and not started.
pub(crate) struct App {
    parts: Supervisor,
    conditions: Arc<Conditions>,
    live: Arc<Live>,
    /// The policies that served networks before, which are loaded first.
    serving: Vec<PolicyStamp>,
    /// Released last.
    _directories: Directories,
}

impl App {
    /// Builds each wing from the configuration and from the wings that it needs. Each adds its parts, and returns what later ones need.
    ///
    /// # Errors
    /// If the state cannot be trusted, a directory cannot be used, or this machine cannot provide what is configured.
    pub(crate) fn build(config: Config, mut outside: Surroundings<'_>) -> anyhow::Result<Self> {
        let metrics = Arc::new(Metrics::new(env!("CARGO_PKG_VERSION")));
        let Surroundings { run_dir, state_dir, identity, clock, .. } = &outside;
        let source = identity::boot_source(&config.node, identity.boot.clone());
        let state = RecoveredState::recover(run_dir, state_dir, source, clock.as_ref(), &metrics)?;
        outside.identity.boot = state.boot.clone();
        let (spine, durable) = Spine::build(config, outside, state, metrics)?;
        let mut parts = Supervisor::new(spine.engine.conditions());

        let ledger = ledger::add(&mut parts, &spine, durable.writer, durable.abandoned);
        let networks = networks::add(&mut parts, &spine, &ledger);
        let cni = runtimes::add(&mut parts, &spine, &ledger, &networks);
        let health = operators::health(&mut parts, &spine, &ledger);
        agents::add(&mut parts, &spine, &ledger, &networks, health.service());
        let supplied = supply::add(&mut parts, &spine, &ledger, &networks);
        let node = spine.node(supplied);
        sandboxes::add(&mut parts, &spine, &ledger, &node);
        let reached = OperatorAccess { ledger: &ledger, networks: &networks, cni, health };
        operators::add(&mut parts, &spine, reached, &node, durable.reloads);

        let Spine { engine, live, serving, .. } = spine;
        let conditions = Arc::clone(engine.conditions());
        Ok(Self { parts, conditions, live, serving, _directories: durable.directories })
    }

    /// Serves until a signal stops it, and then lets the requests in flight finish.
    ///
    /// # Errors
    /// [`PartEnded`](tenure_supervise::PartEnded) if an essential part ended.
    pub(crate) async fn run(self, signals: &mut Signals) -> anyhow::Result<()> {
        // Compile policies ahead, so that no pod waits for it; `tenurectl policy list` shows those that cannot be loaded.
        self.live.policies.begin(self.serving);
        let mut parts = self.parts.start();
        let ended = tokio::select! {
            signal = signals.stop() => {
                tracing::info!("{signal}: draining");
                Ok(())
            }
            ended = parts.failed() => {
                tracing::error!(part = ended.name, why = format!("{:#}", ended.why), "stopping: an essential part has ended");
                Err(ended)
            }
        };
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
        self.conditions.set(ConditionName::Stopping, "", "the daemon is stopping");
        let deadline = match &ended {
            Ok(()) => Duration::from_secs(self.live.config.borrow().limits.drain_seconds.into()),
            Err(_) => AFTER_FAILURE,
        };
        let cut_off = parts.stop(deadline).await;
        if !cut_off.is_empty() {
            tracing::warn!(parts = cut_off.join(", "), "aborted parts that did not stop in time");
        }
        tracing::info!("stopped");
        Ok(ended?)
    }
}

#[cfg(test)]
mod tests;
