//! Measures the cost of an address on this machine, compared with /bin/true and host-local.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::command::run;
use crate::dist;
use crate::kubernetes;
use crate::tools;
use crate::workspace::{WHOLE, Workspace};

/// Builds in release mode and measures.
///
/// # Errors
/// When something cannot be built or measured.
pub(crate) fn bench(
    workspace: &Workspace,
    output: &str,
    keep: Option<&Path>,
    only: Option<&str>,
) -> Result<()> {
    tools::install_all(workspace)?;
    kubernetes::api_server(workspace)?;
    dist::dist(workspace)?;
    let release = ["build", "--release", "--package"];
    run(workspace.cargo().args(release).args(["tenure-e2e", "--bin", "tenure-bench"]))?;
    run(workspace.cargo().args(release).args(["tenure-policy", "--example", "measure"]))?;
    run(workspace.cargo().args(release).args(["tenure-cluster", "--example", "herd"]))?;
    let mut bench = measuring(workspace, "release", "dist");
    bench.args(["--output", output]);
    if let Some(directory) = keep {
        bench.arg("--keep").arg(directory);
    }
    if let Some(rows) = only {
        bench.args(["--only", rows]);
    }
    run(&mut bench)
}

/// Builds in development mode, and checks that each measurement runs.
///
/// # Errors
/// When something cannot be built, or a measurement fails.
pub(crate) fn short(workspace: &Workspace) -> Result<()> {
    run(workspace.cargo().arg("build").args(WHOLE).arg("--all-targets"))?;
    run(&mut short_run(workspace))
}

/// The command that checks with the development build that each measurement runs; its figures mean nothing.
pub(crate) fn short_run(workspace: &Workspace) -> Command {
    let mut bench = measuring(workspace, "debug", "debug");
    bench.arg("--short");
    bench
}

/// The programs that a short run needs and this machine lacks, each with its Debian package.
pub(crate) fn missing() -> Vec<String> {
    let needed = [
        ("/usr/lib/cni/host-local", "containernetworking-plugins"),
        ("/usr/bin/valgrind", "valgrind"),
        ("/usr/bin/strace", "strace"),
    ];
    let missing = needed.into_iter().filter(|(path, _)| !Path::new(path).exists());
    missing.map(|(path, package)| format!("{path} from package {package}")).collect()
}

fn measuring(workspace: &Workspace, profile: &str, measured: &str) -> Command {
    let built = workspace.target.join(profile);
    let mut bench = Command::new(built.join("tenure-bench"));
    bench.env("TENURE_BIN_DIR", workspace.target.join(measured));
    bench.env("TENURE_MEASURE", built.join("examples/measure"));
    bench.env("TENURE_HERD", built.join("examples/herd"));
    bench
}
