//! `tenure`, the CNI IPAM plugin: checks a call, forwards it to the daemon and prints the answer.
//!
//! It has no policy and no state. In every case, it prints exactly once, at the very end: either a result or an error
//! object. It starts no thread and no child process, so that nothing keeps its standard output open. It can be installed as
//! `host-local`; under the name `tenure-eni` it is a main plugin, and asks the daemon to make the pod's link, too.

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
    // Read the clock first: a DEL that starts later must have a later start time.
    let started = deadline::now();
    std::panic::set_hook(Box::new(|panic| {
        let error = Error::new(ErrorCode::Internal, format_args!("the plugin panicked: {panic}"));
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

/// Prints the output and returns the exit code.
fn print(text: &str) -> ExitCode {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        // The caller no longer reads; the exit code is the only way left to report it.
        Err(_) => ExitCode::FAILURE,
    }
}
