//! The spine: the recovered state, the ports, the engine between them, and the configuration in force. Every wing is built on it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tenure_aws::executor::Handle;
use tenure_checkpoint::{FileDisk, Options, Writer};
use tenure_delegate::{Allowed, WithDelegates};
use tenure_engine::ports::Catalogue as _;
use tenure_engine::{Abandoned, Engine, Ports};
use tenure_ledger::NodeChapters;
use tenure_observe::Metrics;
use tenure_policy::Policies;
use tenure_policy::decisions::DecisionWriter;
use tenure_rpc::cni::CniService;
use tenure_runtime::{Runtime, Sandboxes};
use tenure_spool::Spool;
use tenure_supervise::Gate;
use tenure_types::{Clock, ConditionName, NodeIdentity, PolicyStamp};
use tokio::sync::watch;

use super::Surroundings;
use crate::claims_seen::{self, ClaimsSeen};
use crate::cluster::ClusterAgent;
use crate::config::Config;
use crate::deferral::WhileLost;
use crate::dels::DelFile;
use crate::links::KernelLinks;
use crate::live::{Live, LiveParts};
use crate::node::DaemonNode;
use crate::observer::Observing;
use crate::parts::{DatapathResult, FollowedFiles, NetworkSetup, ReloadRequests};
#[cfg(feature = "cluster")]
use crate::pods::PodDoor;
use crate::policies;
#[cfg(feature = "cluster")]
use crate::pools::{ClaimDoor, PodContexts};
use crate::state::{Directories, RecoveredState};
use crate::state_seen::StateSeen;

/// The file of the plugin's socket in the run directory.
pub(super) const CNI_SOCKET: &str = "cni.sock";

/// The foundation of the wings.
pub(super) struct Spine {
    pub(super) engine: Arc<Engine>,
    pub(super) policies: Arc<Policies>,
    pub(super) cni: CniService,
    pub(super) live: Arc<Live>,
    /// The configuration in force.
    pub(super) config: watch::Receiver<Arc<Config>>,
    pub(super) files: Arc<FollowedFiles>,
    pub(super) networks: Arc<NetworkSetup>,
    /// The writer of recorded decisions, until its part has it.
    pub(super) decisions: Arc<DecisionWriter>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) identity: NodeIdentity,
    pub(super) run_dir: PathBuf,
    pub(super) disk: Arc<FileDisk>,
    pub(super) state_seen: Arc<StateSeen>,
    /// The links that the datapath keeps.
    pub(super) kept: Arc<DatapathResult>,
    pub(super) runtime: Option<Runtime>,
    /// The API server's word about the node's pods, if it is asked.
    #[cfg(feature = "cluster")]
    pub(super) pods: Option<Arc<PodDoor>>,
    /// The addresses of claims that pods name.
    #[cfg(feature = "cluster")]
    pub(super) claims: Arc<ClaimDoor>,
    /// Opens once no address can come from a leased block of an earlier boot that is not confirmed.
    pub(super) held_back: Gate,
    /// Whether the claims of agents outlived the state, if it is lost.
    pub(super) knows_claims: bool,
    /// The policies that served networks before.
    pub(super) serving: Vec<PolicyStamp>,
    started: Duration,
}

/// Handles to what supplies the networks, while each runs.
pub(super) struct SupplyHandles {
    /// The executor of plans about the node's cloud interfaces.
    pub(super) cloud: watch::Receiver<Option<Handle>>,
    /// The agent that leases blocks of a cluster.
    pub(super) cluster: watch::Receiver<Option<ClusterAgent>>,
}

/// The durable parts that go to a single owner.
pub(super) struct DurableParts {
    pub(super) directories: Directories,
    pub(super) writer: Writer,
    pub(super) abandoned: Abandoned,
    pub(super) reloads: ReloadRequests,
}

