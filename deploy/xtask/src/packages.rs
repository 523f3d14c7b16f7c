//! Checks that the crates which authors of policies depend on could be published as they are.

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::command;
use crate::workspace::Workspace;

/// What a published package must say of itself.
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
    for package in published {
        let name = package.get("name").and_then(Value::as_str).unwrap_or_default();
        let missing: Vec<_> = METADATA.iter().filter(|key| is_null(package, key)).collect();
        ensure!(missing.is_empty(), "{name} has no {missing:?} in its Cargo.toml");
        cargo.args(["--package", name]);
    }
    command::run(&mut cargo)
}

fn is_null(package: &Value, key: &str) -> bool {
    package.get(key).is_none_or(Value::is_null)
}
