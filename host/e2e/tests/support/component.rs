//! Policies as files: built from this workspace, for use in a configuration.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use sha2::{Digest, Sha256};
use tenure_e2e::Daemon;
use tenure_sdk_build::Builder;

/// Builds a policy of this workspace, a package or `PACKAGE/EXAMPLE`, and writes it to a file that a configuration can name.
pub(crate) fn build(policy: &str, daemon: &Daemon) -> anyhow::Result<PathBuf> {
    /// One build at a time: they share a target directory.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("no workspace")?;
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wasm");
    let builder = Builder::new(workspace, target)?;
    let (name, component) = match policy.split_once('/') {
        Some((package, example)) => (example, builder.example(package, example)?),
        None => (policy, builder.component(policy)?),
    };
    let path = daemon.path(&format!("{name}.wasm"));
    std::fs::write(&path, component)?;
    Ok(path)
}

/// A configuration's entry for a policy in a file.
pub(crate) fn entry(name: &str, path: &Path) -> anyhow::Result<String> {
    Ok(entry_with(name, path, &digest(path)?))
}

/// The digest of a component's file.
pub(crate) fn digest(path: &Path) -> anyhow::Result<String> {
    Ok(Sha256::digest(std::fs::read(path)?).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The same with any digest, which may be wrong.
pub(crate) fn entry_with(name: &str, path: &Path, digest: &str) -> String {
    format!("[policies.{name}]\npath = \"{}\"\nsha256 = \"{digest}\"\n", path.display())
}
