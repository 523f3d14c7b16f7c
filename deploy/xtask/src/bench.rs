//! What an address costs on this machine, beside /bin/true and host-local.

use std::path::Path;

use anyhow::Result;

use crate::command::run;
use crate::dist;
use crate::tools;
use crate::workspace::Workspace;

/// Builds for release and measures; `short` only shows that each measurement runs.
///
/// # Errors
/// When something cannot be built or measured.
pub(crate) fn bench(workspace: &Workspace, short: bool, json: bool, keep: Option<&Path>) -> Result<()> {
    tools::install_all(workspace)?;
    dist::dist(workspace)?;
    let release = ["build", "--release", "--package"];
    run(workspace.cargo().args(release).args(["tenure-e2e", "--bin", "tenure-bench"]))?;
    run(workspace.cargo().args(release).args(["tenure-policy", "--example", "measure"]))?;
    let mut bench = std::process::Command::new(workspace.target.join("release/tenure-bench"));
    bench.env("TENURE_BIN_DIR", workspace.target.join("dist"));
    bench.env("TENURE_MEASURE", workspace.target.join("release/examples/measure"));
    bench.args(short.then_some("--short")).args(json.then_some("--json"));
    if let Some(path) = keep {
        bench.arg("--keep").arg(path);
    }
    run(&mut bench)
}
