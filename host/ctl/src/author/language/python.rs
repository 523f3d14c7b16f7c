//! Policies in Python: CPython itself in the component.

use std::path::Path;
use std::process::Command;

use tenure_types::Error;

use super::bindings::WORLD;
use super::module::read;
use super::tool::{Tool, run};

const PYTHON: Tool = Tool {
    program: "python3",
    remedy: "install Python 3.10 or later with its venv module, on Debian `apt install python3-venv`",
};

/// The programs of the folder's own environment.
const PROGRAMS: &str = ".venv/bin";

/// The component.
const OUTPUT: &str = "policy.wasm";

/// Builds the policy in a folder.
pub(super) fn build(folder: &Path) -> Result<Vec<u8>, Error> {
    if !folder.join(PROGRAMS).join("pip").exists() {
        PYTHON.run(folder, &["-m", "venv", ".venv"], &[])?;
    }
    program(
        folder,
        "pip",
        &["install", "--quiet", "--disable-pip-version-check", "--requirement", "requirements.txt"],
    )?;
    let arguments = [
        "--quiet",
        "--wit-path",
        "wit",
        "--world",
        WORLD,
        "componentize",
        "--stub-wasi",
        "--output",
        OUTPUT,
        "rule",
    ];
    program(folder, "componentize-py", &arguments)?;
    read(&folder.join(OUTPUT))
}

/// Runs a program of the folder's environment.
fn program(folder: &Path, name: &str, arguments: &[&str]) -> Result<(), Error> {
    let mut command = Command::new(Path::new(PROGRAMS).join(name));
    run(command.current_dir(folder).args(arguments), "delete .venv and build again").map(drop)
}
