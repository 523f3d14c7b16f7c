//! Installs moto, which plays AWS for a suite that can be skipped. It needs Python with `venv`, and Python's packages within reach.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::command::{run, succeeds};
use crate::workspace::Workspace;

/// Installs the version that the tests are written for, into a folder of the target folder that is named after it. Where that
/// cannot be done, says so: the suite is skipped.
///
/// # Errors
/// When the file that names the version cannot be read, or what was half installed cannot be removed.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    let file = workspace.root.join("host/e2e/moto.txt");
    let requirement = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let version = requirement.trim().rsplit("==").next().unwrap_or_default();
    let folder = workspace.target.join(format!("moto-{version}"));
    if folder.join("bin/moto_server").exists() {
        println!("moto {version}: installed");
        return Ok(());
    }
    if !succeeds(Command::new("python3").args(["-m", "venv", "--help"])) {
        println!("note: moto {version} needs python3 with venv; its suite is skipped");
        return Ok(());
    }
    println!("moto {version}: installing, once");
    let installed = run(Command::new("python3").args(["-m", "venv"]).arg(&folder)).and_then(|()| {
        let quickly = ["install", "--quiet", "--retries", "1", "--requirement"];
        run(Command::new(folder.join("bin/pip")).args(quickly).arg(&file))
    });
    if let Err(error) = installed {
        println!("note: moto {version} cannot be installed, and its suite is skipped: {error:#}");
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
    }
    Ok(())
}
