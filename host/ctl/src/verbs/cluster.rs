//! `tenurectl cluster import`: runs the verb of `tenure-operator`. It needs a person's own rights on the API server, which `tenurectl` does not speak to.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tenure_types::{Error, ErrorCode};

/// The program that has the verb.
const OPERATOR: &str = "tenure-operator";

/// Becomes `tenure-operator import` with these arguments. Returns only if that cannot be run.
pub(super) fn import(arguments: &[OsString]) -> Error {
    let program = beside().unwrap_or_else(|| PathBuf::from(OPERATOR));
    let failure = Command::new(&program).arg("import").args(arguments).exec();
    match failure.kind() {
        ErrorKind::NotFound => Error::new(
            ErrorCode::InputOutput,
            format_args!(
                "{OPERATOR} imports, and is neither beside tenurectl nor in PATH; unpack it beside tenurectl, or run `{OPERATOR} import` on a machine that has it and a kubeconfig of yours"
            ),
        ),
        _ => Error::new(ErrorCode::InputOutput, format_args!("cannot run {}: {failure}", program.display())),
    }
}

/// The operator in the directory of this program, if it is there.
fn beside() -> Option<PathBuf> {
    let directory = std::env::current_exe().ok()?.parent().map(Path::to_owned)?;
    Some(directory.join(OPERATOR)).filter(|program| program.is_file())
}
