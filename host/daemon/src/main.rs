//! `tenured`, the node daemon: reads its configuration, plugs the crates together and runs until it is told to stop.

mod app;
mod check;
mod clock;
mod config;
mod fault;
mod live;
mod mark;
mod node;
mod observer;
mod parts;
mod policies;
mod reference;
mod replay;
mod run_dir;
mod signals;
mod state;
mod state_seen;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use tenure_policy::Compiler;

use crate::app::{App, Outside};
use crate::clock::KernelClock;
use crate::config::Config;
use crate::signals::Signals;

const EXIT_CODES: &str = "Exit codes:
  0  stopped as it was told to
  1  something failed that may pass: starting it again may help
  2  the configuration, the command line, the state or the rights to a directory are wrong: starting it again does not help";

/// Owns the addresses of a node: serves container runtimes through the `tenure` CNI plugin, and operators through tenurectl.
#[derive(Debug, Parser)]
#[command(name = "tenured", version, after_help = EXIT_CODES)]
struct Arguments {
    /// The configuration file [default: /etc/tenure/tenured.toml if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the sockets and spooled DELs lie; a boot clears it
    #[arg(long, value_name = "DIR", default_value = "/run/tenure")]
    run_dir: PathBuf,
    /// Where the checkpoint and the policies' copies lie
    #[arg(long, value_name = "DIR", default_value = "/var/lib/tenure")]
    state_dir: PathBuf,
    /// Checks the configuration and what it names, and starts nothing
    #[arg(long)]
    check_config: bool,
    /// Prints the configuration reference as Markdown
    #[arg(long, hide = true)]
    config_reference: bool,
}

fn main() -> ExitCode {
    // This program starts itself to compile a policy; then it is nothing else.
    if let Some(code) = tenure_policy::maybe_run_compiler_child() {
        return code;
    }
    let arguments = Arguments::parse();
    if arguments.config_reference {
        print!("{}", reference::page());
        return ExitCode::SUCCESS;
    }
    let config = match Config::read(arguments.config.as_deref()) {
        Ok(config) => config,
        Err(error) => {
            eprintln!("tenured: {error}");
            return ExitCode::from(fault::PERMANENT);
        }
    };
    if arguments.check_config {
        return check::check(&config);
    }
    match start(&arguments, config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Logging may be what failed, and a person may be watching.
            eprintln!("tenured: {error:#}");
            if let Some(next_step) = fault::next_step(&error, &arguments.state_dir) {
                eprintln!(" next: {next_step}");
            }
            ExitCode::from(fault::code(&error))
        }
    }
}

fn start(arguments: &Arguments, config: Config) -> anyhow::Result<()> {
    let log = tenure_observe::logging::init(config.log.format, config.log.level.clone())?;
    // Two more than cores: now and then one waits for a file.
    let workers = std::thread::available_parallelism().map_or(2, usize::from) + 2;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    let served = runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let outside = Outside {
            config_file: arguments.config.as_deref(),
            run_dir: &arguments.run_dir,
            state_dir: &arguments.state_dir,
            clock: Arc::new(KernelClock),
            compiler: Compiler::Child,
            log,
            hangups: signals::hangups()?,
        };
        App::build(config, outside)?.run(&mut signals).await
    });
    // Whatever still waits for a disk or a socket ends with the process.
    runtime.shutdown_background();
    served
}
