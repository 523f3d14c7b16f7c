//! Checks that the crates which authors of policies depend on could be published as they are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::command;
use crate::workspace::Workspace;

/// The metadata that a published package must have.
const METADATA: [&str; 4] = ["description", "license", "readme", "rust_version"];

/// The command that packs the crates that are to be published, and builds each from nothing but its package and those of the others.
///
/// # Errors
/// If a package lacks one of [`METADATA`], or files of an earlier run cannot be removed.
pub(crate) fn checking(workspace: &Workspace) -> Result<Command> {
    let metadata =
        command::output(workspace.cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata.get("packages").and_then(Value::as_array);
    let published = packages.into_iter().flatten().filter(|package| is_null(package, "publish"));
    let mut cargo = workspace.cargo();
    // Together, so that each finds the others in a registry that cargo makes of them; the working tree may have changes.
    cargo.args(["package", "--quiet", "--allow-dirty"]);
    // What they depend on is compiled once; its debug information is of no use.
    let target = workspace.target.join("packages");
    cargo.arg("--target-dir").arg(&target).env("CARGO_PROFILE_DEV_DEBUG", "0");
    for package in published {
        let name = package.get("name").and_then(Value::as_str).unwrap_or_default();
        let missing: Vec<_> = METADATA.iter().filter(|key| is_null(package, key)).collect();
        ensure!(missing.is_empty(), "{name} has no {missing:?} in its Cargo.toml");
        let version = package.get("version").and_then(Value::as_str).unwrap_or_default();
        forget(&target, name, version)?;
        cargo.args(["--package", name]);
    }
    Ok(cargo)
}

/// Removes what cargo has unpacked and compiled of a package in an earlier run: it knows a package by name and version, and would take that.
fn forget(target: &Path, name: &str, version: &str) -> Result<()> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let unpacked = home.map(|home| entries(&home.join("registry/src"))).unwrap_or_default();
    let unpacked = unpacked.into_iter().filter(|folder| is_made_by_cargo(folder));
    let unpacked = unpacked.map(|registry| registry.join(format!("{name}-{version}")));
    let compiled =
        entries(&target.join("debug/.fingerprint")).into_iter().filter(|folder| is_of(folder, name));
    for old in unpacked.filter(|folder| folder.exists()).chain(compiled) {
        fs::remove_dir_all(&old).with_context(|| format!("cannot remove {}", old.display()))?;
    }
    Ok(())
}

/// Whether cargo names a folder after a package: `tenure-sdk-4323602f1849afa4`.
fn is_of(folder: &Path, package: &str) -> bool {
    let folder = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    folder.rsplit_once('-').is_some_and(|(name, _)| name == package)
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
