//! The daemon's facts about itself, for operators and scrapers.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tenure_aws::executor::Handle;
use tenure_checkpoint::{Disk, FileDisk, recover_read_only};
#[cfg(feature = "cluster")]
use tenure_cluster::agent::{boot_of, hold_back, note_loss};
#[cfg(feature = "cluster")]
use tenure_cluster::pods::PodFigures;
use tenure_engine::Engine;
use tenure_engine::ports::Clock;
use tenure_ledger::{Book, Shelf};
#[cfg(feature = "cluster")]
use tenure_observe::PodWatchFigures;
use tenure_observe::http::Readiness;
use tenure_observe::{Metrics, NetworkFigures, PoolFigures};
use tenure_rpc::admin::Reloaded;
use tenure_rpc::v1::{CheckClusterAccessResponse, ExplainPlanResponse, GetClusterResponse};
use tenure_runtime::{Addresses, Runtime, SandboxEvidence, Sandboxes};
use tenure_types::{Allocation, BootId, ConditionName, Error, ErrorCode, NetworkName, Severity};
use tokio::sync::watch;

use crate::aws::in_use;
use crate::clock::KernelClock;
use crate::cloud::{AwsCloud, explained};
use crate::cluster::{self, ClusterAgent};
use crate::live::Live;
#[cfg(feature = "cluster")]
use crate::pods::PodDoor;
use crate::state_seen::StateSeen;

/// One node.
pub(crate) struct DaemonNode {
    /// The node's name, which is that of its Node.
    pub(crate) name: String,
    pub(crate) engine: Arc<Engine>,
    pub(crate) disk: Arc<FileDisk>,
    pub(crate) boot: BootId,
    pub(crate) started: Duration,
    pub(crate) state_seen: Arc<StateSeen>,
    /// Whether the claims of agents outlived the state, if it is lost.
    pub(crate) knows_claims: bool,
    /// Held while a lost state is confirmed: a second confirmation at the same time would end claims that were made after the first.
    pub(crate) adopting: tokio::sync::Mutex<()>,
    pub(crate) sandboxes: Sandboxes,
    /// The container runtime, if one is configured.
    pub(crate) runtime: Option<Runtime>,
    /// The API server as a witness of the node's pods, if it is asked.
    #[cfg(feature = "cluster")]
    pub(crate) pods: Option<Arc<PodDoor>>,
    pub(crate) live: Arc<Live>,
    /// The executor of plans about cloud interfaces, while one runs.
    pub(crate) cloud: watch::Receiver<Option<Handle>>,
    /// The agent that leases blocks of a cluster, while one runs.
    pub(crate) cluster: watch::Receiver<Option<ClusterAgent>>,
}

impl DaemonNode {
    /// The cloud interfaces, if the node uses any and it is known which.
    fn cloud(&self) -> Result<AwsCloud<'_>, Error> {
        if self.live.config.borrow().aws.network.is_none() {
            return Err(Error::new(ErrorCode::NoCloud, "this node uses no cloud interfaces"));
        }
        let handle = self.cloud.borrow().clone();
        let handle = handle.ok_or_else(|| {
            Error::new(
                ErrorCode::NotReady,
                "it is not known yet which instance this is; see `tenurectl status`",
            )
        })?;
        Ok(AwsCloud { handle, engine: &self.engine })
    }

    /// The agent that leases blocks of a cluster, if the node leases any and it is connected.
    fn agent(&self) -> Result<ClusterAgent, Error> {
        if self.live.config.borrow().cluster.networks.is_empty() {
            return Err(Error::new(ErrorCode::NoCluster, "this node leases no blocks of a cluster"));
        }
        let agent = self.cluster.borrow().clone();
        agent.ok_or_else(|| {
            Error::new(
                ErrorCode::NotReady,
                "the agent is not connected to the API server; see `tenurectl status`",
            )
        })
    }

    /// Confirms the current state after a loss, so that ADD is served again. Returns whether it was lost.
    pub(crate) async fn adopt(&self) -> Result<bool, Error> {
        let _alone = self.adopting.lock().await;
        #[cfg(feature = "cluster")]
        if self.state_seen.is_lost() {
            self.adopt_leases().await?;
        }
        if self.state_seen.is_lost() && self.knows_claims {
            self.engine.end_unwitnessed().await?;
        }
        let adopted = self.state_seen.adopt();
        let was_lost = adopted.map_err(|error| Error::new(ErrorCode::InputOutput, error))?;
        if was_lost {
            self.engine.conditions().clear(ConditionName::StateLost, "");
            self.state_seen.confirmed().open();
            tracing::warn!("confirmed the current state after a loss; serving ADD again");
        }
        Ok(was_lost)
    }
}

#[cfg(feature = "cluster")]
impl DaemonNode {
    /// Records of a node that leases blocks, before any pod is served, that the API server's records must be read back, and that no address comes
    /// from a block of an earlier boot.
    async fn adopt_leases(&self) -> Result<(), Error> {
        let networks = self.live.config.borrow().cluster.leasing();
        if networks.is_empty() {
            return Ok(());
        }
        note_loss(&self.engine).await?;
        hold_back(&self.engine, networks.keys(), boot_of(&self.boot).ok()).await
    }
}

#[tonic::async_trait]
impl tenure_rpc::admin::AdminNode for DaemonNode {
    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn boot_id(&self) -> &str {
        &self.boot.0
    }

