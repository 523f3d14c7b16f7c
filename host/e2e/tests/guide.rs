//! The book's guide to writing a policy, followed from an empty folder to pods: its own files, its own commands, its own
//! output.
//!
//! A block whose info string has `file=PATH` is a file; in a `console` block, a line after `$ ` or `# ` is a command, and any
//! other line is what the command before it prints, with `...` for the parts that differ.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use anyhow::{Context, bail, ensure};
use tenure_e2e::{Enclave, Need, Suite};
use tenure_fixtures::node::binaries;

/// A mark between the output of one command and that of the next.
const MARK: &str = "@@next-command";

/// The longest that the examples may be, formatted and with their documentation.
const LINES: [(&str, usize); 2] = [("zones", 40), ("tenants", 50)];

fn main() -> ExitCode {
    Suite::new()
        .test("the_guide_leads_from_an_empty_folder_to_pods_with_addresses", Need::NAMESPACES, followed)
        .test("zones_and_tenants_take_few_lines", &[], short)
        .run()
}

/// Something that the guide tells its reader to do.
#[derive(Debug)]
enum Step {
    /// Write a file.
    File(PathBuf, String),
    /// Run a command, which prints these lines.
    Command(String, Vec<String>),
}

fn workspace() -> anyhow::Result<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("no workspace")?;
    Ok(workspace.to_owned())
}

/// The steps of the guide, in its order.
fn steps() -> anyhow::Result<Vec<Step>> {
    let guide = workspace()?.join("deploy/book/src/policy-guide.md");
    let text = fs::read_to_string(&guide)?;
    let (mut steps, mut lines) = (Vec::new(), text.lines());
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if let Some(file) = info.split(',').find_map(|part| part.strip_prefix("file=")) {
            steps.push(Step::File(file.into(), included(&guide, &block)?));
        } else if info == "console" {
            console(&block, &mut steps)?;
        }
    }
    ensure!(steps.len() > 10, "the guide has only {} steps", steps.len());
    Ok(steps)
}

/// A block's text, with what it includes from other files.
fn included(guide: &Path, block: &[&str]) -> anyhow::Result<String> {
    let mut text = String::new();
    for line in block {
        match line.strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}")) {
            Some(path) => {
                text += &fs::read_to_string(guide.parent().context("no folder")?.join(path))
                    .context(path.to_owned())?;
            }
            None => writeln!(text, "{line}")?,
        }
    }
    Ok(text)
}

fn console(block: &[&str], steps: &mut Vec<Step>) -> anyhow::Result<()> {
    for line in block {
        if let Some(command) = line.strip_prefix("$ ").or_else(|| line.strip_prefix("# ")) {
            steps.push(Step::Command(command.to_owned(), Vec::new()));
        } else if let Some(Step::Command(_, printed)) = steps.last_mut() {
            printed.push((*line).to_owned());
        } else {
            bail!("{line:?} is printed by no command");
        }
    }
    Ok(())
}

/// Follows the guide in an enclave that has a node's programs and nothing of the workspace, in an empty folder.
fn followed() -> anyhow::Result<()> {
    let steps = steps()?;
    let workspace = workspace()?;
    let enclave = Enclave::new()?;
    // The node's own folders, empty and gone with the enclave; /etc is a copy.
    let prepare = "set -e; cp -a /etc /run/etc; mount --bind /run/etc /etc
                   mount -t tmpfs tmpfs /opt; mount -t tmpfs tmpfs /var/lib
                   mkdir -p /opt/bin /opt/cni/bin /var/lib/cni /var/lib/tenure /etc/cni/net.d /run/author";
    enclave.run("bash", &["-c", prepare])?;
    for (name, folder) in [("tenured", "/opt/bin"), ("tenurectl", "/opt/bin"), ("tenure", "/opt/cni/bin")] {
        fs::copy(binaries::find(name)?, enclave.outside(folder).join(name))?;
    }
    // The versions that the workspace has, so that nothing needs to be downloaded.
    let lock = workspace.join("Cargo.lock");
    let mut script = String::from("exec 2>&1\nset -e -o pipefail\ncd /run/author\n");
    for (number, step) in steps.iter().enumerate() {
        writeln!(script, "echo {MARK} {number}")?;
        match step {
            Step::File(path, text) => {
                let file = enclave.outside("/run").join(format!("file-{number}"));
                fs::write(file, text)?;
                writeln!(script, "cp /run/file-{number} {}", path.display())?;
            }
            Step::Command(command, _) => {
                // A daemon in the background must not keep the script's output open.
                match command.strip_suffix(" &") {
                    Some(daemon) => writeln!(script, "{daemon} > /run/daemon.log 2>&1 &")?,
                    None => writeln!(script, "{command}")?,
                }
                if command.starts_with("tenurectl policy new") {
                    writeln!(script, "cp {} zones/", lock.display())?;
                }
            }
        }
    }
    writeln!(script, "echo {MARK} end; kill %1")?;
    let path = std::env::var("PATH").unwrap_or_default();
    let output = enclave
        .command("bash")
        .args(["-c", &script])
        .env("PATH", format!("/opt/bin:{path}"))
        .env("TENURE_SDK", workspace.join("sdk"))
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("guide"))
        .env("CARGO_NET_OFFLINE", "true")
        .env_remove("CARGO")
        .stdin(Stdio::null())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let log = fs::read_to_string(enclave.outside("/run/daemon.log")).unwrap_or_default();
    ensure!(
        text.contains(&format!("{MARK} end")),
        "the guide cannot be followed: {text}\nthe daemon's log:\n{log}"
    );
    for (number, step) in steps.iter().enumerate() {
        let Step::Command(command, printed) = step else { continue };
        let got = text.split(&format!("{MARK} {number}\n")).nth(1).unwrap_or_default();
        let got = got.split(MARK).next().unwrap_or_default();
        for expected in printed {
            ensure!(prints(got, expected), "`{command}` must print\n  {expected}\nbut printed\n{got}");
        }
    }
    Ok(())
}

/// Whether a line of an output is the expected one: in words, and with `...` for anything.
fn prints(output: &str, expected: &str) -> bool {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = words(expected);
    output.lines().map(words).any(|line| {
        let mut parts = expected.split("...").map(str::trim);
        let begins = parts.next().is_none_or(|first| line.starts_with(first));
        let mut rest = line.as_str();
        let follow = expected.split("...").map(str::trim).all(|part| match rest.find(part) {
            Some(at) => {
                rest = rest.get(at + part.len()..).unwrap_or_default();
                true
            }
            None => false,
        });
        begins && follow && (expected.ends_with("...") || rest.is_empty())
    })
}

/// Examples, with their documentation, as rustfmt has them.
fn short() -> anyhow::Result<()> {
    for (name, most) in LINES {
        let text = fs::read_to_string(workspace()?.join(format!("sdk/guest/examples/{name}.rs")))?;
        let lines = text.lines().count();
        ensure!(lines <= most, "{name} has {lines} lines, and may have {most}");
    }
    Ok(())
}