impl Spine {
    /// Puts the recovered state, the ports and the engine together. Starts nothing.
    pub(super) fn build(
        config: Config,
        outside: Surroundings<'_>,
        state: RecoveredState,
        metrics: Arc<Metrics>,
    ) -> anyhow::Result<(Self, DurableParts)> {
        let Surroundings { config_file, run_dir, state_dir, identity, clock, compiler, log, reloads } =
            outside;
        let RecoveredState { directories, disk, recovered, seen, is_first, .. } = state;
        let started = clock.monotonic();
        let boot = &identity.boot;

        let policies = Arc::new(policies::open(&config, compiler, state_dir)?);
        let allowed = Arc::new(Allowed::new(run_dir.join("delegates")));
        let observer = Arc::new(Observing::new(Arc::clone(&metrics)));
        let mut options = Options::new(
            Arc::clone(&disk) as _,
            Arc::clone(&clock),
            Arc::clone(&observer) as _,
            boot.clone(),
            identity.name.clone(),
        );
        options.witness = Some(Arc::clone(&seen) as _);
        let (writer, journal) = Writer::open(options, &recovered.tail);
        let kept = Arc::new(DatapathResult::default());
        let ports = Ports {
            clock: Arc::clone(&clock),
            catalogue: Arc::new(WithDelegates::new(Arc::clone(&policies) as _, Arc::clone(&allowed))),
            journal: Arc::new(journal),
            links: Arc::new(KernelLinks::new(Arc::clone(&kept))),
            observer,
        };
        let recovered = recovered.state;
        policies.set_loaded(recovered.node.components.all());
        if !seen.is_lost() {
            // If the state is lost, nothing is pruned: the right state may be put back, and name other policies.
            prune(&policies, &recovered.node);
        }
        // A delegate's stand-in cannot be loaded.
        let loadable = |policy: &&PolicyStamp| policy.name.delegate().is_none();
        let served = recovered.node.choices.all().map(|(_, served)| &served.now.policy);
        let serving = served.filter(loadable).cloned().collect();

        let (engine, abandoned) = Engine::new(recovered, ports, config.settings());
        let (dels, record) = DelFile::open(run_dir, directories.run.times, boot, clock.now(), is_first);
        engine.remember_dels(dels.since, dels.served, record);
        let knows_claims = await_claims(&engine, &seen, run_dir, state_dir, &identity);

        let deferral = WhileLost::new(Spool::beside(&run_dir.join(CNI_SOCKET)), Arc::clone(&seen));
        let cni = CniService::new(Arc::clone(&engine), config.host_local.ignore);
        let cni = cni.deferring(Arc::new(deferral));
        let networks = Arc::new(NetworkSetup::new(Arc::clone(&engine), Arc::clone(&seen)));
        let files = FollowedFiles::new(Arc::clone(&engine), Arc::clone(&policies), Arc::clone(&seen));
        let files = Arc::new(files);
        let decisions = Arc::new(policies.decisions());
        let runtime = config.runtime.path().map(|path| Runtime::at(path.to_owned()));
        #[cfg(feature = "cluster")]
        let pods = config.cluster.knows_pods().then(|| Arc::new(PodDoor::new()));
        let live = Arc::new(Live::new(
            config_file,
            config,
            LiveParts {
                engine: Arc::clone(&engine),
                policies: Arc::clone(&policies),
                recorder: Arc::clone(decisions.recorder()),
                allowed,
                cni: cni.clone(),
                log,
                files: Arc::clone(&files),
                networks: Arc::clone(&networks),
            },
        ));
        #[cfg(feature = "cluster")]
        let claims = Arc::<ClaimDoor>::default();
        #[cfg(feature = "cluster")]
        let cni = match &pods {
            Some(pods) => {
                let contexts = PodContexts::new(
                    Arc::clone(&engine),
                    live.config.subscribe(),
                    Arc::clone(pods),
                    Arc::clone(&claims),
                );
                cni.with_contexts(Arc::new(contexts))
            }
            None => cni,
        };
        let held_back = Gate::default();
        // While the state is lost, no pod is served: its confirmation holds the blocks back.
        if live.config.borrow().cluster.networks.is_empty() || seen.is_lost() {
            held_back.open();
        }
        let spine = Self {
            engine,
            policies,
            cni,
            config: live.config.subscribe(),
            live,
            files,
            networks,
            decisions,
            metrics,
            clock,
            identity,
            run_dir: run_dir.to_owned(),
            disk,
            state_seen: seen,
            kept,
            runtime,
            #[cfg(feature = "cluster")]
            pods,
            #[cfg(feature = "cluster")]
            claims,
            held_back,
            knows_claims,
            serving,
            started,
        };
        Ok((spine, DurableParts { directories, writer, abandoned, reloads }))
    }

    /// The witnesses of sandboxes: a runtime, if there is one, and the API server, if it is asked.
    pub(super) fn sandboxes(&self, runtime: Option<Runtime>) -> Sandboxes {
        let sandboxes = Sandboxes::new(runtime);
        #[cfg(feature = "cluster")]
        #[cfg(feature = "cluster")]
        let asks = self.runtime.is_some() && self.config.borrow().cluster.asks_about_pods();
        #[cfg(feature = "cluster")]
        let sandboxes = sandboxes.with_pods(self.pods.clone().filter(|_| asks).map(|pods| pods as _));
        sandboxes
    }

    /// The node, as operators and scrapers see it.
    pub(super) fn node(&self, supplied: SupplyHandles) -> Arc<DaemonNode> {
        Arc::new(DaemonNode {
            name: self.identity.name.clone(),
            engine: Arc::clone(&self.engine),
            disk: Arc::clone(&self.disk),
            boot: self.identity.boot.clone(),
            started: self.started,
            state_seen: Arc::clone(&self.state_seen),
            knows_claims: self.knows_claims,
            adopting: tokio::sync::Mutex::default(),
            sandboxes: self.sandboxes(self.runtime.clone().map(Runtime::for_people)),
            runtime: self.runtime.clone().map(Runtime::for_people),
            #[cfg(feature = "cluster")]
            pods: self.pods.clone(),
            live: Arc::clone(&self.live),
            cloud: supplied.cloud,
            cluster: supplied.cluster,
        })
    }
}

/// Removes the node's copies of policies that neither serve nor are loaded.
fn prune(policies: &Policies, node: &NodeChapters) {
    let served = node.choices.all().flat_map(|(_, served)| served.policies());
    let named = served.map(|policy| Arc::clone(&policy.digest));
    let loaded = node.components.all().iter().map(|loaded| Arc::clone(&loaded.policy.digest));
    policies.prune(named.chain(loaded));
}

/// Reports a lost state, and has the engine await the claims of agents that outlived it. Returns whether those are known.
fn await_claims(
    engine: &Arc<Engine>,
    seen: &StateSeen,
    run_dir: &Path,
    state_dir: &Path,
    identity: &NodeIdentity,
) -> bool {
    let witnessed = claims_seen::read(run_dir, &identity.boot);
    let knows_claims = witnessed.is_some();
    let mut witnessed = witnessed.unwrap_or_default();
    if seen.is_lost() {
        let mut message = format!(
            "{} lacks facts that were acknowledged in this boot, so the addresses of live pods are not known",
            state_dir.display()
        );
        if !witnessed.is_empty() {
            message += &format!("; the {} claims of agents are, and will be restored", witnessed.len());
        }
        engine.conditions().set(ConditionName::StateLost, "", message);
    } else {
        witnessed.retain(|claim| claim.is_awaited);
    }
    engine.await_claims(witnessed);
    seen.follow(ClaimsSeen::new(run_dir, &identity.boot, engine));
    knows_claims
}
