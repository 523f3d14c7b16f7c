//! Builds a policy crate for `wasm32-unknown-unknown` and turns it into a component.
//!
//! The same sources and the same compiler give the same bytes in any directory, so that a digest identifies a policy:
//! paths are remapped, and nothing else machine-specific gets into the module.

mod toolchain;

use std::path::{Path, PathBuf};
use std::process::Command;

pub use toolchain::Toolchain;

/// The target of policies: it has no clock, files or randomness to import.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// The cargo profile that policies are built with.
pub const PROFILE: &str = "policy";

/// The stack size of a policy in bytes. A small stack keeps the memory that a call touches together, which the host
/// clears in place afterwards.
const STACK: u32 = 128 << 10;

/// Why a component could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No toolchain here can build for the target.
    #[error("cannot build for {TARGET}: {0}")]
    NoToolchain(String),
    /// A command could not be started.
    #[error("cannot run {0}: {1}")]
    Run(String, #[source] std::io::Error),
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
    /// The module is not a policy.
    #[error("{0} is not a policy: {1}")]
    Encode(String, String),
}

/// Builds packages of a workspace as policies.
///
/// ```no_run
/// use tenure_sdk_build::Builder;
///
/// // In a build script: a test then includes the component's bytes.
/// let output = std::env::var("OUT_DIR")?;
/// let builder = Builder::new(env!("CARGO_MANIFEST_DIR"), format!("{output}/wasm"))?;
/// std::fs::write(format!("{output}/my-policy.wasm"), builder.component("my-policy")?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Builder {
    workspace: PathBuf,
    target_dir: PathBuf,
    toolchain: Toolchain,
}

impl Builder {
    /// Creates a builder for the workspace at a path.
    ///
    /// The target directory must not be the outer one: a build script runs while cargo holds the lock on that.
    ///
    /// # Errors
    /// [`BuildError::NoToolchain`] if no toolchain here can build for the target; its message says what to install.
    pub fn new(workspace: impl Into<PathBuf>, target_dir: impl Into<PathBuf>) -> Result<Self, BuildError> {
        Ok(Self { workspace: workspace.into(), target_dir: target_dir.into(), toolchain: Toolchain::find()? })
    }

    /// Builds a package and returns the component's bytes.
    ///
    /// # Errors
    /// [`BuildError`] with the compiler's output.
    pub fn component(&self, package: &str) -> Result<Vec<u8>, BuildError> {
        let file = format!("{}.wasm", package.replace('-', "_"));
        let module = self.module(package, &["--lib"], Path::new(&file))?;
        encode(package, &module)
    }

    /// Builds an example of a package and returns the component's bytes.
    ///
    /// ```no_run
    /// # use tenure_sdk_build::Builder;
    /// let zones = Builder::new(".", "target/wasm")?.example("tenure-sdk", "zones")?;
    /// # let _ = zones; Ok::<(), tenure_sdk_build::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError`] with the compiler's output.
    pub fn example(&self, package: &str, example: &str) -> Result<Vec<u8>, BuildError> {
        let file = Path::new("examples").join(format!("{}.wasm", example.replace('-', "_")));
        let module = self.module(package, &["--example", example], &file)?;
        encode(example, &module)
    }

    fn module(&self, package: &str, what: &[&str], file: &Path) -> Result<Vec<u8>, BuildError> {
        let mut cargo = self.toolchain.cargo();
        cargo
            .current_dir(&self.workspace)
            .args(["build", "--package", package, "--profile", PROFILE, "--target", TARGET])
            .args(what)
            .arg("--target-dir")
            .arg(&self.target_dir)
            .env("CARGO_ENCODED_RUSTFLAGS", self.flags());
        let output = cargo.output().map_err(|error| BuildError::Run("cargo".into(), error))?;
        if !output.status.success() {
            let output = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(BuildError::Cargo { package: package.into(), output });
        }
        let path = self.target_dir.join(TARGET).join(PROFILE).join(file);
        std::fs::read(&path).map_err(|error| BuildError::Read(path, error))
    }

    /// Sets the stack size, and removes this machine's paths from the compiler's output.
    fn flags(&self) -> String {
        let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
        let mut flags = vec![format!("-Clink-arg=-zstack-size={STACK}"), remap(&self.workspace, ".")];
        let cargo_home = std::env::var_os("CARGO_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cargo")));
        flags.extend(cargo_home.map(|home| remap(&home, "cargo")));
        flags.extend(self.toolchain.source().map(|source| remap(source, "rust")));
        flags.join("\x1f")
    }
}

/// Turns a module into a component. Its bindings must contain the description of its world.
///
/// ```
/// let error = tenure_sdk_build::encode("my-policy", b"not a module").unwrap_err();
/// assert!(error.to_string().starts_with("my-policy is not a policy: "));
/// ```
///
/// # Errors
/// [`BuildError::Encode`] if the module lacks this description or imports something that it does not describe.
pub fn encode(package: &str, module: &[u8]) -> Result<Vec<u8>, BuildError> {
    let refuse = |error: &dyn std::fmt::Display| BuildError::Encode(package.into(), format!("{error:#}"));
    wit_component::ComponentEncoder::default()
        .validate(true)
        .module(module)
        .map_err(|error| refuse(&error))?
        .encode()
        .map_err(|error| refuse(&error))
}

/// A command that does not inherit an outer cargo's settings, which are for the host.
fn bare(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    for name in [
        "CARGO_BUILD_RUSTFLAGS",
        "CARGO_BUILD_TARGET",
        "CARGO_TARGET_DIR",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_WRAPPER",
        "RUSTFLAGS",
    ] {
        command.env_remove(name);
    }
    command
}
