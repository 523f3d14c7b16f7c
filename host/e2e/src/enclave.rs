//! An enclave for a test: network, mount and process namespaces that end with it.
//!
//! A holder process is the first process of the enclave and waits on a pipe from the test. When the test drops the enclave, or
//! dies, the pipe closes, the holder exits, and the kernel kills and unmounts everything inside. It does not remove control
//! groups; dropping the enclave does.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::{scratch, wait};

/// Numbers the enclaves of this process.
static ROOMS: AtomicU32 = AtomicU32::new(0);

/// A private set of namespaces; see the module documentation.
#[derive(Debug)]
pub struct Enclave {
    holder: Child,
    /// The first process of the enclave, by its ID on the host.
    first: u32,
    name: String,
}

impl Enclave {
    /// Creates an enclave with an empty /run and a private directory for libcni's caches.
    ///
    /// # Errors
    /// Without root, or when the kernel refuses.
    pub fn new() -> anyhow::Result<Self> {
        // bash, because it reaps the orphans that a first process inherits. It writes /run/ready when everything is set up.
        let script = "set -e; mount -t tmpfs tmpfs /run; mkdir -p /var/lib/cni; mount -t tmpfs tmpfs /var/lib/cni
                      mkdir -p /run/lock; ip link set lo up; exec -a enclave bash -c 'echo >/run/ready; read -r _'";
        let mut holder = Command::new("unshare")
            .args([
                "--net",
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "bash",
                "-c",
                script,
            ])
            .stdin(Stdio::piped())
            .spawn()
            .context("unshare")?;
        let children = format!("/proc/{0}/task/{0}/children", holder.id());
        let first = wait::until("the enclave", Duration::from_secs(10), || {
            ensure!(holder.try_wait()?.is_none(), "the enclave's holder ended");
            let Some(first) = fs::read_to_string(&children)?.split_whitespace().next().map(str::to_owned)
            else {
                return Ok(None);
            };
            Ok(fs::exists(format!("/proc/{first}/root/run/ready"))?.then_some(first))
        })?;
        let room = ROOMS.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}{room}", scratch::prefix());
        Ok(Self { holder, first: first.parse()?, name })
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
}

impl Drop for Enclave {
    fn drop(&mut self) {
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
