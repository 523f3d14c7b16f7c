//! The composition root: builds each part after the parts that it needs, and runs them all.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tenure_checkpoint::{Options, Writer};
use tenure_delegate::{Allowed, WithDelegates};
use tenure_engine::ports::{Catalogue as _, Clock};
use tenure_engine::{Conditions, Engine, Ports, Recovered};
use tenure_ledger::choices::Served;
use tenure_observe::Metrics;
use tenure_observe::logging::Control;
use tenure_policy::Compiler;
use tenure_rpc::admin::AdminService;
use tenure_rpc::cni::CniService;
use tenure_rpc::server;
use tenure_runtime::{Leaks, Runtime, Sandboxes};
use tenure_spool::Spool;
use tenure_types::{ConditionName, PolicyStamp};
use tokio::signal::unix::Signal;
use tokio::sync::{Mutex, watch};

use crate::agents::ConfiguredAgents;
use crate::claims_seen::{self, ClaimsSeen};
use crate::config::Config;
use crate::deferral::WhileLost;
use crate::dels::DelFile;
use crate::links::KernelLinks;
use crate::live::Live;
use crate::node::Node;
use crate::observer::Observing;
use crate::parts::{
    Admin, Adoption, Aws, Checkpoint, Claims, Cni, CniFiles, ConfiguredNetworks, Datapath, Decisions,
    Exchanges, FollowedFiles, Given, Hangups, Health, Kept, Lapses, LeakWatch, NetworkSetup, PolicyFiles,
    Ready, Scraping, SpoolReplay, Supervisor, Tidying, Undo, Vetting,
};
use crate::policies;
use crate::replay::Replay;
use crate::signals::Signals;
use crate::state::{Directories, State};

/// How long the other parts have to stop after an essential one failed. Requests in flight fail anyway, and the service
/// manager waits to restart the daemon.
const AFTER_FAILURE: Duration = Duration::from_millis(300);

