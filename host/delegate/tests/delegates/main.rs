//! Delegates that behave, and those that do not. Like the daemon, this program starts itself to become a delegate.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "these are tests, but clippy knows only those of the standard runner"
)]

mod hostile;
mod real;
mod support;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial, run};

use crate::support::outlived;

fn main() -> ExitCode {
    if let Some(code) = tenure_delegate::maybe_run_delegate_child() {
        return code;
    }
    if let Some(code) = outlived::maybe_hang() {
        return code;
    }
    // One at a time: a script that another thread's child still has open for writing cannot run.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    run(&arguments, hostile::trials().into_iter().chain(real::trials()).collect()).exit_code()
}

type Body = fn() -> Result<(), Failed>;

fn trial(name: &'static str, body: Body) -> Trial {
    Trial::test(name, body)
}
