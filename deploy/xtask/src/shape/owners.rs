//! Dependencies that few crates may name, so that what they bring stays in one wing.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Each such dependency, with the folders of the crates that may name it.
const OWNED: [(&str, &[&str]); 2] =
    [("kube", &["host/cluster", "host/operator"]), ("k8s-openapi", &["host/cluster", "host/operator"])];

/// Complains about each crate in the folders that names a dependency that is not its own.
///
/// # Errors
/// When a folder or a manifest cannot be read.
pub(super) fn complaints(root: &Path, folders: &[&str]) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for folder in folders {
        let path = root.join(folder);
        let entries = fs::read_dir(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for entry in entries {
            let name = entry?.file_name();
            let name = format!("{folder}/{}", name.to_string_lossy());
            let manifest = root.join(&name).join("Cargo.toml");
            if manifest.exists() {
                complaints.extend(judge(&name, &fs::read_to_string(manifest)?));
            }
        }
    }
    complaints.sort_unstable();
    Ok(complaints)
}

/// Complaints about one crate's manifest.
fn judge(folder: &str, manifest: &str) -> Vec<String> {
    let named = |dependency: &str| {
        manifest.lines().any(|line| {
            let name = line.trim_start_matches("[dependencies.").split([' ', '=', '.', ']']).next();
            name == Some(dependency) || line.contains(&format!("package = \"{dependency}\""))
        })
    };
    OWNED
        .iter()
        .filter(|(dependency, owners)| !owners.contains(&folder) && named(dependency))
        .map(|(dependency, owners)| {
            format!("{folder}: only {} may depend on {dependency}", owners.join(" and "))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_of_another_wing_may_not_name_kube() {
        let lines = [
            "kube = { workspace = true }",
            "kube.workspace = true",
            "[dependencies.kube]",
            "cube = { package = \"kube\", version = \"5\" }",
        ];
        for line in lines {
            assert_eq!(
                judge("host/daemon", line),
                ["host/daemon: only host/cluster and host/operator may depend on kube"]
            );
            assert!(judge("host/cluster", line).is_empty());
        }
        assert!(
            judge("host/daemon", "kube-core = \"1\"\n# kube is elsewhere\ntenure-cluster.workspace = true")
                .is_empty()
        );
    }
}
