//! Runs the agent that leases blocks of a cluster, and tells the rest of the daemon how it fares.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_cluster::agent::{Agent, AgentHandle, AgentSettings, boot_of, hold_back, machine_of};
use tenure_cluster::pods::KnownPodLabels;
use tenure_conditions::{Conditions, Report};
use tenure_engine::Engine;
use tenure_engine::ports::Clock;
use tenure_supervise::{Gate, Part, beat};
use tenure_types::{ConditionName, NetworkName, NodeIdentity};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::timer::TokioTimer;
use crate::cluster::ClusterAgent;
use crate::config::ClusterTable;
use crate::pods::PodDoor;

/// How often to look how the agent fares.
const EVERY: Duration = Duration::from_secs(1);

/// How long to wait before connecting is tried again, such as with a kubeconfig that is not there yet.
const AGAIN: Duration = Duration::from_secs(5);

/// The inputs of the part.
pub(crate) struct ClusterInputs {
    pub(crate) config: ClusterTable,
    pub(crate) identity: NodeIdentity,
    pub(crate) engine: Arc<Engine>,
    pub(crate) clock: Arc<dyn Clock>,
    /// The labels of the node's pods.
    pub(crate) pods: Option<Arc<PodDoor>>,
    /// Opens once no address can come from a block of an earlier boot that is not confirmed.
    pub(crate) held_back: Gate,
    /// Opens once the state is the node's. Its confirmation holds the blocks back by itself.
    pub(crate) confirmed: Gate,
    /// Handle to the agent, as long as one runs.
    pub(crate) handle: watch::Sender<Option<ClusterAgent>>,
}

/// The agent that leases blocks of a cluster.
pub(crate) struct ClusterPart {
    given: ClusterInputs,
    unreachable: Report,
    missing: Report,
    waited: Report,
    conflict: Report,
    differs: Report,
}

impl ClusterPart {
    pub(crate) fn build(given: ClusterInputs, conditions: &Arc<Conditions>) -> Self {
        let report = |name| Report::new(conditions, name);
        Self {
            given,
            unreachable: report(ConditionName::ClusterUnreachable),
            missing: report(ConditionName::BlocksMissing),
            waited: report(ConditionName::BlockWaited),
            conflict: report(ConditionName::LeaseConflict),
            differs: report(ConditionName::PoolsDiffer),
        }
    }

    async fn serve(&self) -> anyhow::Result<()> {
        let ClusterInputs { engine, clock, identity, .. } = &self.given;
        let (networks, boot) = (self.given.config.leasing(), boot_of(&identity.boot).ok());
        while self.given.confirmed.is_open()
            && let Err(error) = hold_back(engine, networks.keys(), boot).await
        {
            tracing::error!(%error, "the blocks of an earlier boot cannot be held back, so no pod is served yet");
            sleep(AGAIN).await;
        }
        self.given.held_back.open();
        let settings = match self.settings(networks) {
            Ok(settings) => settings,
            Err(why) => {
                // Nothing changes about it while the daemon runs, and other networks do not wait for it.
                self.unreachable.wrong(why);
                return std::future::pending().await;
            }
        };
        let agent = loop {
            let (engine, clock) = (Arc::clone(engine), Arc::clone(clock));
            let pods = self.given.pods.clone().map(|pods| pods as Arc<dyn KnownPodLabels>);
            let connected = Agent::connect(engine, clock, Arc::new(TokioTimer), settings.clone(), pods).await;
            match connected {
                Ok(agent) => break agent,
                Err(error) => {
                    self.unreachable.wrong(error.to_string());
                    sleep(AGAIN).await;
                }
            }
        };
        let handle = agent.handle();
        self.given.handle.send_replace(Some(handle.clone()));
        tokio::select! {
            failure = agent.run(Box::pin(self.given.confirmed.passed())) => Err(failure.into()),
            () = self.tell(&handle) => Ok(()),
        }
    }

    /// The agent's settings.
    fn settings(&self, networks: BTreeMap<NetworkName, Vec<String>>) -> Result<AgentSettings, String> {
        let ClusterInputs { config, identity, clock, .. } = &self.given;
        let (machine, boot) = machine_of(identity).map_err(|error| {
            format!("this machine cannot be told from others: {error}; set `node.machine_id` and `node.system_uuid`")
        })?;
        Ok(AgentSettings {
            kubeconfig: config.kubeconfig.clone(),
            node: identity.name.clone(),
            machine,
            boot,
            networks,
            preallocation: config.preallocation,
            release_seconds: config.release_seconds,
            write_every: Duration::from_secs(config.write_seconds.into()),
            seed: clock.now().boot_ns ^ u64::from(std::process::id()),
        })
    }

    /// Reports how the agent fares.
    async fn tell(&self, handle: &AgentHandle) {
        loop {
            let status = handle.status().await;
            match &status.trouble {
                None => self.unreachable.well(),
                Some(trouble) => self.unreachable.wrong(trouble.clone()),
            }
            match status.without_blocks().as_slice() {
                [] => self.missing.well(),
                networks => self.missing.wrong(format!("no block yet for network {}", networks.join(", "))),
            }
            match &status.waits_for {
                None => self.waited.well(),
                Some((reason, message)) => self.waited.wrong(format!("{reason}: {message}")),
            }
            match status.contested().as_slice() {
                [] => self.conflict.well(),
                blocks => self.conflict.wrong(format!("another holder is named for {}", blocks.join(", "))),
            }
            match status.differences.as_slice() {
                [] => self.differs.well(),
                differences => self.differs.wrong(differences.join("; ")),
            }
            beat(EVERY).await;
        }
    }
}

impl Part for ClusterPart {
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        let ended = stop.run_until_cancelled(self.serve()).await.unwrap_or(Ok(()));
        self.given.handle.send_replace(None);
        ended
    }
}
