//! The platforms of images, and the tools that build programs for one that is not this machine's.

use std::fmt;
use std::process::Command;

use anyhow::{Result, ensure};
use clap::ValueEnum;

use crate::command::{output, succeeds};
use crate::tools;
use crate::workspace::Workspace;

/// A platform, by OCI's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Platform {
    #[value(name = "linux/amd64")]
    Amd64,
    #[value(name = "linux/arm64")]
    Arm64,
}

impl Platform {
    /// The platform of this machine.
    ///
    /// # Errors
    /// If there are no images for it.
    pub(crate) fn native() -> Result<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Ok(Self::Amd64),
            "aarch64" => Ok(Self::Arm64),
            other => anyhow::bail!("no images are built for the architecture {other}"),
        }
    }

    /// Whether programs of this machine are for it.
    pub(super) fn is_native(self) -> bool {
        Self::native().is_ok_and(|native| native == self)
    }

    /// OCI's name of its architecture, which is Go's.
    pub(super) fn architecture(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// The name of its architecture in Debian's tools and paths.
    pub(super) fn tuple(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-linux-gnu",
            Self::Arm64 => "aarch64-linux-gnu",
        }
    }

    /// Rust's target for dynamically linked programs.
    pub(super) fn target(self) -> String {
        self.tuple().replace("-linux", "-unknown-linux")
    }

    /// Rust's target for static programs.
    fn static_target(self) -> String {
        self.target().replace("-gnu", "-musl")
    }

    /// A tool of binutils that reads its programs.
    pub(super) fn tool(self, name: &str) -> Command {
        Command::new(if self.is_native() { name.to_owned() } else { format!("{}-{name}", self.tuple()) })
    }

    /// The emulator that starts its programs on other machines.
    pub(super) fn emulator(self) -> &'static str {
        match self {
            Self::Amd64 => "qemu-x86_64-static",
            Self::Arm64 => "qemu-aarch64-static",
        }
    }

    /// Installs the compiler, the libraries and the targets of Rust that build for it, and the emulator.
    ///
    /// # Errors
    /// If one is missing and cannot be installed.
    pub(super) fn install_tools(self) -> Result<()> {
        if self.is_native() {
            return Ok(());
        }
        let (compiler, libraries) = match self {
            Self::Amd64 => ("gcc-x86-64-linux-gnu", "libc6-dev-amd64-cross"),
            Self::Arm64 => ("gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"),
        };
        tools::apt(&[compiler, libraries, "qemu-user-static"])?;
        for target in [self.target(), self.static_target()] {
            ensure!(
                tools::target(&target),
                "Rust's target {target} is missing, and `rustup target add` does not install it"
            );
        }
        let compiler = format!("{}-gcc", self.tuple());
        ensure!(
            succeeds(Command::new(&compiler).arg("--version")),
            "{compiler} is missing: install a cross compiler"
        );
        Ok(())
    }

    /// A cargo command that builds for it; `--target` is to be [`target`](Self::target) or the static one.
    pub(super) fn cargo(self, workspace: &Workspace) -> Command {
        let mut cargo = workspace.cargo();
        if !self.is_native() {
            let compiler = format!("{}-gcc", self.tuple());
            for target in [self.target(), self.static_target()] {
                cargo.env(format!("CC_{}", target.replace('-', "_")), &compiler);
            }
            cargo.env(linker(&self.target()), &compiler);
            // A static program needs nothing of a C compiler's but the linker.
            cargo.env(linker(&self.static_target()), "rust-lld");
        }
        cargo
    }

    /// Builds the static plugin.
    ///
    /// # Errors
    /// As [`dist::static_program`](crate::dist::static_program).
    pub(super) fn plugin(self, workspace: &Workspace) -> Result<std::path::PathBuf> {
        crate::dist::static_program_for(
            workspace,
            self.cargo(workspace),
            "tenure-cni",
            "tenure",
            &self.static_target(),
        )
    }

    /// The version of its emulator, if it is installed.
    pub(super) fn emulator_version(self) -> Option<String> {
        output(Command::new(self.emulator()).arg("--version")).ok()
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "linux/{}", self.architecture())
    }
}

/// The variable of cargo that sets the linker of a target.
fn linker(target: &str) -> String {
    format!("CARGO_TARGET_{}_LINKER", target.replace('-', "_").to_uppercase())
}
