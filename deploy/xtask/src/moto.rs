//! Installs what the tests need in Python, for suites that can be skipped: moto, which plays AWS, and gRPC's own library. It needs Python with
//! `venv`, and Python's packages within reach.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::command::{run, succeeds};
use crate::workspace::Workspace;

/// Each package to install, with the file that exists once it is installed.
const PACKAGES: [(&str, &str); 2] = [("moto", "bin/moto_server"), ("grpcio", INSTALLED)];

/// The file that is written once everything is installed.
const INSTALLED: &str = "installed";

/// Installs the versions that the tests are written for, each into a folder of the target folder that is named after it. Where that
/// cannot be done, says so: the suite is skipped.
///
/// # Errors
/// When the file that names the version cannot be read, or what was half installed cannot be removed.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    PACKAGES.iter().try_for_each(|(name, shows)| install_one(workspace, name, shows))
}

fn install_one(workspace: &Workspace, name: &str, shows: &str) -> Result<()> {
    let file = workspace.root.join(format!("host/e2e/{name}.txt"));
    let requirement = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let version = requirement.trim().rsplit("==").next().unwrap_or_default();
    let folder = workspace.target.join(format!("{name}-{version}"));
    if folder.join(shows).exists() {
        println!("{name} {version}: installed");
        return Ok(());
    }
    if !succeeds(Command::new("python3").args(["-m", "venv", "--help"])) {
        println!("note: {name} {version} needs python3 with venv; its suite is skipped");
        return Ok(());
    }
    println!("{name} {version}: installing, once");
    let installed = run(Command::new("python3").args(["-m", "venv"]).arg(&folder)).and_then(|()| {
        let quickly = ["install", "--quiet", "--retries", "1", "--requirement"];
        run(Command::new(folder.join("bin/pip")).args(quickly).arg(&file))?;
        Ok(fs::write(folder.join(INSTALLED), "")?)
    });
    if let Err(error) = installed {
        println!("note: {name} {version} cannot be installed, and its suite is skipped: {error:#}");
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
    }
    Ok(())
}
