//! The SDK in the archive: a workspace of its own, from which `tenurectl policy new` takes the crates of a new policy.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::copy;

/// The crates, by their folders in the repository and in the archive's `sdk`.
const CRATES: [(&str, &str); 6] = [
    ("sdk/guest", "guest"),
    ("sdk/config", "config"),
    ("sdk/build", "build"),
    ("sdk/testkit", "testkit"),
    ("host/types", "host/types"),
    ("host/ledger", "host/ledger"),
];

/// Copies the SDK to a folder.
///
/// # Errors
/// When a file cannot be read or written.
pub(super) fn sdk(root: &Path, folder: &Path) -> Result<()> {
    for (from, to) in CRATES {
        copy(&root.join(from), &folder.join(to))?;
    }
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    fs::write(
        folder.join("Cargo.toml"),
        workspace(&manifest).context("Cargo.toml has no [workspace.package]")?,
    )?;
    Ok(())
}

/// The repository's workspace with these members only, and its settings and dependencies as they are.
fn workspace(manifest: &str) -> Option<String> {
    let settings = manifest.get(manifest.find("[workspace.package]")?..)?;
    let settings = settings.get(..settings.find("[profile.").unwrap_or(settings.len()))?;
    let members: Vec<_> = CRATES.iter().map(|(_, to)| format!("{to:?}")).collect();
    let settings = settings.replace("path = \"sdk/", "path = \"");
    Some(format!("[workspace]\nresolver = \"3\"\nmembers = [{}]\n\n{settings}", members.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_s_workspace_has_its_own_members_and_the_repository_s_dependencies() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let folder = tempfile::tempdir().unwrap();
        sdk(root, folder.path()).unwrap();
        let manifest = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("tenure-sdk = { path = \"guest\""), "{manifest}");
        assert!(manifest.contains("[workspace.lints.rust]") && !manifest.contains("[profile"), "{manifest}");
        assert!(folder.path().join("guest/wit/ipam.wit").symlink_metadata().unwrap().is_file());
        // cargo itself accepts it: nothing in it leads out of the folder.
        let metadata = std::process::Command::new(env!("CARGO"))
            .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    }
}
