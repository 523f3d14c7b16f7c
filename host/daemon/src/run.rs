//! The daemon's life: recover, plug together, serve, drain.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use futures_util::Stream;
use tenure_checkpoint::{FileDisk, Lock, Options, Writer, boot_id, recover_after};
use tenure_engine::ports::{Catalogue, Clock};
use tenure_engine::{Engine, Ports, Settings};
use tenure_observe::Metrics;
use tenure_policy::Policies;
use tenure_rpc::admin::AdminService;
use tenure_rpc::cni::CniService;
use tenure_rpc::door::Door;
use tenure_rpc::server::{self, UnderWay};
use tenure_runtime::{Leaks, Runtime, Sandboxes};
use tenure_spool::Spool;
use tenure_types::ConditionName;
use tokio::net::UnixStream;
use tokio::sync::watch;

use crate::clock::KernelClock;
use crate::config::Config;
use crate::mark::Mark;
use crate::node::Node;
use crate::observer::Observing;
use crate::replay::Replay;
use crate::run_dir::RunDir;
use crate::signals::Signals;
use crate::state_seen::StateSeen;
use crate::{policies, scraping};

/// How long a service manager waits at most for what served before to be loaded.
const START: Duration = Duration::from_secs(30);

/// How long nobody is listened to for it.
const AT_ONCE: Duration = Duration::from_secs(1);

