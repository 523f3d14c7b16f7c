//! Checks that the crates which authors of policies depend on could be published as they are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::command;
use crate::workspace::Workspace;

/// The metadata that a published package must have.
const METADATA: [&str; 4] = ["description", "license", "readme", "rust_version"];

/// Packs the crates that are to be published, and builds each from nothing but its package and those of the others.
///
/// # Errors
/// When a package lacks a file or a word about itself, or does not build.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let metadata =
        command::output(workspace.cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata.get("packages").and_then(Value::as_array);
    let published = packages.into_iter().flatten().filter(|package| is_null(package, "publish"));
    let mut cargo = workspace.cargo();
    // Together, so that each finds the others in a registry that cargo makes of them; the working tree may have changes.
    cargo.args(["package", "--quiet", "--allow-dirty"]);
    // From scratch: cargo knows a package by name and version, and would take what an earlier run has compiled and unpacked of it.
    let target = workspace.target.join("packages");
    if target.exists() {
        fs::remove_dir_all(&target).with_context(|| format!("cannot remove {}", target.display()))?;
    }
    cargo.arg("--target-dir").arg(&target);
    for package in published {
        let name = package.get("name").and_then(Value::as_str).unwrap_or_default();
        let missing: Vec<_> = METADATA.iter().filter(|key| is_null(package, key)).collect();
        ensure!(missing.is_empty(), "{name} has no {missing:?} in its Cargo.toml");
        let version = package.get("version").and_then(Value::as_str).unwrap_or_default();
        forget(&format!("{name}-{version}"))?;
        cargo.args(["--package", name]);
    }
    command::run(&mut cargo)
}

/// Removes what cargo has unpacked of a package of an earlier run.
fn forget(package: &str) -> Result<()> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let Some(unpacked) = home.map(|home| home.join("registry/src")) else { return Ok(()) };
    for registry in entries(&unpacked).into_iter().filter(|folder| is_made_by_cargo(folder)) {
        let old = registry.join(package);
        if old.exists() {
            fs::remove_dir_all(&old).with_context(|| format!("cannot remove {}", old.display()))?;
        }
    }
    Ok(())
}

/// Whether this is the folder of a registry that cargo makes of packages that are not published: its address has no host.
fn is_made_by_cargo(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with('-'))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn is_null(package: &Value, key: &str) -> bool {
    package.get(key).is_none_or(Value::is_null)
}