    fn uptime_ms(&self) -> u64 {
        let uptime = KernelClock.monotonic().saturating_sub(self.started);
        u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX)
    }

    fn state_dir(&self) -> &Path {
        self.disk.directory()
    }

    fn checkpoint_bytes(&self) -> (u64, u64) {
        let length = |name: &str| {
            std::fs::metadata(self.disk.directory().join(name)).map_or(0, |metadata| metadata.len())
        };
        let names = self.disk.list().unwrap_or_default();
        let sum = |kind: &str| {
            names
                .iter()
                .filter(|name| name.starts_with(kind) && !name.ends_with(".tmp"))
                .map(|name| length(name))
                .sum()
        };
        (sum("log."), sum("snapshot."))
    }

    fn books_on_disk(&self) -> Result<Vec<Book>, Error> {
        recover_read_only(self.disk.as_ref(), &self.boot, KernelClock.now())
            .map(|recovered| recovered.state.books)
            .map_err(|error| Error::new(ErrorCode::CheckpointFailed, error))
    }

    async fn look_for(&self, held: &[Arc<Allocation>]) -> (Vec<SandboxEvidence>, Option<Error>) {
        self.sandboxes.look_for(held).await
    }

    async fn used_by(&self, address: IpAddr) -> Result<Option<String>, String> {
        if let Some(user) = in_use(None).await?.remove(&address) {
            return Ok(Some(user));
        }
        // As of a pod, a runtime that does not answer says nothing.
        let Some(runtime) = self.runtime.clone().map(Addresses::of) else { return Ok(None) };
        Ok(in_use(Some(&runtime)).await.ok().and_then(|mut named| named.remove(&address)))
    }

    async fn adopt(&self) -> Result<bool, Error> {
        Self::adopt(self).await
    }

    async fn reload(&self) -> Result<Reloaded, Error> {
        self.live.reload().await
    }

    fn configuration(&self) -> Result<(PathBuf, String), Error> {
        self.live.shown()
    }

    fn cloud(&self) -> Result<Box<dyn tenure_rpc::admin::Cloud + '_>, Error> {
        Self::cloud(self).map(|cloud| Box::new(cloud) as _)
    }

    fn planned(&self) -> Vec<NetworkName> {
        let config = self.live.config.borrow();
        let named = config.cluster.networks.keys().chain(&config.aws.network);
        // Names were checked when the configuration was read.
        named.filter_map(|name| NetworkName::new(name.as_str()).ok()).collect()
    }

    async fn explain(&self, network: &NetworkName) -> Result<ExplainPlanResponse, Error> {
        let is_of_cluster = self.live.config.borrow().cluster.networks.contains_key(network.as_str());
        let plan = if is_of_cluster {
            cluster::explained(&self.agent()?, network).await?
        } else {
            Self::cloud(self)?.handle.explain().await?
        };
        let (book, served) = (self.engine.book(network).await, self.engine.policies_of(network));
        let policy = served.map(|served| served.now.policy);
        Ok(explained::explained(network, policy.as_ref(), book.as_deref(), plan))
    }

    async fn cluster(&self) -> Result<GetClusterResponse, Error> {
        Ok(cluster::shown(&self.agent()?).await)
    }

    async fn cluster_access(&self) -> Result<CheckClusterAccessResponse, Error> {
        let config = self.live.config.borrow().cluster.clone();
        if !config.asks() {
            return Err(Error::new(ErrorCode::NoCluster, "this node asks no API server"));
        }
        Ok(cluster::access(&config, &self.name).await)
    }
}

impl tenure_observe::http::NodeHealth for DaemonNode {
    async fn readiness(&self) -> Readiness {
        let wrong = self.engine.whats_wrong();
        let ready = wrong.iter().all(|condition| condition.name.severity() != Severity::NotReady);
        Readiness { ready, reasons: wrong.iter().map(ToString::to_string).collect() }
    }

    async fn refresh(&self, metrics: &Metrics) {
        let load = self.engine.load();
        metrics.load(load.in_flight, load.queued);
        metrics.conditions(&self.engine.whats_wrong());
        metrics.policy_meters(self.engine.meters());
        let claims = self.engine.claim_figures();
        metrics.claims(claims.claims, claims.watches);
        metrics.decisions(self.live.recorder.counts());
        if let Ok(cloud) = Self::cloud(self) {
            metrics.cloud(cloud.figures().await);
        }
        #[cfg(feature = "cluster")]
        if let Some(pods) = &self.pods {
            let (PodFigures { missing, oldest, retries, interruptions }, events_lost) = pods.figures();
            metrics.pods(PodWatchFigures { missing, oldest, retries, interruptions, events_lost });
        }
        #[cfg(feature = "cluster")]
        let agent = self.cluster.borrow().clone();
        #[cfg(feature = "cluster")]
        if let Some(agent) = agent {
            metrics.cluster(cluster::figures(&agent).await);
        }
        let (mut networks, mut pools) = (Vec::new(), Vec::new());
        for name in self.engine.network_names() {
            if let Some(book) = self.engine.book(&name).await {
                networks.push(NetworkFigures {
                    network: name,
                    allocations: book.allocations().len(),
                    cooling: book.cooling_addresses().len(),
                    quarantined: book.quarantined().len(),
                });
                pools.extend(pool_figures(&book));
            }
        }
        metrics.networks(networks);
        metrics.pools(pools);
    }
}

/// The size and the use of a network's pools.
fn pool_figures(book: &Book) -> impl Iterator<Item = PoolFigures> + '_ {
    book.pools().iter().enumerate().map(|(index, pool)| {
        let usage = book.usage(Shelf::whole(index));
        PoolFigures {
            network: book.name().clone(),
            pool: pool.name.clone(),
            size: book.total(index),
            held: usage.held,
            cooling: usage.cooling,
        }
    })
}
