//! The programs of the images, for one platform: `tenured`, `tenurectl`, `tenure-operator` and the static plugin.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::platform::Platform;
use crate::command::run;
use crate::dist;
use crate::workspace::Workspace;

/// The programs that are not static, each with its package and the features of a release.
const DYNAMIC: [(&str, &str, &[&str]); 3] = [
    ("tenured", "tenure-daemon", &["--features", "aws,cluster"]),
    ("tenurectl", "tenure-ctl", &[]),
    ("tenure-operator", "tenure-operator", &[]),
];

/// The environment variable for a directory with other programs than the development build's, as of the end-to-end suites.
const PROGRAMS: &str = "TENURE_BIN_DIR";

/// The static plugin.
const PLUGIN: &str = "tenure";

/// The programs of one platform.
pub(super) struct ProgramSource {
    pub(super) platform: Platform,
    /// The folder of all four.
    pub(super) folder: PathBuf,
}

impl ProgramSource {
    /// Builds some programs of a release.
    ///
    /// # Errors
    /// If something does not build, or the tools for a foreign platform are missing.
    pub(super) fn release(workspace: &Workspace, platform: Platform, programs: &[&str]) -> Result<Self> {
        if platform.is_native() {
            dist::dist(workspace)?;
            return Ok(Self { platform, folder: workspace.target.join("dist") });
        }
        let folder = workspace.target.join(format!("dist-{}", platform.architecture()));
        build(workspace, platform, "release", programs)?;
        let built = built(workspace, platform, "release");
        fs::create_dir_all(&folder)?;
        for name in programs {
            let from = if *name == PLUGIN { platform.plugin(workspace)? } else { built.join(name) };
            fs::copy(&from, folder.join(name)).with_context(|| format!("cannot copy {}", from.display()))?;
        }
        Ok(Self { platform, folder })
    }

    /// Some programs of the development build, without the tables of their symbols. It is there for this machine's platform, and built for others.
    /// `TENURE_BIN_DIR` names a directory of other programs for this machine's platform, such as a release's.
    ///
    /// # Errors
    /// As [`Self::release`].
    pub(super) fn development(
        workspace: &Workspace,
        platform: Platform,
        programs: &[&str],
        folder: PathBuf,
    ) -> Result<Self> {
        fs::create_dir_all(&folder)?;
        let is_native = platform.is_native();
        if !is_native {
            build(workspace, platform, "dev", programs)?;
        }
        let others = std::env::var_os(PROGRAMS).map(PathBuf::from).filter(|_| is_native);
        let own = || if is_native { workspace.binaries() } else { built(workspace, platform, "debug") };
        let built = others.unwrap_or_else(own);
        for name in programs {
            let is_foreign_plugin = *name == PLUGIN && !is_native;
            let from = if is_foreign_plugin { platform.plugin(workspace)? } else { built.join(name) };
            run(platform.tool("strip").arg("-o").arg(folder.join(name)).arg(from))?;
        }
        Ok(Self { platform, folder })
    }
}

/// Builds for a foreign platform, each package alone, so that no other package enables features in it.
fn build(workspace: &Workspace, platform: Platform, profile: &str, programs: &[&str]) -> Result<()> {
    platform.install_tools()?;
    for (_, package, features) in DYNAMIC.iter().filter(|(name, ..)| programs.contains(name)) {
        let mut cargo = platform.cargo(workspace);
        cargo.args(["build", "--profile", profile, "--package", package, "--target", &platform.target()]);
        run(cargo.args(*features))?;
    }
    Ok(())
}

/// The folder of the programs that were built for a foreign platform.
fn built(workspace: &Workspace, platform: Platform, profile: &str) -> PathBuf {
    workspace.target.join(platform.target()).join(profile)
}
