//! Completion scripts and manual pages, generated from the command line's definition.

use std::path::Path;

use clap::CommandFactory;
use tenure_types::{Error, ErrorCode};

use crate::arguments::CtlArguments;

/// A shell's completion script.
pub(crate) fn completions(shell: clap_complete::Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CtlArguments::command(), "tenurectl", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Writes a manual page for the program and one for each command; creates the directory if it is absent.
pub(crate) fn manual(directory: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(CtlArguments::command(), directory))
        .map_err(|error| Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", directory.display())))
}
