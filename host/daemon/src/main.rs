//! `tenured`, the node daemon: reads its configuration, assembles the crates and runs until it is stopped.

mod agents;
mod app;
mod aws;
mod capabilities;
mod check;
mod claims_seen;
mod clock;
mod cloud;
mod cluster;
mod config;
mod deferral;
mod dels;
mod fault;
mod identity;
mod links;
mod live;
mod node;
mod observer;
mod parts;
#[cfg(feature = "cluster")]
mod pods;
mod policies;
#[cfg(feature = "cluster")]
mod pools;
mod reference;
mod replay;
mod run_dir;
mod state;
mod state_dir;
mod state_seen;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use tenure_policy::Compiler;
use tenure_supervise::{Signals, exit, hangups};
use tenure_types::printable;

use crate::app::{App, Surroundings};
use crate::clock::KernelClock;
use crate::config::{Config, ConfigFile};
use crate::parts::{FollowedConfig, ReloadRequests};

const EXIT_CODES: &str = "Exit codes:
  0  stopped on request
  1  temporary failure: a restart may help
  2  permanent failure: fix the configuration, the command line, the state or a directory's permissions first";

/// Manage a node's IP addresses: serve container runtimes through the `tenure` CNI plugin, and operators through tenurectl.
#[derive(Debug, Parser)]
#[command(name = "tenured", version, after_help = EXIT_CODES)]
struct DaemonArguments {
    /// The configuration file [default: /etc/tenure/tenured.toml if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The directory for sockets and spooled DELs; must be cleared on reboot
    #[arg(long, value_name = "DIR", default_value = "/run/tenure")]
    run_dir: PathBuf,
    /// The directory for the checkpoint and for copies of policies
    #[arg(long, value_name = "DIR", default_value = "/var/lib/tenure")]
    state_dir: PathBuf,
    /// The node's name, instead of `node.name` of the configuration: that of its Kubernetes Node
    #[arg(long, value_name = "NAME", env = "TENURE_NODE_NAME")]
    node_name: Option<String>,
    /// Read the configuration again whenever its file changes, as a reload does; for a file that Kubernetes mounts.
    #[arg(long)]
    follow: bool,
    /// Check the configuration, the files that it names and both directories as a start would, change nothing, and exit
    #[arg(long)]
    check_config: bool,
    /// Print the configuration reference as Markdown
    #[arg(long, hide = true)]
    config_reference: bool,
}

fn main() -> ExitCode {
    // The daemon runs itself as a child process to compile a policy; that process does nothing else.
    if let Some(code) = tenure_policy::maybe_run_compiler_child() {
        return code;
    }
    // And to run a delegate, which that process becomes.
    if let Some(code) = tenure_delegate::maybe_run_delegate_child() {
        return code;
    }
    let arguments = DaemonArguments::parse();
    if arguments.config_reference {
        print!("{}", reference::page());
        return ExitCode::SUCCESS;
    }
    let file = ConfigFile::new(arguments.config.clone());
    // Before it is read, so that no change comes between.
    let followed = arguments.follow.then(|| FollowedConfig::new(file.path()));
    let config = match file.read() {
        Ok(config) => config,
        Err(error) => {
            eprintln!("tenured: {}", printable::lines(&error.to_string()));
            return ExitCode::from(exit::PERMANENT);
        }
    };
    if arguments.check_config {
        return check::check(&config, &arguments);
    }
    match start(&arguments, file, config, followed) {
        Ok(()) => ExitCode::SUCCESS,
        // Print to standard error: logging itself may have failed.
        Err(error) => failed(&error, &arguments.state_dir),
    }
}

/// Says why the daemon does not start, and what to do.
fn failed(error: &anyhow::Error, state_dir: &Path) -> ExitCode {
    eprintln!("tenured: {}", printable::lines(&fault::line(error)));
    if let Some(next_step) = fault::next_step(error, state_dir) {
        eprintln!(" next: {}", printable::lines(&next_step));
    }
    ExitCode::from(fault::code(error))
}

fn start(
    arguments: &DaemonArguments,
    file: ConfigFile,
    config: Config,
    followed: Option<FollowedConfig>,
) -> anyhow::Result<()> {
    let log = tenure_observe::logging::init(config.log.format, config.log.level.clone())?;
    // Two more than there are cores, because a worker occasionally blocks on a file.
    let workers = std::thread::available_parallelism().map_or(2, usize::from) + 2;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    let served = runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let outside = Surroundings {
            config_file: Arc::new(file),
            run_dir: &arguments.run_dir,
            state_dir: &arguments.state_dir,
            identity: identity::read(&config.node, arguments.node_name.as_deref())?,
            clock: Arc::new(KernelClock),
            compiler: Compiler::Child,
            log,
            reloads: ReloadRequests { hangups: hangups()?, followed },
        };
        App::build(config, outside)?.run(&mut signals).await
    });
    // Tasks that still wait for a disk or socket end with the process.
    runtime.shutdown_background();
    served
}
