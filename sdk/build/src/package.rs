//! Metadata of a package, as cargo reports it: the sources, those of dependencies, and what it is built as.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::toolchain::Toolchain;
use crate::{BuildError, TARGET};

/// The output of `cargo metadata`, as far as it matters here.
#[derive(Debug, Deserialize)]
pub(crate) struct CargoMetadata {
    packages: Vec<Package>,
    pub(crate) workspace_root: PathBuf,
    pub(crate) target_directory: PathBuf,
}

/// A package.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    version: String,
    manifest_path: PathBuf,
    targets: Vec<CargoTarget>,
}

/// Something that cargo builds from a package.
#[derive(Debug, Deserialize)]
struct CargoTarget {
    kind: Vec<String>,
    crate_types: Vec<String>,
    name: String,
}

impl CargoMetadata {
    /// Asks cargo about the workspace of a folder.
    pub(crate) fn of(folder: &Path, toolchain: &Toolchain) -> Result<Self, BuildError> {
        let mut cargo = toolchain.plain_cargo();
        cargo.current_dir(folder).args(["metadata", "--format-version", "1", "--filter-platform", TARGET]);
        let output = cargo.output().map_err(|error| BuildError::Run("cargo".into(), error))?;
        let unreadable = |said: String| BuildError::Metadata(folder.into(), said);
        if !output.status.success() {
            return Err(unreadable(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| unreadable(error.to_string()))
    }

    /// The package of this name.
    pub(crate) fn named(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }

    /// The package of this folder.
    pub(crate) fn in_folder(&self, folder: &Path) -> Option<&Package> {
        self.packages.iter().find(|package| package.folder() == folder)
    }

    /// Each folder of sources, and what it is called in the module.
    pub(crate) fn folders(&self) -> impl Iterator<Item = (&Path, String)> {
        let workspace = (self.workspace_root.as_path(), ".".to_owned());
        let outside =
            self.packages.iter().filter(|package| !package.folder().starts_with(&self.workspace_root));
        let package = |package: &Package| format!("{}-{}", package.name, package.version);
        std::iter::once(workspace).chain(outside.map(move |found| (found.folder(), package(found))))
    }
}

impl Package {
    fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }

    /// The file name of the module that its library, or an example of it, is built as.
    pub(crate) fn module(&self, example: Option<&str>) -> Result<PathBuf, BuildError> {
        let wanted = |target: &&CargoTarget| match example {
            Some(example) => target.name == example && target.kind.iter().any(|kind| kind == "example"),
            None => {
                !target.kind.iter().any(|kind| matches!(kind.as_str(), "bin" | "example" | "test" | "bench"))
            }
        };
        let mut libraries = self.targets.iter().filter(wanted);
        let found = libraries.find(|target| target.crate_types.iter().any(|kind| kind == "cdylib"));
        let target = found.ok_or_else(|| BuildError::NoModule(self.name.clone()))?;
        let file = format!("{}.wasm", target.name.replace('-', "_"));
        Ok(if example.is_some() { Path::new("examples").join(file) } else { PathBuf::from(file) })
    }
}
