//! `tenure`, the CNI IPAM plugin: checks a call, hands it to the daemon and prints the answer.
//!
//! It holds no policy and no state. Whatever happens, it prints one thing, once, at the very end: a result or an error
//! object, never both; it starts no thread and no child, so that nothing keeps its standard output open. It decides nothing
//! by its own name, and serves as well when it is installed as `host-local`.

mod call;
mod daemon;
mod deadline;
mod input;
mod netns;
mod wait;

use std::io::Write as _;
use std::process::ExitCode;

use tenure_types::cni::{self, ErrorReport, SpecVersion};
use tenure_types::{Error, ErrorCode};

fn main() -> ExitCode {
    // First of all: a DEL that begins later must be seen to have begun later.
    let started = deadline::now();
    std::panic::set_hook(Box::new(|panic| {
        let error = Error::new(ErrorCode::Internal, format_args!("the plugin has panicked: {panic}"));
        print(&format!("{}\n", ErrorReport::from(&error).render(SpecVersion::NEWEST)));
        std::process::exit(1);
    }));
    if call::variable("CNI_COMMAND").is_none_or(|command| command.is_empty()) {
        eprintln!("{}", cni::about());
        return ExitCode::SUCCESS;
    }
    match call::answer(started) {
        Ok(output) => print(&output),
        Err(failure) => {
            print(&format!("{}\n", failure.report.render(failure.version)));
            ExitCode::FAILURE
        }
    }
}

/// Prints everything there is to print.
fn print(text: &str) -> ExitCode {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever started the plugin no longer reads; the exit code is all that can still be said.
        Err(_) => ExitCode::FAILURE,
    }
}
