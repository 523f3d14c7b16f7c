//! `tenure-operator`: its parts put together.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser as _;
use tenure_conditions::Conditions;
use tenure_observe::http::{ListenAddress, Listener, serve_pages};
use tenure_operator::clock::MachineClock;
use tenure_operator::leadership::Election;
use tenure_operator::reports::{EventSender, OperatorHealth, Reports};
use tenure_operator::view::Watches;
use tenure_operator::{MetricsAddress, Operator, OperatorArguments, OperatorCommand};
use tenure_supervise::{Gate, Interruptible, Signals, Supervisor, exit};

/// The longest that the parts may take to stop. Each call has a deadline of its own; a write in flight may fail.
const STOP_DEADLINE: Duration = Duration::from_secs(5);

/// Worker threads, on every machine: passes are made one after the other, and each thread has a heap of its own.
const WORKERS: usize = 2;

fn main() -> ExitCode {
    let arguments = OperatorArguments::parse();
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr);
    if arguments.json {
        log.json().init();
    } else {
        log.init();
    }
    let run = || -> anyhow::Result<()> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
        runtime.block_on(run(&arguments))
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            exit::code(&error, |_| None).into()
        }
    }
}

/// Runs until a signal, or until the Lease is lost; or does what a person asks for.
async fn run(arguments: &OperatorArguments) -> anyhow::Result<()> {
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("the cryptography of TLS is chosen twice"))?;
    let client = tenure_cluster::client::connect(arguments.kubeconfig.as_deref())
        .await
        .context("cannot connect to the API server")?;
    if let Some(OperatorCommand::Import(import)) = &arguments.command {
        let report = tenure_operator::import::import(&client, import).await?;
        return Ok(std::io::stdout().write_all(report.as_bytes())?);
    }
    let identity = arguments.identity.as_deref().unwrap_or_default();
    let mut signals = Signals::listen()?;
    let (reports, events) = Reports::new();
    let (leading, watches) = (Gate::default(), Watches::new(&client, &reports.metrics));
    let health = OperatorHealth::new(reports.metrics.clone(), watches.stores(), Arc::new(MachineClock));
    let pages = match arguments.metrics_address {
        Some(address) => Some(PagesPart { listener: Some(listen(address).await?), health: Arc::new(health) }),
        None => None,
    };
    let events = EventSender::new(events, client.clone(), Arc::new(MachineClock), identity);
    let metrics = reports.metrics.clone();
    let operator = Operator::new(client.clone(), &watches, Arc::new(MachineClock), leading.clone())
        .with_reports(reports)
        .with_startup_taint(&arguments.startup_taint);
    let election = Election::new(client, &arguments.namespace, identity, Arc::new(MachineClock), leading)
        .counted_by(metrics)
        .telling(operator.doubt());
    let conditions = Arc::new(Conditions::new(Arc::new(MachineClock)));
    let mut supervisor = Supervisor::new(&conditions);
    if let Some(pages) = pages {
        supervisor.essential("metrics", pages, &[]);
    }
    supervisor.restarted("events", events, &[]);
    let election = supervisor.essential("election", election, &[]);
    let watches = supervisor.restarted("watches", watches, &[]);
    supervisor.essential("operator", operator, &[election, watches]);
    let mut running = supervisor.start();
    let failed = tokio::select! {
        signal = signals.stop() => { tracing::info!("{signal}: stopping"); None }
        ended = running.failed() => Some(ended),
    };
    for part in running.stop(STOP_DEADLINE).await {
        tracing::warn!(part, "did not stop in time");
    }
    failed.map_or(Ok(()), |ended| Err(ended.into()))
}

/// Serves metrics and health.
struct PagesPart {
    listener: Option<Listener>,
    health: Arc<OperatorHealth>,
}

impl Interruptible for PagesPart {
    async fn work(&mut self) {
        if let Some(listener) = self.listener.take() {
            serve_pages(listener, Arc::clone(&self.health), std::future::pending()).await;
        }
    }
}

/// Listens for a scraper.
async fn listen(MetricsAddress(address): MetricsAddress) -> anyhow::Result<Listener> {
    let listener = Listener::bind(&ListenAddress::Tcp(address)).await;
    let listener = listener.with_context(|| format!("cannot serve metrics on {address}"))?;
    tracing::info!("metrics and health on port {}", listener.port().unwrap_or_default());
    Ok(listener)
}
