//! Builds the release files: the binaries, the policies, the SDK, the interface, the units of systemd, the chart, the book, and the manuals and
//! completions. `deploy/archive/README.md`, the archive's own README, lists them.

mod manual;
mod sdk;
mod texts;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::command::{lines, output, run};
use crate::tools;
use crate::workspace::Workspace;

/// Fills `dist` in the target folder.
///
/// # Errors
/// When something cannot be built.
pub(crate) fn dist(workspace: &Workspace) -> Result<()> {
    tools::rustup();
    let dist = workspace.target.join("dist");
    if dist.exists() {
        fs::remove_dir_all(&dist)?;
    }
    for folder in ["policies", "man", "completions"] {
        fs::create_dir_all(dist.join(folder))?;
    }
    let policies = release(workspace)?;
    for name in ["tenured", "tenurectl", "tenure-operator"] {
        fs::copy(workspace.target.join("release").join(name), dist.join(name))?;
    }
    fs::copy(shim(workspace)?, dist.join("tenure"))?;
    for entry in fs::read_dir(policies)? {
        let path = entry?.path();
        if let Some(name) = path.file_name().filter(|_| path.extension().is_some_and(|kind| kind == "wasm")) {
            fs::copy(&path, dist.join("policies").join(name))?;
        }
    }
    sdk::sdk(&workspace.root, &dist.join("sdk"))?;
    texts::texts(&workspace.root, &dist)?;
    interface(&dist)?;
    documents(workspace, &dist)?;
    sizes(&dist)
}

/// Copies a folder; what a link leads to is copied as a file.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        let Some(name) = path.file_name().filter(|name| *name != "target") else { continue };
        let target = to.join(name);
        if path.is_dir() { copy(&path, &target)? } else { fs::copy(&path, &target).map(drop)? }
    }
    Ok(())
}

/// Packs the packages of the interface as OCI image layouts, which `wkg` reads from a registry.
fn interface(dist: &Path) -> Result<()> {
    let text = dist.join("wit/ipam/next/ipam.wit");
    for name in ["ipam", "supply"] {
        let mut pack = Command::new(dist.join("tenurectl"));
        pack.args(["policy", "pack"]).arg(&text).args(["--package", &format!("tenure:{name}")]);
        output(pack.arg("--to").arg(dist.join("wit").join(format!("{name}.oci"))))?;
    }
    Ok(())
}

/// The packages of the programs that are linked dynamically, and their features.
const PROGRAMS: [&str; 8] = [
    "--package",
    "tenure-daemon",
    "--package",
    "tenure-ctl",
    "--package",
    "tenure-operator",
    "--features",
    "tenure-daemon/aws,tenure-daemon/cluster",
];

/// Builds the programs in release mode, with one set of features, as the tests build them: each crate that they share, such as the compiler
/// of policies, is compiled once.
///
/// Returns the folder of the embedded policies: the released policies are byte for byte those in the daemon.
fn release(workspace: &Workspace) -> Result<PathBuf> {
    let mut policies = None;
    let arguments = ["build", "--release", "--message-format", "json-render-diagnostics"];
    lines(workspace.cargo().args(arguments).args(PROGRAMS), |line| {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default();
        if text("reason") == "build-script-executed" && text("package_id").contains("/host/policy#") {
            policies = Some(PathBuf::from(text("out_dir")));
        }
    })?;
    policies.context("the policies were not built")
}

/// Builds the plugin as a static program, with musl if this toolchain has it or can install it.
///
/// Before `main`, glibc queries the processor's features, and in a virtual machine the hypervisor traps each query: that
/// takes longer than everything that the plugin itself does. musl makes no such queries.
///
/// # Errors
/// As [`static_program`].
pub(crate) fn shim(workspace: &Workspace) -> Result<PathBuf> {
    static_program(workspace, "tenure-cni", "tenure")
}

