//! The daemon's life: recover, plug together, serve, drain.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tenure_checkpoint::{FileDisk, Lock, Options, Writer, boot_id, recover_after};
use tenure_engine::ports::{Catalogue, Clock};
use tenure_engine::{Engine, Ports, Settings};
use tenure_observe::{Metrics, http};
use tenure_policy::{CatalogueSource, Limits, Policies};
use tenure_rpc::admin_service::AdminService;
use tenure_rpc::cni_service::CniService;
use tenure_rpc::spool::Spool;
use tenure_rpc::{server, socket};
use tenure_types::{ConditionName, PolicyName};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::clock::KernelClock;
use crate::config::Config;
use crate::leaks::Leaks;
use crate::mark::Mark;
use crate::node::Node;
use crate::observer::Observing;
use crate::replay::Replay;
use crate::run_dir::RunDir;
use crate::runtime::Runtime;
use crate::sandboxes::Sandboxes;
use crate::state_seen::StateSeen;

/// Serves until SIGTERM or SIGINT, then lets what is under way finish.
pub(crate) async fn run(config: Config, run_dir: &Path, state_dir: &Path) -> anyhow::Result<()> {
    let started = KernelClock.monotonic();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;

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
    let catalogue = Arc::new(policies(&config, state_dir)?);
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
    let (writer, journal) = Writer::open(options, &recovered);
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
    };
    let (engine, abandoned) = Engine::new(recovered.books, ports, settings);
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
    let leaks = Leaks::new(Arc::clone(&engine), Arc::clone(&sandboxes), grace);
    let node = Arc::new(Node { engine: Arc::clone(&engine), disk, boot, started, state_seen, sandboxes });
    let admin = AdminService::new(Arc::clone(&engine), Arc::clone(&node) as _);
    let (reporter, health) = server::health_reporter();
    let cni_server = server::serve_cni(listen(&cni_path)?, cni, stopped());
    let admin_server = server::serve_admin(listen(&admin_path)?, admin, health, stopped());
    let servers = tokio::spawn(async move { tokio::try_join!(cni_server, admin_server) });
    let asking = runtime.map(|runtime| {
        let node = Arc::clone(&node);
        tokio::spawn(async move { tokio::join!(node.confirm_by(runtime, exclusive), leaks.watch()) })
    });
    let scraping = match &config.metrics.listen {
        None => None,
        Some(address) => {
            let listener = http::Listener::bind(address).await.context("metrics.listen")?;
            Some(tokio::spawn(http::serve(listener, node, Arc::clone(&metrics), stopped())))
        }
    };
    let following = tokio::spawn(crate::health::follow(reporter, Arc::clone(&engine)));
    let replaying = tokio::spawn(replay.keep_looking());
    // Compiled ahead, so that no pod waits for it; what cannot be loaded is told by `tenurectl policy list`.
    tokio::task::spawn_blocking(move || {
        for entry in catalogue.list() {
            if let Err(error) = catalogue.load(&entry.stamp.name) {
                tracing::error!(policy = %entry.stamp.name, code = error.code.name(), cause = error.cause, "a policy cannot be used");
            }
        }
    });

    let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
    tracing::info!(run_dir = %run_dir.display(), state_dir = %state_dir.display(), "serving");
    tokio::select! {
        _ = terminate.recv() => tracing::info!("SIGTERM: draining"),
        _ = interrupt.recv() => tracing::info!("SIGINT: draining"),
    }

    // Draining: nothing new, what is under way finishes or is undone, and the log is written out.
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
    // Before the door is shut, which a runtime's word might open again.
    if let Some(asking) = asking {
        asking.abort();
    }
    engine.conditions().set(ConditionName::Stopping, "", "the daemon is stopping");
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

fn listen(path: &Path) -> anyhow::Result<tokio::net::UnixListener> {
    socket::listen(path).with_context(|| format!("socket {}", path.display()))
}

/// The built-in policies and those of the configuration.
fn policies(config: &Config, state_dir: &Path) -> anyhow::Result<Policies> {
    let limits = Limits {
        deadline: Duration::from_millis(config.sandbox.deadline_ms.into()),
        memory: usize::try_from(config.sandbox.memory_mib)? << 20,
        concurrency: config.sandbox.concurrency,
        ..Limits::default()
    };
    let files = config.policies.iter().map(|(name, file)| {
        let path: PathBuf = file.path.clone();
        Ok((PolicyName::new(name)?, CatalogueSource::File { path, sha256: file.sha256.to_ascii_lowercase() }))
    });
    let files: Vec<_> = files.collect::<anyhow::Result<_>>()?;
    Policies::open(limits, files, state_dir).context("the sandbox")
}