/// The daemon's inputs other than its configuration.
pub(crate) struct Outside<'a> {
    /// The configuration's file, unless it is the default one.
    pub(crate) config_file: Option<&'a Path>,
    pub(crate) run_dir: &'a Path,
    pub(crate) state_dir: &'a Path,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) compiler: Compiler,
    pub(crate) log: Control,
    /// SIGHUP.
    pub(crate) hangups: Signal,
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
    /// Builds each part from its configuration and from the parts that it needs.
    ///
    /// # Errors
    /// If the state cannot be trusted, a directory cannot be used, or this machine cannot provide what is configured.
    pub(crate) fn build(config: Config, outside: Outside<'_>) -> anyhow::Result<Self> {
        let Outside { run_dir, state_dir, clock, .. } = outside;
        let started = clock.monotonic();
        let metrics = Arc::new(Metrics::new(env!("CARGO_PKG_VERSION")));
        let State { directories, disk, boot, recovered, seen, is_first } =
            State::recover(run_dir, state_dir, clock.as_ref(), &metrics)?;

        // The ports, and the engine between them.
        let policies = Arc::new(policies::open(&config, outside.compiler, state_dir)?);
        let allowed = Arc::new(Allowed::new(run_dir.join("delegates")));
        allowed.set(config.allowed());
        let observer = Arc::new(Observing { metrics: Arc::clone(&metrics) });
        let node_name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let mut options = Options::new(
            Arc::clone(&disk) as _,
            Arc::clone(&clock),
            Arc::clone(&observer) as _,
            boot.clone(),
            node_name,
        );
        options.witness = Some(Arc::clone(&seen) as _);
        let (writer, journal) = Writer::open(options, &recovered.tail);
        let kept = Arc::new(Kept::default());
        let ports = Ports {
            clock: Arc::clone(&clock),
            catalogue: Arc::new(WithDelegates::new(Arc::clone(&policies) as _, Arc::clone(&allowed))),
            journal: Arc::new(journal),
            links: Arc::new(KernelLinks::new(Arc::clone(&kept))),
            observer,
        };
        policies.set_loaded(recovered.components.all());
        let served = || recovered.choices.all().map(|(_, served)| served);
        if !seen.is_lost() {
            // If the state is lost, nothing is pruned: the right state may be put back, and name other policies.
            let named = served().flat_map(Served::policies).map(|policy| Arc::clone(&policy.digest));
            let loaded = recovered.components.all().iter().map(|loaded| Arc::clone(&loaded.policy.digest));
            policies.prune(named.chain(loaded));
        }
        // What stands for a delegate is no policy that could be loaded.
        let loadable = |policy: &&PolicyStamp| policy.name.delegate().is_none();
        let serving = served().map(|served| &served.now.policy).filter(loadable).cloned().collect();
        let state = Recovered {
            books: recovered.books,
            choices: recovered.choices,
            components: recovered.components,
            claims: recovered.claims,
            states: recovered.states,
            delegations: recovered.delegations,
            effects: recovered.effects,
            moves: recovered.moves,
        };
        let (engine, abandoned) = Engine::new(state, ports, config.settings());
        let (dels, record) = DelFile::open(run_dir, &boot, clock.now(), is_first);
        engine.remember_dels(dels.since, dels.served, record);
        let conditions = Arc::clone(engine.conditions());
        let witnessed = claims_seen::read(run_dir, &boot);
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
            conditions.set(ConditionName::StateLost, "", message);
        } else {
            witnessed.retain(|claim| claim.is_awaited);
        }
        engine.await_claims(witnessed);
        seen.follow(ClaimsSeen::new(run_dir, &boot, &engine));

        let decisions = policies.decisions();
        decisions.recorder().set(config.recorded());

        // What changes on a reload.
        let cni_path = run_dir.join("cni.sock");
        let deferral = WhileLost::new(Spool::beside(&cni_path), Arc::clone(&seen));
        let cni =
            CniService::new(Arc::clone(&engine), config.host_local.ignore).deferring(Arc::new(deferral));
        let networks = Arc::new(NetworkSetup::new(Arc::clone(&engine), Arc::clone(&seen)));
        let files = PolicyFiles::new(Arc::clone(&engine), Arc::clone(&policies), Arc::clone(&seen));
        let files = Arc::new(files);
        files.remember();
        let live = Arc::new(Live {
            path: outside.config_file.map(Path::to_owned),
            config: watch::Sender::new(Arc::new(config.clone())),
            engine: Arc::clone(&engine),
            policies: Arc::clone(&policies),
            recorder: Arc::clone(decisions.recorder()),
            allowed,
            cni: cni.clone(),
            log: outside.log,
            files: Arc::clone(&files),
            networks: Arc::clone(&networks),
            turn: Mutex::default(),
        });
        let in_force = live.config.subscribe();

        // What the daemon reports about itself.
        let runtime = config.runtime.path().map(|path| Runtime::at(path.to_owned()));
        let sandboxes = Arc::new(Sandboxes::new(runtime.clone()));
        let (running, cloud) = watch::channel(None);
        let node = Arc::new(Node {
            engine: Arc::clone(&engine),
            disk,
            boot: boot.clone(),
            started,
            state_seen: Arc::clone(&seen),
            sandboxes: Arc::clone(&sandboxes),
            live: Arc::clone(&live),
            cloud,
        });

        // The parts, each after those that it needs.
        let mut parts = Supervisor::new(&conditions);
        let checkpoint = parts.add(Checkpoint::build(writer, engine.images()), &[]);
        let undo = parts.add(Undo::build(abandoned), &[checkpoint]);

        let replay = Replay::new(Spool::beside(&cni_path), cni.clone(), Arc::clone(&metrics), seen);
        let spool = SpoolReplay::build(replay);
        let replayed = spool.replayed();
        let spool = parts.add(spool, &[undo]);

        let followed = FollowedFiles::build(files, in_force.clone());
        let named = followed.read();
        parts.add(followed, &[undo]);
        parts.add(Vetting::build(Arc::clone(&engine)), &[]);
        let configured = ConfiguredNetworks::build(networks, in_force.clone(), named);
        let tried = configured.tried();
        let configured = parts.add(configured, &[checkpoint]);

        let (reporter, health) = server::health();
        let health_part = parts.add(Health::build(reporter, Arc::clone(&engine)), &[checkpoint]);

        let files = CniFiles::build(cni.clone(), in_force.clone(), &conditions, replayed.clone());
        let cni = Cni::build(cni_path, cni, Arc::clone(&policies), &conditions, [replayed.clone(), tried]);
        let cni_listens = cni.listening();
        let decisions = Decisions::build(decisions, Arc::clone(&engine), in_force.clone());
        let decisions = parts.add(decisions, &[]);
        let cni = parts.add(cni, &[undo, spool, configured, decisions]);

        let agents = Arc::new(ConfiguredAgents::new(in_force.clone(), runtime.clone()));
        let agent_path = run_dir.join(tenure_rpc::AGENT_SOCKET);
        let (after, told) = (replayed.clone(), health.clone());
        let claims = Claims::build(agent_path, Arc::clone(&engine), agents, told, in_force.clone(), after);
        parts.add(claims, &[undo, configured]);
        parts.add(files, &[undo, configured]);
        parts.add(Lapses::build(Arc::clone(&engine)), &[undo]);
        parts.add(Tidying::build(Arc::clone(&engine)), &[undo]);
        let network = config.aws.network();
        // Without interfaces, only pods are kept.
        let (described, interfaces) = watch::channel(network.is_none().then(Arc::default));
        if let Some(network) = network {
            let given = Given {
                config: config.aws.clone(),
                in_force: in_force.clone(),
                network,
                engine: Arc::clone(&engine),
                clock: Arc::clone(&clock),
                runtime: runtime.clone(),
                handle: running,
                node: described,
            };
            parts.add(Aws::build(given, &conditions), &[undo, configured]);
        }
        let counted = Arc::clone(&metrics);
        parts.add(Datapath::build(Arc::clone(&engine), kept, interfaces, counted, &conditions), &[undo]);

        let admin = AdminService::new(Arc::clone(&engine), Arc::clone(&node) as _);
        let admin = Admin::build(run_dir.join("admin.sock"), admin, health, &conditions, replayed);
        let admin_listens = admin.listening();
        let admin = parts.add(admin, &[undo, health_part]);

        parts.add(Exchanges::build(Arc::clone(&engine)), &[undo]);
        parts.add(Ready::build([cni_listens, admin_listens], policies), &[cni, admin]);
        parts.add(Hangups::build(outside.hangups, Arc::clone(&live)), &[configured]);
        match runtime {
            None => tracing::info!(
                "runtime.socket is not set, so leaked addresses are freed only by the runtime's CNI GC"
            ),
            Some(runtime) => {
                let grace = {
                    let config = in_force.clone();
                    move || Duration::from_secs(config.borrow().runtime.grace_seconds.into())
                };
                let leaks =
                    Leaks::new(engine, sandboxes, clock, grace).kept_in(run_dir.join("gone"), boot.clone());
                parts.add(LeakWatch::build(leaks), &[undo]);
                let adoption = Adoption::build(Arc::clone(&node), runtime, in_force, knows_claims);
                parts.add(adoption, &[checkpoint]);
            }
        }
        if let Some(address) = config.metrics.listen {
            parts.add(Scraping::build(address, node, metrics), &[checkpoint]);
        }
        Ok(Self { parts, conditions, live, serving, _directories: directories })
    }

    /// Serves until a signal stops it, and then lets the requests in flight finish.
    ///
    /// # Errors
    /// [`PartEnded`](crate::parts::PartEnded) if an essential part ended.
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