/// Builds a small program that needs no files of the machine that it runs on, with musl if this toolchain has it or can install it.
///
/// # Errors
/// When it does not build, or needs a dynamic loader.
pub(crate) fn static_program(workspace: &Workspace, package: &str, name: &str) -> Result<PathBuf> {
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host =
        version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV names no host")?;
    // Name the target even if it is the host's own: the flags are for the program, not for build scripts and macros.
    let mut target = host.replace("-gnu", "-musl");
    if !tools::target(&target) {
        println!("note: building {name} for {host}, which makes it start more slowly");
        host.clone_into(&mut target);
    }
    static_program_for(workspace, workspace.cargo(), package, name, &target)
}

/// Builds a static program for a target with a cargo that can.
///
/// # Errors
/// As [`static_program`].
pub(crate) fn static_program_for(
    workspace: &Workspace,
    mut cargo: Command,
    package: &str,
    name: &str,
    target: &str,
) -> Result<PathBuf> {
    run(cargo
        .args(["build", "--profile", "shim", "--package", package, "--bin", name, "--target", target])
        .env("RUSTFLAGS", "-C target-feature=+crt-static -C relocation-model=static"))?;
    let program = workspace.target.join(target).join("shim").join(name);
    let is_static =
        loads_nothing(&fs::read(&program)?).with_context(|| format!("{name} is not a 64-bit ELF program"))?;
    ensure!(is_static, "{name} needs a dynamic loader");
    Ok(program)
}

/// Whether a program needs no dynamic loader: it has no `PT_INTERP` header (System V ABI, ELF-64).
fn loads_nothing(program: &[u8]) -> Option<bool> {
    const INTERPRETER: usize = 3;
    let number = |at: usize, length: usize| {
        let bytes = program.get(at..at.checked_add(length)?)?;
        bytes
            .iter()
            .rev()
            .try_fold(0, |number: usize, byte| number.checked_mul(256)?.checked_add((*byte).into()))
    };
    let (headers, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let kinds: Option<Vec<usize>> = (0..count).map(|index| number(headers + index * size, 4)).collect();
    Some(program.starts_with(b"\x7fELF\x02\x01") && !kinds?.contains(&INTERPRETER))
}

/// Has `tenurectl` write its manual and shell completions, and writes the manuals of the daemon and the operator.
fn documents(workspace: &Workspace, dist: &Path) -> Result<()> {
    let (ctl, man) = (dist.join("tenurectl"), dist.join("man"));
    output(Command::new(&ctl).arg("man").arg(&man))?;
    let help = output(Command::new(dist.join("tenured")).arg("--help"))?;
    fs::write(man.join("tenured.8"), manual::program("tenured", 8, "IP address manager of a node", &help))?;
    let help = output(Command::new(dist.join("tenure-operator")).arg("--help"))?;
    let page =
        manual::program("tenure-operator", 8, "leases blocks of addresses to the nodes of a cluster", &help);
    fs::write(man.join("tenure-operator.8"), page)?;
    let reference = fs::read_to_string(workspace.book().join("src/configuration.md"))?;
    let page = manual::page("tenured.toml", 5, "configuration of tenured", &reference);
    fs::write(man.join("tenured.toml.5"), page)?;
    for shell in ["bash", "zsh", "fish"] {
        let text = output(Command::new(&ctl).args(["completions", shell]))?;
        fs::write(dist.join("completions").join(format!("tenurectl.{shell}")), text)?;
    }
    Ok(())
}

/// Prints the files with their sizes.
fn sizes(dist: &Path) -> Result<()> {
    println!("\n{}", dist.display());
    let folders = ["policies", "man", "completions", "systemd"].map(|name| dist.join(name));
    for folder in std::iter::once(dist.to_owned()).chain(folders) {
        let mut files: Vec<PathBuf> =
            fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        ensure!(!files.is_empty(), "{} is empty", folder.display());
        files.sort();
        for file in files.iter().filter(|file| file.is_file()) {
            let kibibytes = fs::metadata(file)?.len().div_ceil(1024);
            println!("{kibibytes:>8} KiB  {}", file.strip_prefix(dist)?.display());
        }
    }
    Ok(())
}
