//! An enclave for a test: network, mount and process namespaces that end with it.
//!
//! A holder process is the first process of the enclave and waits on a pipe from the test. When the test drops the enclave, or
//! dies, the pipe closes, the holder exits, and the kernel kills and unmounts everything inside. It does not remove control
//! groups; dropping the enclave does. In an enclave [with systemd](Enclave::with_systemd), commands run in namespaces within, whose first
//! process is systemd.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::{evidence, scratch, systemd, wait};

/// Numbers the enclaves of this process.
static ROOMS: AtomicU32 = AtomicU32::new(0);

/// The longest that an enclave may take to be there, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// An empty /run, and a private directory for libcni's caches.
const PREPARE: &str = "set -e
    mount -t tmpfs -o mode=755 tmpfs /run; mkdir -p /run/lock /var/lib/cni; mount -t tmpfs tmpfs /var/lib/cni; ip link set lo up";

/// A private set of namespaces; see the module documentation.
#[derive(Debug)]
pub struct Enclave {
    holder: Child,
    /// The process in whose namespaces commands run, by its ID on the host: the enclave's first one, or its systemd.
    first: u32,
    name: String,
    /// Whether it has a journal, which the reader of a failure wants to see.
    has_journal: bool,
}

impl Enclave {
    /// Creates an enclave with an empty /run and a private directory for libcni's caches.
    ///
    /// # Errors
    /// Without root, or when the kernel refuses.
    pub fn new() -> anyhow::Result<Self> {
        // It writes /run/ready when everything is set up.
        let mut enclave = Self::hold("exec -a enclave bash -c 'echo >/run/ready; read -r _'", &[])?;
        let first = wait::until("the enclave", LIMIT, || {
            let first = child_of(enclave.running()?)?;
            Ok(first.filter(|first| fs::exists(format!("/proc/{first}/root/run/ready")).unwrap_or(false)))
        })?;
        enclave.first = first;
        Ok(enclave)
    }

    /// Creates an enclave that is a machine: with systemd as the first process of namespaces within, in which commands run. Programs are the
    /// host's; of the host's files, none can be changed except in the directories `shared`.
    ///
    /// # Errors
    /// Without root, when the kernel refuses, or when a unit fails.
    pub fn with_systemd(shared: &[&Path]) -> anyhow::Result<Self> {
        let mut arguments = vec![systemd::hierarchy()?.as_os_str(), OsStr::new(systemd::BOOT)];
        arguments.extend(shared.iter().map(|shared| shared.as_os_str()));
        let mut enclave = Self::hold(systemd::SCRIPT, &arguments)?;
        enclave.first = wait::until("systemd", LIMIT, || {
            // bash, `unshare`, and what that started.
            let Some(first) = child_of(enclave.running()?)? else { return Ok(None) };
            let Some(unshare) = child_of(first)? else { return Ok(None) };
            let Some(systemd) = child_of(unshare)? else { return Ok(None) };
            let answers = fs::exists(format!("/proc/{systemd}/root/run/systemd/private")).unwrap_or(false);
            Ok(answers.then_some(systemd))
        })?;
        enclave.has_journal = true;
        systemd::has_booted(|| enclave.command("systemctl"))?;
        Ok(enclave)
    }

    /// Starts the holder and the first process, which runs a script; its first argument is the control group's name.
    fn hold(script: &str, arguments: &[&OsStr]) -> anyhow::Result<Self> {
        let room = ROOMS.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}{room}", scratch::prefix());
        // bash, because it reaps the orphans that a first process inherits.
        let holder = Command::new("unshare")
            .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c"])
            .args([&format!("{PREPARE}; {script}"), "enclave", &name])
            .args(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .context("unshare")?;
        Ok(Self { first: holder.id(), holder, name, has_journal: false })
    }

    /// The holder's ID, unless it has ended.
    fn running(&mut self) -> anyhow::Result<u32> {
        ensure!(self.holder.try_wait()?.is_none(), "the enclave's holder ended");
        Ok(self.holder.id())
    }

    /// The control group for a runtime's containers.
    #[must_use]
    pub fn control_group(&self) -> String {
        format!("/{}", self.name)
    }

    /// A command that runs inside.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.first.to_string(), "--net", "--mount", "--pid"]).arg(program);
        command
    }

    /// Runs a command inside and returns its output.
    ///
    /// # Errors
    /// When it cannot be run, or fails; the error contains its output.
    pub fn run(&self, program: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self.command(program).args(arguments).stdin(Stdio::null()).output()?;
        ensure!(
            output.status.success(),
            "{program} {arguments:?}: {}: {}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Creates a pod's network namespace and returns its path inside the enclave.
    ///
    /// # Errors
    /// When `ip` fails.
    pub fn add_netns(&self, name: &str) -> anyhow::Result<String> {
        self.run("ip", &["netns", "add", name])?;
        Ok(format!("/run/netns/{name}"))
    }

    /// The test's path to a path inside the enclave.
    #[must_use]
    pub fn outside(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.first))
    }

    /// The test's path to the enclave's network namespace.
    #[must_use]
    pub fn netns(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/ns/net", self.first))
    }
}

impl Drop for Enclave {
    fn drop(&mut self) {
        if self.has_journal {
            evidence::keep(format!(
                "--- the machine's journal\n{}",
                systemd::journal(self.command("journalctl"))
            ));
        }
        drop(self.holder.stdin.take());
        // If waiting fails, the holder is already gone.
        let _ = self.holder.wait();
        let groups = scratch::control_group_roots().map(|root| root.join(&self.name));
        for group in groups.filter(|group| group.exists()) {
            // The kernel may still be removing the last process.
            if let Err(error) = wait::holds("an empty control group", Duration::from_secs(2), || {
                Ok(remove_group(&group).is_ok())
            }) {
                eprintln!("{}: {error}", group.display());
            }
        }
    }
}

/// The first child of a process with one thread, if the process is still there.
fn child_of(process: u32) -> anyhow::Result<Option<u32>> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    Ok(children.split_whitespace().next().map(str::parse).transpose()?)
}

/// Removes a control group and its children; only the directories can be removed, and removing them is enough.
fn remove_group(group: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(group)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_group(&entry.path())?;
        }
    }
    fs::remove_dir(group)
}
