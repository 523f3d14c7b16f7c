//! `tenurectl`: one command line for whoever operates a node.
//!
//! A command becomes an [`Outcome`]: text for people, JSON for programs and an exit code, each made by a pure
//! function from the daemon's answer. What may be long is printed as it comes, by `allocations` and `log`; all else by this file.

mod allocations;
mod arguments;
mod daemon;
mod exit;
mod import;
mod json;
mod log;
mod pages;
mod release;
mod render;
mod repair;
mod status;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use tenure_rpc::v1;
use tenure_types::{Error, ErrorCode};

use arguments::{Arguments, Command, Output, Policy, Question};
use daemon::Daemon;
use exit::Exit;

/// What a command prints, and how it ends.
struct Outcome {
    text: String,
    json: serde_json::Value,
    exit: Exit,
}

impl Outcome {
    fn done(text: String, json: serde_json::Value) -> Self {
        Self { text, json, exit: Exit::Done }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let output = arguments.output;
    match run(arguments) {
        Ok(exit) => exit.into(),
        Err(error) => {
            let text = match output {
                Output::Table => exit::text(&error),
                Output::Json => format!("{}\n", exit::json(&error)),
            };
            // There is nobody left to tell when standard error is gone.
            let _ = io::stderr().write_all(text.as_bytes());
            Exit::of(error.code).into()
        }
    }
}

fn run(Arguments { run_dir, output, timeout, command }: Arguments) -> Result<Exit, Error> {
    let daemon = Daemon::at(&run_dir, timeout);
    match command {
        Command::Allocations { network } => {
            block_on(allocations::print(&daemon, network.unwrap_or_default(), output))??;
        }
        Command::Ask(question) => {
            let outcome = block_on(answer(&daemon, question))??;
            match output {
                Output::Table => print(&outcome.text)?,
                Output::Json => print(&format!("{}\n", outcome.json))?,
            }
            return Ok(outcome.exit);
        }
        Command::Log { follow, state_dir } => block_on(log::print(&daemon, state_dir, follow, output))??,
        Command::Completions { shell } => print(&pages::completions(shell))?,
        Command::Man { directory } => pages::manual(&directory)?,
    }
    Ok(Exit::Done)
}

/// Runs what waits for sockets and timers.
fn block_on<F: Future>(future: F) -> Result<F::Output, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|error| Error::new(ErrorCode::InputOutput, error))?.block_on(future))
}

/// Asks the daemon and makes an outcome of what it says.
async fn answer(daemon: &Daemon, question: Question) -> Result<Outcome, Error> {
    Ok(match question {
        Question::Status { wait } => status::ask(daemon, wait).await?,
        Question::Networks => {
            let answer =
                daemon.call(async |mut admin| admin.list_networks(v1::ListNetworksRequest {}).await).await?;
            Outcome::done(render::networks(&answer), json::networks(&answer))
        }
        Question::Allocation { address } => {
            let request = v1::GetAddressRequest { address: address.to_string() };
            let answer = daemon.call(async |mut admin| admin.get_address(request).await).await?;
            if answer.states.is_empty() {
                let cause = format!("{address} is in no range of any network on this node");
                return Err(Error::new(ErrorCode::UnknownAddress, cause));
            }
            Outcome::done(render::address(&address, &answer, render::now_ms()), json::address(&answer))
        }
        Question::Check => {
            let answer = daemon.call(async |mut admin| admin.check(v1::CheckRequest {}).await).await?;
            let exit = if answer.findings.is_empty() { Exit::Done } else { Exit::Problems };
            Outcome { text: render::check(&answer), json: json::check(&answer), exit }
        }
        Question::Release { address, network, generation, reason, force, apply } => {
            let request = v1::ReleaseRequest {
                address: address.to_string(),
                network: network.unwrap_or_default(),
                generation: generation.unwrap_or_default(),
                apply,
                reason: reason.unwrap_or_default(),
                force,
            };
            release::run(daemon, request).await?
        }
        Question::Repair { from, apply } => repair::run(daemon, &from, apply).await?,
        Question::Import { source, config, apply } => {
            import::run(daemon, &source, config.as_deref(), apply).await?
        }
        Question::Adopt { .. } => {
            let answer = daemon.call(async |mut admin| admin.adopt(v1::AdoptRequest {}).await).await?;
            Outcome::done(render::adopted(&answer), json::adopted(&answer))
        }
        Question::Policy(Policy::List) => {
            let answer =
                daemon.call(async |mut admin| admin.list_policies(v1::ListPoliciesRequest {}).await).await?;
            Outcome::done(render::policies(&answer), json::policies(&answer))
        }
        Question::Policy(Policy::Activate { network, name }) => {
            let request = v1::ActivatePolicyRequest { network: network.clone(), policy: name };
            let answer = daemon.call(async |mut admin| admin.activate_policy(request).await).await?;
            Outcome::done(render::activated(&network, &answer), json::activated(&answer))
        }
    })
}

/// Prints to standard output. A reader that has seen enough, such as `head`, is no failure.
fn print(text: &str) -> Result<(), Error> {
    print_on(text).map(drop)
}

/// Prints to standard output; `false` when whoever read has seen enough.
fn print_on(text: &str) -> Result<bool, Error> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Error::new(ErrorCode::InputOutput, format_args!("standard output: {error}"))),
        Ok(()) => Ok(true),
    }
}
