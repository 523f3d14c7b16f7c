//! Installs what the machine lacks, saying what it does.
//!
//! What cannot be installed here is said as well and is no failure: whatever needs it will say so by name.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::command;
use crate::workspace::Workspace;

/// What `cargo install` brings: the crate, which is also the command, and its version.
const CARGO_DENY: (&str, &str) = ("cargo-deny", "0.20.2");
const MDBOOK: (&str, &str) = ("mdbook", "0.5.4");

/// What the demonstration runs beside our own binaries.
pub(crate) const DEMO_PACKAGES: [&str; 4] =
    ["containernetworking-plugins", "iproute2", "iputils-ping", "util-linux"];

/// Installs everything that `cargo xtask test` uses.
///
/// # Errors
/// When something that is needed cannot be installed.
pub(crate) fn install_all(workspace: &Workspace) -> Result<()> {
    let list = workspace.root.join("host/e2e/packages.txt");
    let list = fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
    apt(&list.split_whitespace().collect::<Vec<_>>())?;
    rustup();
    cargo_tool(workspace, CARGO_DENY)?;
    install_book(workspace)
}

/// Installs what builds the book.
///
/// # Errors
/// When it cannot be built.
pub(crate) fn install_book(workspace: &Workspace) -> Result<()> {
    cargo_tool(workspace, MDBOOK)
}

/// Installs the Debian packages that are missing, if this is Debian and we are root.
///
/// # Errors
/// When apt fails.
pub(crate) fn apt(packages: &[&str]) -> Result<()> {
    let missing: Vec<&str> = packages.iter().copied().filter(|package| !is_installed(package)).collect();
    if missing.is_empty() {
        println!("packages: nothing is missing");
        return Ok(());
    }
    if !rustix::process::geteuid().is_root() || !command::succeeds(Command::new("apt-get").arg("--version")) {
        println!(
            "note: these packages are missing, and only root can install them with apt: {}",
            missing.join(" ")
        );
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

/// Adds the parts of the toolchain that a minimal one lacks.
///
/// Without rustup there is nothing to be done: the step that needs a part says so.
pub(crate) fn rustup() {
    let rustup = |arguments: &[&str]| command::succeeds(Command::new("rustup").args(arguments));
    if !rustup(&["--version"]) {
        println!("note: there is no rustup; the Rust toolchain is used as it is");
        return;
    }
    for arguments in
        [["component", "add", "rustfmt", "clippy"].as_slice(), &["target", "add", "wasm32-unknown-unknown"]]
    {
        let outcome = if rustup(arguments) { "there" } else { "note: this failed, and may be missed later" };
        println!("rustup {}: {outcome}", arguments.join(" "));
    }
}

/// Whether a target can be built for, added by rustup if need be.
pub(crate) fn target(name: &str) -> bool {
    let installed = || {
        let libraries = Command::new("rustc").args(["--print", "target-libdir", "--target", name]).output();
        libraries.is_ok_and(|folder| Path::new(String::from_utf8_lossy(&folder.stdout).trim()).is_dir())
    };
    installed() || command::succeeds(Command::new("rustup").args(["target", "add", name])) && installed()
}

/// Builds a tool from its source, unless this version is there.
fn cargo_tool(workspace: &Workspace, (tool, version): (&str, &str)) -> Result<()> {
    let present = command::output(Command::new(tool).arg("--version"))
        .is_ok_and(|text| text.split([' ', '\n']).any(|word| word.trim_start_matches('v') == version));
    if present {
        println!("{tool} {version}: there");
        return Ok(());
    }
    println!("{tool} {version}: building it, which takes some minutes, once");
    // It runs for seconds and is built for minutes: the quickest build is the best.
    command::run(
        workspace
            .cargo()
            .args(["install", "--quiet", "--locked", "--version", version, tool])
            .env("CARGO_PROFILE_RELEASE_LTO", "off")
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
            .env("CARGO_PROFILE_RELEASE_DEBUG", "0"),
    )
}
