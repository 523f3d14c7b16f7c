//! `tenurectl`: the command line for a node's operator.
//!
//! ```text
//! arguments ─▶ verbs (call the daemon, read files) ─▶ report (plain data) ─▶ render (text, tables, JSON) ─▶ print
//! ```
//!
//! A verb does not know how its report is rendered, and the renderers do not know where a report came from. Output that may be long
//! (`allocations`, `log`) is streamed and printed piece by piece.

mod arguments;
#[cfg(feature = "author")]
mod author;
mod clock;
mod daemon;
mod exit;
mod pages;
mod print;
#[cfg(feature = "registry")]
mod progress;
#[cfg(feature = "registry")]
mod registry;
mod render;
mod report;
mod values;
mod verbs;

use std::process::ExitCode;

use clap::Parser;
use tenure_types::{Error, ErrorCode};

use arguments::{CtlArguments, CtlCommand, Output};
#[cfg(feature = "registry")]
use arguments::{PolicyVerb, Question};
use daemon::Daemon;
use exit::Exit;
use print::OutputFormat;
use render::{LogFilter, Report, View};

fn main() -> ExitCode {
    // The program runs itself as a child process to compile a policy and to speak to a registry; that process does nothing else.
    if let Some(code) = tenure_policy::maybe_run_compiler_child() {
        return code;
    }
    #[cfg(feature = "registry")]
    if let Some(code) = registry::maybe_run_child() {
        return code;
    }
    let arguments = CtlArguments::parse();
    let format = format(&arguments);
    match run(arguments, &format) {
        Ok(exit) => exit.into(),
        Err(error) => {
            print::error(&error, &format);
            Exit::of(error.code).into()
        }
    }
}

fn run(
    CtlArguments { run_dir, timeout, command, .. }: CtlArguments,
    format: &OutputFormat,
) -> Result<Exit, Error> {
    let daemon = Daemon::at(&run_dir, timeout);
    match command {
        #[cfg(feature = "registry")]
        CtlCommand::Ask(Question::Policy(PolicyVerb::Pull(pull))) if pull.follow => {
            block_on(verbs::follow_references(&pull, timeout, |news| print_news(news, format)))??;
        }
        CtlCommand::Ask(question) => {
            let report = block_on(verbs::ask(&daemon, question))??;
            print::report(&report, format)?;
            report.failures().iter().for_each(|failure| print::error(failure, format));
            return Ok(report.exit());
        }
        CtlCommand::Node(verb) if verb.follows() => {
            block_on(verbs::follow(&daemon, &verb, |news| print_news(news, format)))??;
        }
        CtlCommand::Node(verb) => {
            let report = block_on(verbs::node(&daemon, &run_dir, verb))??;
            print::report(&report, format)?;
            return Ok(report.exit());
        }
        CtlCommand::Allocations { network } => {
            let network = network.unwrap_or_default();
            let mut list = print::AllocationPrinter::new(&network, format);
            block_on(verbs::allocations(&daemon, network, |next| list.print(next)))??;
        }
        CtlCommand::Log { follow, since, networks, state_dir } => {
            let filter = LogFilter { since_ms: since.unwrap_or_default(), networks };
            let mut log = print::LogPrinter::new(format, filter);
            block_on(verbs::log(&daemon, state_dir, follow, |next| log.print(next)))??;
        }
        CtlCommand::Export { target } => {
            let report = verbs::export(&target, &run_dir)?;
            print::report(&report, format)?;
            return Ok(report.exit());
        }
        CtlCommand::Completions { shell } => print::text(&pages::completions(shell)).map(drop)?,
        CtlCommand::Man { directory } => {
            let written = pages::manual(&directory)?;
            print::text(&format!("wrote {written} pages to {}\n", directory.display()))?;
        }
    }
    Ok(Exit::Done)
}

/// Prints the news of a verb that stays. A reader that is gone does not keep it from its work.
fn print_news(news: Result<Report, Error>, format: &OutputFormat) {
    match news {
        Ok(report) => drop(print::report(&report, format)),
        Err(error) => print::error(&error, format),
    }
}

/// How to print.
fn format(arguments: &CtlArguments) -> OutputFormat {
    let view = View {
        is_wide: arguments.output == Output::Wide,
        has_heads: !arguments.no_headers,
        sort_by: arguments.sort_by.clone(),
    };
    if arguments.output == Output::Json { OutputFormat::Json } else { OutputFormat::Table(view) }
}

/// Runs a future on a runtime with I/O and timers.
fn block_on<F: Future>(future: F) -> Result<F::Output, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|error| Error::new(ErrorCode::InputOutput, error))?.block_on(future))
}
