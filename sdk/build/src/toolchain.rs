//! Finds a toolchain for policies.
//!
//! In this order: the running toolchain's installed target; the target added by rustup; the standard library built
//! from source (`rust-src`, or Debian's `rust-web-src` with `rustc-web` and `cargo-web`).

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{BuildError, TARGET};

/// A toolchain that can build for the target.
#[derive(Debug, Clone)]
pub struct Toolchain {
    cargo: PathBuf,
    /// The standard library's source, if it has to be built too.
    source: Option<PathBuf>,
}

impl Toolchain {
    /// Finds a toolchain. If it has to add a target, it says so on standard error.
    pub(crate) fn find() -> Result<Self, BuildError> {
        // In a build script, cargo sets CARGO to itself; the `cargo` in the path may be another one.
        let cargo = std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
        let rustc = std::env::var_os("RUSTC").map_or_else(|| PathBuf::from("rustc"), PathBuf::from);
        let sysroot = PathBuf::from(said(bare(&rustc).args(["--print", "sysroot"]))?);
        let installed = || sysroot.join("lib/rustlib").join(TARGET).is_dir();
        if installed() {
            return Ok(Self { cargo, source: None });
        }
        if let Some(toolchain) = rustup_name(&sysroot) {
            eprintln!("adding {TARGET} to {toolchain} with rustup");
            said(bare("rustup").args(["target", "add", TARGET, "--toolchain", &toolchain]))?;
            if installed() {
                return Ok(Self { cargo, source: None });
            }
        }
        let source = sysroot.join("lib/rustlib/src/rust");
        if source.join("library/std").is_dir() {
            return Ok(Self { cargo, source: Some(source) });
        }
        Err(BuildError::NoToolchain(
            "install rustup (https://rustup.rs), or on Debian `apt install rustc-web cargo-web rust-web-src lld`".into(),
        ))
    }

    /// A cargo command that builds nothing, without arguments.
    pub(crate) fn plain_cargo(&self) -> Command {
        Command::new(&self.cargo)
    }

    /// A cargo command for the target, without arguments.
    pub(crate) fn cargo(&self) -> Command {
        let mut cargo = bare(&self.cargo);
        if self.source.is_some() {
            // A distribution's compiler is a stable one, and building the standard library is still unstable.
            cargo.env("RUSTC_BOOTSTRAP", "1");
            cargo.args(["-Zbuild-std=std,panic_abort"]);
            if said(Command::new("rust-lld").args(["-flavor", "wasm", "--version"])).is_err() {
                cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld");
            }
        }
        cargo
    }

    /// The standard library's source, if it has to be built too.
    pub(crate) fn source(&self) -> Option<&Path> {
        self.source.as_deref()
    }
}

/// The rustup name of a toolchain, if the sysroot is one of rustup's.
fn rustup_name(sysroot: &Path) -> Option<String> {
    let parent = sysroot.parent()?;
    (parent.file_name()? == "toolchains").then(|| sysroot.file_name()?.to_str().map(Into::into))?
}

/// The trimmed standard output of a command.
fn said(command: &mut Command) -> Result<String, BuildError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => BuildError::Missing(program.clone()),
        _ => BuildError::Run(program.clone(), error),
    })?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(BuildError::NoToolchain(format!("{program}: {error}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
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
