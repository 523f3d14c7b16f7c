//! Locates the workspace and its build output.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::command;

/// The whole workspace, with what is left out of a developer's build because the AWS SDK takes minutes. One set of features in
/// all steps, so that nothing is built twice.
pub(crate) const WHOLE: [&str; 3] =
    ["--workspace", "--features", "tenure-daemon/aws,tenure-daemon/cluster,tenure-aws/sdk,tenure-e2e/aws"];

/// The workspace that `cargo xtask` was called in.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The folder of the root `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// As cargo reports it, because `CARGO_TARGET_DIR` may put it anywhere.
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// Finds the workspace with `cargo metadata`.
    ///
    /// # Errors
    /// When the current folder is not in a workspace that cargo can read.
    pub(crate) fn find() -> Result<Self> {
        let text = command::output(cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
        let metadata: Value = serde_json::from_str(&text).context("cargo metadata did not print JSON")?;
        let path = |key: &str| {
            metadata
                .get(key)
                .and_then(Value::as_str)
                .map(PathBuf::from)
                .with_context(|| format!("cargo metadata has no {key}"))
        };
        Ok(Self { root: path("workspace_root")?, target: path("target_directory")? })
    }

    /// A cargo command in the workspace's root.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = cargo();
        command.current_dir(&self.root);
        command
    }

    /// The folder of a development build's binaries.
    pub(crate) fn binaries(&self) -> PathBuf {
        self.target.join("debug")
    }

    /// The folder of the binaries that demonstrations build, by the profile `demo`.
    pub(crate) fn demo_binaries(&self) -> PathBuf {
        self.target.join("demo")
    }

    /// The folder of the book.
    pub(crate) fn book(&self) -> PathBuf {
        self.root.join("deploy/book")
    }

    /// Whether the target folder is a cache outside the clone, as `.ci/run` sets it up.
    pub(crate) fn has_outside_target(&self) -> bool {
        !self.target.starts_with(&self.root)
    }

    /// A path relative to the workspace's root, for output.
    pub(crate) fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }
}

/// The cargo that runs this program, as a person would start it. What `cargo run` tells this program about itself stays out: build scripts depend on
/// these variables, ring's among them, and would recompile a third of the crates whenever a person's cargo and this one take turns.
fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let own = |name: &OsString| {
        ["CARGO_PKG_", "CARGO_MANIFEST_"]
            .iter()
            .any(|own| name.as_encoded_bytes().starts_with(own.as_bytes()))
    };
    for name in std::env::vars_os().map(|(name, _)| name).filter(own) {
        command.env_remove(name);
    }
    command
}
