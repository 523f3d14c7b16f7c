//! Compiles a package with the settings that every policy is compiled with.

use std::path::{Path, PathBuf};

use crate::package::{CargoMetadata, Package};
use crate::toolchain::Toolchain;
use crate::{BuildError, TARGET, encode};

/// The cargo profile that policies are built with. The builder passes its settings, so a package needs none.
const PROFILE: &str = "policy";

/// Small, and a panic is a trap.
const SETTINGS: [(&str, &str); 7] = [
    ("inherits", "\"release\""),
    ("opt-level", "\"s\""),
    ("lto", "true"),
    ("codegen-units", "1"),
    ("panic", "\"abort\""),
    ("strip", "true"),
    ("debug", "false"),
];

/// The stack size of a policy in bytes. A small stack keeps the memory that a call touches together, which the host
/// clears in place afterwards.
const STACK: u32 = 128 << 10;

/// Builds the crate in a folder and returns the component's bytes.
///
/// ```no_run
/// let component = tenure_sdk_build::build("zones".as_ref())?;
/// std::fs::write("zones/policy.wasm", component)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`BuildError`], which says what to change or to install.
pub fn build(folder: &Path) -> Result<Vec<u8>, BuildError> {
    let folder = folder.canonicalize().map_err(|error| BuildError::Read(folder.into(), error))?;
    let toolchain = Toolchain::find()?;
    let metadata = CargoMetadata::of(&folder, &toolchain)?;
    let none = || BuildError::NoPackage(folder.clone(), "in Cargo.toml".into());
    let package = metadata.in_folder(&folder).ok_or_else(none)?;
    let target_dir = metadata.target_directory.join("policy");
    Compilation { toolchain: &toolchain, metadata: &metadata, target_dir: &target_dir }
        .component(package, None)
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
#[derive(Debug)]
pub struct Builder {
    metadata: CargoMetadata,
    target_dir: PathBuf,
    toolchain: Toolchain,
}

impl Builder {
    /// Creates a builder for the workspace at a path.
    ///
    /// The target directory must not be the outer one: a build script runs while cargo holds the lock on that.
    ///
    /// # Errors
    /// [`BuildError`] if no toolchain here can build for the target, or if there is no workspace.
    pub fn new(workspace: impl AsRef<Path>, target_dir: impl Into<PathBuf>) -> Result<Self, BuildError> {
        let toolchain = Toolchain::find()?;
        let metadata = CargoMetadata::of(workspace.as_ref(), &toolchain)?;
        Ok(Self { metadata, target_dir: target_dir.into(), toolchain })
    }

    /// Builds a package and returns the component's bytes.
    ///
    /// # Errors
    /// [`BuildError`], with the compiler's output if the package does not compile.
    pub fn component(&self, package: &str) -> Result<Vec<u8>, BuildError> {
        self.compilation().component(self.package(package)?, None)
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
    /// [`BuildError`], with the compiler's output if the example does not compile.
    pub fn example(&self, package: &str, example: &str) -> Result<Vec<u8>, BuildError> {
        self.compilation().component(self.package(package)?, Some(example))
    }

    fn package(&self, name: &str) -> Result<&Package, BuildError> {
        let none = || BuildError::NoPackage(self.metadata.workspace_root.clone(), name.into());
        self.metadata.named(name).ok_or_else(none)
    }

    fn compilation(&self) -> Compilation<'_> {
        let Self { metadata, target_dir, toolchain } = self;
        Compilation { toolchain, metadata, target_dir }
    }
}

/// One run of the compiler.
struct Compilation<'a> {
    toolchain: &'a Toolchain,
    metadata: &'a CargoMetadata,
    target_dir: &'a Path,
}

impl Compilation<'_> {
    fn component(&self, package: &Package, example: Option<&str>) -> Result<Vec<u8>, BuildError> {
        let file = package.module(example)?;
        let mut cargo = self.toolchain.cargo();
        cargo
            .current_dir(&self.metadata.workspace_root)
            .args(["build", "--package", &package.name, "--profile", PROFILE, "--target", TARGET])
            .args(
                SETTINGS.iter().flat_map(|(key, value)| {
                    ["--config".to_owned(), format!("profile.{PROFILE}.{key}={value}")]
                }),
            )
            .arg("--target-dir")
            .arg(self.target_dir)
            .env("CARGO_ENCODED_RUSTFLAGS", self.flags())
            // The output goes into an error, which may be printed anywhere.
            .env("CARGO_TERM_COLOR", "never");
        match example {
            Some(example) => cargo.args(["--example", example]),
            None => cargo.arg("--lib"),
        };
        let output = cargo.output().map_err(|error| BuildError::Run("cargo".into(), error))?;
        if !output.status.success() {
            let output = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(BuildError::Cargo { package: package.name.clone(), output });
        }
        let path = self.target_dir.join(TARGET).join(PROFILE).join(file);
        let module = std::fs::read(&path).map_err(|error| BuildError::Read(path, error))?;
        encode(example.unwrap_or(&package.name), &module)
    }

    /// Sets the stack size, and removes this machine's paths from the compiler's output.
    fn flags(&self) -> String {
        let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
        let mut flags = vec![format!("-Clink-arg=-zstack-size={STACK}")];
        flags.extend(self.metadata.folders().map(|(folder, name)| remap(folder, &name)));
        flags.extend(self.toolchain.source().map(|source| remap(source, "rust")));
        flags.join("\x1f")
    }
}
