//! The configuration while the daemon runs: read again, compared key by key, and put in force where that can be done.
//!
//! A file that is wrong changes nothing. A key that holds only after a restart keeps its value until then, and is told.

use std::path::PathBuf;
use std::sync::Arc;

use tenure_engine::Engine;
use tenure_observe::logging::Control;
use tenure_policy::Policies;
use tenure_rpc::admin::Reloaded;
use tenure_rpc::cni::CniService;
use tenure_types::{ConditionName, Error, ErrorCode};
use tokio::sync::{Mutex, watch};

use crate::config::Config;
use crate::parts::{NetworkSetup, Report};
use crate::policies;

/// What a new configuration changes.
pub(crate) struct Live {
    /// The file, unless it is the default one.
    pub(crate) path: Option<PathBuf>,
    /// What is in force.
    pub(crate) config: watch::Sender<Arc<Config>>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) policies: Arc<Policies>,
    pub(crate) cni: CniService,
    pub(crate) log: Control,
    pub(crate) networks: Arc<NetworkSetup>,
    /// Held while the file is read and put in force.
    pub(crate) turn: Mutex<()>,
}

impl Live {
    /// Reads the configuration again and puts it in force.
    ///
    /// # Errors
    /// `InvalidConfig` with the file, the key and what is wrong; then nothing has changed.
    pub(crate) async fn reload(&self) -> Result<Reloaded, Error> {
        let report = Report::new(self.engine.conditions(), ConditionName::ConfigurationRefused);
        // Of two files that are read one after the other, the later one is in force.
        let turn = self.turn.lock().await;
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || Config::read(path.as_deref())).await;
        let read = read.map_err(|error| Error::new(ErrorCode::Internal, error))?;
        let read =
            read.map_err(|error| Error::new(ErrorCode::InvalidConfig, error)).inspect_err(|error| {
                tracing::error!(
                    cause = error.cause,
                    "the configuration is not reloaded: nothing has changed"
                );
                report.wrong(format!("the configuration was read again and refused: {error}"));
            })?;
        let (applied, after_restart) = self.put_in_force(&read);
        drop(turn);
        report.well();
        let failed = self.networks.bring_about(&self.config.subscribe()).await;
        let problems =
            failed.iter().map(|(network, error)| (format!("networks.{network}"), error.to_string()));
        let problems = problems.collect();
        tracing::info!(
            applied = applied.join(", "),
            after_restart = after_restart.join(", "),
            "reloaded the configuration"
        );
        Ok(Reloaded { applied, after_restart, problems })
    }

    /// Changes what can change now; returns the keys that have, and those that hold only after a restart.
    fn put_in_force(&self, read: &Config) -> (Vec<String>, Vec<String>) {
        let before = Arc::clone(&self.config.borrow());
        let now = read.clone().on_top_of(&before);
        let (applied, after_restart) = (before.differences(&now), now.differences(read));
        if before.policies != now.policies {
            self.policies.set_files(policies::files(&now));
        }
        let mut settings = now.settings();
        let bounds = Arc::clone(&self.engine.settings().bounds);
        if settings.bounds == bounds {
            // The same ones were looked at already.
            settings.bounds = bounds;
        }
        self.engine.set(settings);
        self.cni.ignore_host_local(now.host_local.ignore);
        self.log.set(now.log.level.clone());
        self.config.send_replace(Arc::new(now));
        (applied, after_restart)
    }
}
