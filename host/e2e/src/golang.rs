//! Programs in Go, for tests.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// Builds the package of a module in `folder` as a program, without C libraries.
///
/// # Errors
/// When it cannot be built, with what the compiler said.
pub fn build(folder: &Path, package: &str, program: &Path) -> anyhow::Result<()> {
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(program).arg(package).current_dir(folder).env("CGO_ENABLED", "0");
    let output = go.output().context("go")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{go:?}: {}: {said}", output.status);
    Ok(())
}
