//! Completion scripts and manual pages, generated from the command line's definition.

use std::path::Path;

use clap::{Command, CommandFactory};
use tenure_types::{Error, ErrorCode};

use crate::arguments::CtlArguments;

/// A shell's completion script.
pub(crate) fn completions(shell: clap_complete::Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CtlArguments::command(), "tenurectl", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Writes a manual page for the program and one for each command; creates the directory if it is absent. Returns how many there are.
pub(crate) fn manual(directory: &Path) -> Result<usize, Error> {
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(CtlArguments::command(), directory))
        .map(|()| pages(&CtlArguments::command()))
        .map_err(|error| Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", directory.display())))
}

/// The number of pages of a command: its own and those of the commands below it that are not hidden.
fn pages(command: &Command) -> usize {
    1 + command.get_subcommands().filter(|command| !command.is_hide_set()).map(pages).sum::<usize>()
}
