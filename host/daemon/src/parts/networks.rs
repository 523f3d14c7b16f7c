//! The networks of the configuration: defines them at the start and after each reload, and retries those that fail.

use std::sync::Arc;
use std::time::Duration;

use tenure_conditions::Report;
use tenure_engine::{Define, Engine};
use tenure_supervise::{Gate, Interruptible};
use tenure_types::{ConditionName, Definer, Error, ErrorCode, NetworkName};
use tokio::sync::{Mutex, watch};
use tokio::time::{sleep, timeout};

use crate::config::Config;
use crate::state_seen::StateSeen;

/// The first pause before retrying a network that could not be defined; each retry doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Defines networks according to a configuration.
pub(crate) struct NetworkSetup {
    engine: Arc<Engine>,
    state_seen: Arc<StateSeen>,
    report: Report,
    /// Held while networks are being defined, so that the later of two configurations wins.
    turn: Mutex<()>,
}

impl NetworkSetup {
    pub(crate) fn new(engine: Arc<Engine>, state_seen: Arc<StateSeen>) -> Self {
        let report = Report::new(engine.conditions(), ConditionName::NetworkUndefined);
        Self { engine, state_seen, report, turn: Mutex::default() }
    }

    /// Defines the networks of the current configuration, and leaves to the operator those that it no longer defines. Reports and
    /// returns the networks for which that failed.
    pub(crate) async fn bring_about(
        &self,
        config: &watch::Receiver<Arc<Config>>,
    ) -> Vec<(NetworkName, Error)> {
        let _turn = self.turn.lock().await;
        let config = Arc::clone(&config.borrow());
        let mut failed = Vec::new();
        for (network, table) in config.definitions() {
            let define = Define {
                network,
                policy: table.policy,
                config: table.config,
                by: Definer::Configuration,
                apply: true,
                change_ranges: true,
            };
            if let Err(error) = self.define(&define).await {
                failed.push((define.network, error));
            }
        }
        for network in self.engine.network_names() {
            if !self.state_seen.is_lost()
                && !config.defines(&network)
                && let Err(error) = self.engine.leave_to_operator(&network).await
            {
                failed.push((network, error));
            }
        }
        self.report.wrong_with(failed.iter().map(|(network, error)| {
            let message = format!("networks.{network}: {}: {error}", error.code);
            (network.to_string(), message)
        }));
        failed
    }

    async fn define(&self, define: &Define) -> Result<(), Error> {
        // Nothing may be written to an unconfirmed state: its first fact would supersede the right state, which may come back.
        if self.state_seen.is_lost() {
            let cause =
                "the state was lost; the network will be defined once the state is restored or confirmed";
            return Err(Error::new(ErrorCode::NotReady, cause));
        }
        self.engine.define_network(define).await.map(drop)
    }
}

/// The part that defines the networks again whenever the configuration changes.
pub(crate) struct NetworksPart {
    setup: Arc<NetworkSetup>,
    config: watch::Receiver<Arc<Config>>,
    /// Opens once the names of policies stand for something.
    named: Gate,
    tried: Gate,
}

impl NetworksPart {
    pub(crate) fn build(setup: Arc<NetworkSetup>, config: watch::Receiver<Arc<Config>>, named: Gate) -> Self {
        Self { setup, config, named, tried: Gate::default() }
    }

    /// Opens once each network has been tried.
    pub(crate) fn tried(&self) -> Gate {
        self.tried.clone()
    }
}

impl Interruptible for NetworksPart {
    async fn work(&mut self) {
        // A file that cannot be read delays only the networks that need it.
        let _ = timeout(FIRST_PAUSE, self.named.passed()).await;
        let mut pause = FIRST_PAUSE;
        loop {
            self.config.mark_unchanged();
            let was_lost = self.setup.state_seen.is_lost();
            let failed = self.setup.bring_about(&self.config).await;
            self.tried.open();
            let changed = tokio::select! {
                changed = self.config.changed() => changed.is_ok(),
                () = self.setup.state_seen.confirmed().passed(), if was_lost => true,
                () = sleep(pause), if was_lost || !failed.is_empty() => false,
            };
            pause = if changed { FIRST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
        }
    }
}