/// How often it is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Serves until SIGTERM or SIGINT, then lets what is under way finish.
pub(crate) async fn run(config: Config, run_dir: &Path, state_dir: &Path) -> anyhow::Result<()> {
    let started = KernelClock.monotonic();
    let mut signals = Signals::listen()?;

    // Both directories are this daemon's alone before anything in them is read; the state is whole or we do not start.
    let _run_dir = RunDir::take(run_dir)?;
    let disk = Arc::new(
        FileDisk::create(state_dir).with_context(|| format!("state directory {}", state_dir.display()))?,
    );
    let _lock = Lock::take(state_dir)?;
    let boot = boot_id().context("the kernel's boot id")?;
    let mark = Mark::read(run_dir, &boot).context("the mark of the state")?;
    let recovered = recover_after(disk.as_ref(), &boot, KernelClock.now(), mark.durable());
    let mut recovered = recovered.with_context(|| {
        format!("the checkpoint in {} cannot be trusted, so nothing is served", state_dir.display())
    })?;
    let state_seen = Arc::new(StateSeen::new(run_dir, &boot, mark, &recovered.report));
    let metrics = Arc::new(Metrics::new(env!("CARGO_PKG_VERSION")));
    recovered.report.lost = state_seen.is_lost();
    recovered.report.findings().for_each(|found| metrics.recovered(found));
    tracing::info!(networks = recovered.books.len(), "recovered: {}", recovered.report);

    // The ports, and the engine between them.
    let catalogue = Arc::new(policies::open(&config, state_dir)?);
    let node_name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let observer = Arc::new(Observing { metrics: Arc::clone(&metrics) });
    let mut options = Options::new(
        Arc::clone(&disk) as _,
        Arc::new(KernelClock),
        Arc::clone(&observer) as _,
        boot.clone(),
        node_name,
    );
    options.witness = Some(Arc::clone(&state_seen) as _);
    let (writer, journal) = Writer::open(options, &recovered.tail);
    let ports = Ports {
        clock: Arc::new(KernelClock),
        catalogue: Arc::clone(&catalogue) as Arc<dyn Catalogue>,
        journal: Arc::new(journal),
        observer,
    };
    let settings = Settings {
        cooldown: Duration::from_secs(config.addresses.cooldown_seconds.into()),
        in_flight: usize::try_from(config.limits.in_flight)?,
        queue: usize::try_from(config.limits.queue)?,
        networks: usize::try_from(config.limits.networks)?,
        bounds: Arc::default(),
    };
    // What an older state names may be meant again once it is put back.
    if !state_seen.is_lost() {
        let served =
            recovered.choices.all().flat_map(|(_, served)| [&served.now].into_iter().chain(&served.before));
        catalogue.prune(served.map(|choice| Arc::clone(&choice.policy.digest)));
    }
    // Compiled ahead, so that no pod waits for it; what cannot be loaded is told by `tenurectl policy list`.
    catalogue.begin(recovered.choices.all().map(|(_, served)| served.now.policy.clone()));
    let (engine, abandoned) = Engine::new(recovered.books, recovered.choices, ports, settings);
    let writing = writer.run(engine.images()).context("the checkpoint's thread")?;
    let undoing = tokio::spawn(abandoned.run());
    if state_seen.is_lost() {
        let message = format!(
            "{} does not have all that was answered in this boot, so the addresses of live pods are not known",
            state_dir.display()
        );
        engine.conditions().set(ConditionName::StateLost, "", message);
    }

    // What was asked while nobody listened comes first.
    let cni_path = run_dir.join("cni.sock");
    let admin_path = run_dir.join("admin.sock");
    let cni = CniService::new(Arc::clone(&engine), config.host_local.ignore);
    let spool = Spool::beside(&cni_path);
    let mut replay = Replay::new(spool, cni.clone(), Arc::clone(&metrics), Arc::clone(&state_seen));
    replay.once().await;
    // What is compiled already is there in a moment, and then the first ADD finds it.
    loaded(&catalogue, AT_ONCE).await;

    let (stop, stopping) = watch::channel(false);
    let stopped = || {
        let mut stopping = stopping.clone();
        async move { drop(stopping.wait_for(|stop| *stop).await) }
    };
    let runtime = config.runtime.path().map(|path| Runtime::at(path.to_owned()));
    if runtime.is_none() {
        tracing::info!("runtime.socket is not set, so what leaks is freed by the runtime's CNI GC only");
    }
    let sandboxes = Arc::new(Sandboxes::new(runtime.clone()));
    let exclusive = config.runtime.exclusive;
    let grace = Duration::from_secs(config.runtime.grace_seconds.into());
    let leaks = Leaks::new(Arc::clone(&engine), Arc::clone(&sandboxes), Arc::new(KernelClock), grace);
    let node = Arc::new(Node { engine: Arc::clone(&engine), disk, boot, started, state_seen, sandboxes });
    let admin = AdminService::new(Arc::clone(&engine), Arc::clone(&node) as _);
    let (reporter, health) = server::health();
    let cni_calls = listen(&cni_path, &engine, ConditionName::SocketMissing)?;
    let admin_calls = listen(&admin_path, &engine, ConditionName::AdminSocketMissing)?;
    let cni_server = server::serve_cni(cni_calls, cni, UnderWay::default(), stopped());
    let admin_server = server::serve_admin(admin_calls, admin, health, UnderWay::default(), stopped());
    let servers = tokio::spawn(async move { tokio::try_join!(cni_server, admin_server) });
    let asking = runtime.map(|runtime| {
        let node = Arc::clone(&node);
        tokio::spawn(async move { tokio::join!(node.confirm_by(runtime, exclusive), leaks.watch()) })
    });
    let scraping = config.metrics.listen.clone().map(|address| {
        let (metrics, stopping) = (Arc::clone(&metrics), stopping.clone());
        let stopped = move || {
            let mut stopping = stopping.clone();
            async move { drop(stopping.wait_for(|stop| *stop).await) }
        };
        tokio::spawn(scraping::serve(address, node, metrics, stopped))
    });
    let following = tokio::spawn(crate::health::follow(reporter, Arc::clone(&engine)));
    let replaying = tokio::spawn(replay.keep_looking());
    let announcing = tokio::spawn(announce(catalogue));
    tracing::info!(run_dir = %run_dir.display(), state_dir = %state_dir.display(), "serving");
    let signal = signals.stop().await;
    tracing::info!("{signal}: draining");

    // Draining: nothing new, what is under way finishes or is undone, and the log is written out.
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
    // Before the door is shut, which a runtime's word might open again.
    if let Some(asking) = asking {
        asking.abort();
    }
    engine.conditions().set(ConditionName::Stopping, "", "the daemon is stopping");
    announcing.abort();
    replaying.abort();
    following.abort();
    stop.send_replace(true);
    let drained =
        tokio::time::timeout(Duration::from_secs(config.limits.drain_seconds.into()), servers).await;
    match drained {
        Ok(Ok(served)) => drop(served.context("serving")?),
        Ok(Err(error)) => tracing::error!(%error, "a server ended badly"),
        Err(_) => {
            tracing::warn!("requests were still under way after limits.drain_seconds; they are cut off");
        }
    }
    for path in [&cni_path, &admin_path] {
        let _ = std::fs::remove_file(path);
    }
    if let Some(scraping) = scraping {
        scraping.abort();
    }
    undoing.abort();
    tokio::task::spawn_blocking(move || drop(writing)).await.context("writing out the log")?;
    tracing::info!("stopped");
    Ok(())
}

/// Tells the service manager that the daemon serves, once what served before is loaded, and after [`START`] at the latest: a service
/// manager that waits for longer would end it.
async fn announce(catalogue: Arc<Policies>) {
    if !loaded(&catalogue, START).await {
        tracing::warn!("policies that served before are still being compiled");
    }
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
}

/// Waits until what served before is loaded, and no longer than so long; says whether it is.
async fn loaded(catalogue: &Policies, most: Duration) -> bool {
    let loaded = async {
        while catalogue.awaited().is_some() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    tokio::time::timeout(most, loaded).await.is_ok()
}

/// Listens, and says of its socket when it is missing.
fn listen(
    path: &Path,
    engine: &Engine,
    missing: ConditionName,
) -> anyhow::Result<impl Stream<Item = std::io::Result<UnixStream>> + Send + use<>> {
    let door = Door::open(path.to_owned()).with_context(|| format!("socket {}", path.display()))?;
    let conditions = Arc::clone(engine.conditions());
    Ok(door.connections(move |told| match told {
        Ok(()) => conditions.clear(missing, ""),
        Err(message) => conditions.set(missing, "", message),
    }))
}
