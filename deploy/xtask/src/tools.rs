//! Installs missing tools, and prints what it installs.
//!
//! It also prints what it cannot install. That is not a failure: the step that needs the tool names it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::command;
use crate::workspace::Workspace;

/// A tool that `cargo install` builds.
struct CargoTool {
    /// The crate, which is also the command.
    name: &'static str,
    version: &'static str,
    /// Arguments that select features.
    features: &'static [&'static str],
}

const CARGO_DENY: CargoTool = CargoTool { name: "cargo-deny", version: "0.20.2", features: &[] };

/// Without its server, which takes half the time to build.
const MDBOOK: CargoTool = CargoTool {
    name: "mdbook",
    version: "0.5.4",
    features: &["--no-default-features", "--features", "search"],
};

/// The packages that the demonstration needs in addition to our own binaries.
pub(crate) const DEMO_PACKAGES: [&str; 4] =
    ["containernetworking-plugins", "iproute2", "iputils-ping", "util-linux"];

/// The packages that the demonstration of a node on AWS needs.
pub(crate) const DEMO_AWS_PACKAGES: [&str; 3] = ["iproute2", "nftables", "util-linux"];

/// The packages that the demonstration of a node of Kubernetes needs: what containerd and the kubelet start.
pub(crate) const DEMO_KUBERNETES_PACKAGES: [&str; 5] =
    ["binutils", "iproute2", "iptables", "runc", "util-linux"];

/// The packages that the demonstration of a cluster needs.
pub(crate) const DEMO_CLUSTER_PACKAGES: [&str; 3] = ["curl", "iproute2", "util-linux"];

/// Installs everything that `cargo xtask test` uses.
///
/// # Errors
/// When a required tool cannot be installed.
pub(crate) fn install_all(workspace: &Workspace) -> Result<()> {
    let list = workspace.root.join("host/e2e/packages.txt");
    let list = fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
    apt(&list.split_whitespace().collect::<Vec<_>>())?;
    rustup();
    cargo_tool(workspace, &CARGO_DENY)?;
    install_book(workspace)
}

/// Installs the tool that builds the book.
///
/// # Errors
/// When it cannot be built.
pub(crate) fn install_book(workspace: &Workspace) -> Result<()> {
    cargo_tool(workspace, &MDBOOK)
}

/// Installs missing Debian packages, if this is Debian and we are root.
///
/// # Errors
/// When apt fails.
pub(crate) fn apt(packages: &[&str]) -> Result<()> {
    let missing: Vec<&str> = packages.iter().copied().filter(|package| !is_installed(package)).collect();
    if missing.is_empty() {
        println!("packages: all present");
        return Ok(());
    }
    if !rustix::process::geteuid().is_root() || !command::succeeds(Command::new("apt-get").arg("--version")) {
        println!("note: missing packages, which only root can install with apt: {}", missing.join(" "));
        return Ok(());
    }
    println!("packages: installing {}", missing.join(" "));
    command::run(apt_get().args(["update", "-qq"]))?;
    command::run(apt_get().args(["install", "-qq", "--yes", "--no-install-recommends"]).args(missing))
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn is_installed(package: &str) -> bool {
    let query = ["--show", "--showformat=${db:Status-Status}", package];
    command::output(Command::new("dpkg-query").args(query)).is_ok_and(|status| status == "installed")
}

/// Adds the toolchain components that a minimal installation lacks.
///
/// Does nothing without rustup: the step that needs a component reports it.
pub(crate) fn rustup() {
    let rustup = |arguments: &[&str]| command::succeeds(Command::new("rustup").args(arguments));
    if !rustup(&["--version"]) {
        println!("note: rustup not found; using the Rust toolchain as it is");
        return;
    }
    for arguments in
        [["component", "add", "rustfmt", "clippy"].as_slice(), &["target", "add", "wasm32-unknown-unknown"]]
    {
        let outcome = if rustup(arguments) { "ok" } else { "note: failed; a later step may need it" };
        println!("rustup {}: {outcome}", arguments.join(" "));
    }
}

/// Whether a target is installed; adds it with rustup if needed.
pub(crate) fn target(name: &str) -> bool {
    let installed = || {
        let libraries = Command::new("rustc").args(["--print", "target-libdir", "--target", name]).output();
        libraries.is_ok_and(|folder| Path::new(String::from_utf8_lossy(&folder.stdout).trim()).is_dir())
    };
    installed() || command::succeeds(Command::new("rustup").args(["target", "add", name])) && installed()
}

/// Builds a tool from source, unless this version is installed.
fn cargo_tool(workspace: &Workspace, tool: &CargoTool) -> Result<()> {
    let CargoTool { name, version, features } = tool;
    let present = command::output(Command::new(name).arg("--version"))
        .is_ok_and(|text| text.split([' ', '\n']).any(|word| word.trim_start_matches('v') == *version));
    if present {
        println!("{name} {version}: installed");
        return Ok(());
    }
    println!("{name} {version}: building from source, once; takes a few minutes");
    // It runs for seconds but builds for minutes, so the fastest build wins.
    command::run(
        workspace
            .cargo()
            .args(["install", "--quiet", "--locked", "--version", version, name])
            .args(*features)
            .env("CARGO_PROFILE_RELEASE_LTO", "off")
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
            .env("CARGO_PROFILE_RELEASE_DEBUG", "0"),
    )
}
