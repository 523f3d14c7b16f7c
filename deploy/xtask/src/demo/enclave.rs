//! Private namespaces for the demonstration: network, mount and process namespaces that end with it.
//!
//! A holder process is the first process inside and waits on a pipe from us. When we end, in any way (done, error,
//! Ctrl-C, SIGKILL), the pipe closes, the holder ends, and the kernel kills and unmounts everything inside. No cleanup is
//! needed, so none can be forgotten.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};

/// A shell, because it reaps the orphans that a first process inherits. /run is a tmpfs that ends with the namespaces.
const HOLDER: &str = "set -e; mount -t tmpfs tmpfs /run; ip link set lo up; echo furnished; read -r _";

/// The namespaces, until this is dropped.
#[derive(Debug)]
pub(crate) struct Enclave {
    holder: Child,
    /// The first process inside, by its id on the host.
    first: u32,
}

impl Enclave {
    /// Creates the namespaces, with an empty /run.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn new() -> Result<Self> {
        let namespaces = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
        let mut holder = Command::new("unshare")
            .args(namespaces)
            .args(["bash", "-c", HOLDER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start `unshare`")?;
        let mut line = String::new();
        if let Some(stdout) = holder.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        ensure!(
            line.trim_end() == "furnished",
            "cannot create namespaces; is this an unprivileged container?"
        );
        let first = child_of(holder.id())?;
        Ok(Self { holder, first })
    }

    /// A command that runs inside.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.first.to_string(), "--net", "--mount", "--pid", "--"]).arg(program);
        command
    }

    /// A path inside, as seen from outside.
    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.first))
    }

    /// The network namespace of the enclave itself, as seen from outside.
    pub(crate) fn network(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/ns/net", self.first))
    }

    /// A named network namespace inside, as seen from outside.
    pub(crate) fn named_network(&self, name: &str) -> PathBuf {
        self.outside(&format!("/run/netns/{name}"))
    }
}

impl Drop for Enclave {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        // If the wait fails, the holder is already gone.
        let _ = self.holder.wait();
    }
}

/// The child process of `unshare` or `nsenter`, which both wait for it.
///
/// # Errors
/// When there is none.
pub(super) fn child_of(parent: u32) -> Result<u32> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))?;
    children.split_whitespace().next().and_then(|child| child.parse().ok()).context("it has no child process")
}
