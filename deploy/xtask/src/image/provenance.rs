//! The provenance of an image: an in-toto statement (v1) with the predicate of SLSA (provenance v1). Sign it with what your registry trusts.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::layout::{self, WrittenImage};
use crate::command::output;
use crate::workspace::Workspace;

/// The statement about an image. It has no time, so that it is the same each time.
///
/// # Errors
/// If the toolchain or the lock file cannot be read.
pub(super) fn of(workspace: &Workspace, image: &WrittenImage, revision: &str) -> Result<String> {
    let rustc = output(Command::new("rustc").arg("--version"))?;
    let lock = layout::digest(&fs::read(workspace.root.join("Cargo.lock"))?);
    let platforms: Vec<String> = image.sizes.iter().map(|(platform, _)| platform.to_string()).collect();
    let sha256 = |digest: &str| digest.strip_prefix("sha256:").map(str::to_owned).context("not a sha256");
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "https://tenure.dev/xtask/image/v1",
                "externalParameters": { "image": image.name, "platforms": platforms, "version": image.tag },
                "internalParameters": { "rustc": rustc.trim() },
                "resolvedDependencies": [
                    { "digest": { "gitCommit": revision }, "name": "source" },
                    { "digest": { "sha256": sha256(&lock)? }, "name": "Cargo.lock" },
                ],
            },
            "runDetails": { "builder": { "id": "https://tenure.dev/xtask" } },
        },
        "predicateType": "https://slsa.dev/provenance/v1",
        "subject": [{ "digest": { "sha256": sha256(&image.digest)? }, "name": image.name }],
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&statement)?))
}
