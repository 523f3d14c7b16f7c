//! Why a policy could not be built, with what to do about it.

use std::path::PathBuf;

use crate::TARGET;

/// Why a component could not be built. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No toolchain here can build for the target.
    #[error("cannot build for {TARGET}: {0}")]
    NoToolchain(String),
    /// A program is not installed.
    #[error("cannot find {0}: install Rust, with rustup from https://rustup.rs")]
    Missing(String),
    /// A command could not be started.
    #[error("cannot run {0}: {1}")]
    Run(String, #[source] std::io::Error),
    /// cargo cannot read the package.
    #[error("cargo cannot read {0}:\n{1}")]
    Metadata(PathBuf, String),
    /// The folder or workspace has no such package.
    #[error("{0} has no package {1}")]
    NoPackage(PathBuf, String),
    /// The package makes no module.
    #[error(
        "{0} is not built as a module: add `crate-type = [\"cdylib\", \"rlib\"]` to `[lib]` in its Cargo.toml"
    )]
    NoModule(String),
    /// The policy does not compile.
    #[error("{package} does not build for {TARGET}:\n{output}")]
    Cargo {
        /// The package.
        package: String,
        /// The output of cargo.
        output: String,
    },
    /// The module could not be read.
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, #[source] std::io::Error),
    /// The module exports no policy.
    #[error(
        "{0} exports no policy: it must export `define` and `propose` as the world `policy` of `wit/` has them; in Rust, \
         `tenure_sdk::export!(YOUR_TYPE);` in lib.rs does that, with the type that implements `Policy`, and \
         `tenure_sdk::export_stateful!(YOUR_TYPE);` with one that implements `Stateful`"
    )]
    NotExported(String),
    /// The module imports something that no host offers.
    #[error("{name} imports `{import}`, which a policy may not: {remedy}")]
    Imports {
        /// The policy.
        name: String,
        /// The import's module and name.
        import: String,
        /// The next step.
        remedy: &'static str,
    },
    /// The interface cannot be encoded.
    #[error("cannot encode the interface: {0}")]
    Interface(String),
    /// The module is not a policy.
    #[error("{0} is not a policy: {1}")]
    Encode(String, String),
}

impl BuildError {
    /// Whether something must be installed, as opposed to changed in the policy.
    ///
    /// ```
    /// use tenure_sdk_build::BuildError;
    ///
    /// assert!(BuildError::Missing("cargo".into()).is_about_tools());
    /// assert!(!BuildError::NotExported("mine".into()).is_about_tools());
    /// ```
    #[must_use]
    pub fn is_about_tools(&self) -> bool {
        matches!(self, Self::NoToolchain(_) | Self::Missing(_) | Self::Run(..))
    }
}
