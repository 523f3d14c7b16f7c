//! Programs in Go, for tests.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};

/// The pauses before a build that failed is tried again. It downloads the modules that this machine does not have yet, and a network fails
/// for a moment; where it compiles, none of them is waited for.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(20)];

/// Builds the package of a module in `folder` as a program, without C libraries.
///
/// # Errors
/// When it cannot be built; the error has the last lines of the compiler.
pub fn build(folder: &Path, package: &str, program: &Path) -> anyhow::Result<()> {
    let mut go = Command::new("go");
    // The state of the repository is not part of the program.
    go.args(["build", "-buildvcs=false", "-o"])
        .arg(program)
        .arg(package)
        .current_dir(folder)
        .env("CGO_ENABLED", "0");
    let mut pauses = PAUSES.iter();
    loop {
        let output = go.output().context("go")?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let Some(pause) = pauses.next() else { bail!("{go:?}: {}: {said}", output.status) };
        eprintln!("{go:?}: {}, tried again in {pause:?}: {said}", output.status);
        thread::sleep(*pause);
    }
}
