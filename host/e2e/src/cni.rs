//! Calling a CNI plugin as a runtime does: a process, its environment, its standard input, and what it printed.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::{Enclave, wait};

/// A CNI plugin, ready to be called.
#[derive(Debug, Clone)]
pub struct Plugin {
    /// The program and its first arguments.
    command: Vec<String>,
    environment: BTreeMap<String, Option<String>>,
    /// Where it runs, if not where the test does.
    directory: Option<PathBuf>,
}

/// What a call is about: one interface of one container.
#[derive(Debug, Clone)]
pub struct Attachment {
    /// `CNI_CONTAINERID`.
    pub container: String,
    /// `CNI_NETNS`.
    pub netns: String,
    /// `CNI_IFNAME`.
    pub interface: String,
}

impl Attachment {
    /// `eth0` of a container, in a namespace that only has a name: an IPAM plugin does not enter it, and its directory is
    /// nowhere, so that a check cannot miss it there.
    #[must_use]
    pub fn of(container: impl Into<String>) -> Self {
        let container = container.into();
        Self { netns: format!("/run/nowhere/{container}"), container, interface: "eth0".to_owned() }
    }

    /// `eth0` of a container in a namespace.
    #[must_use]
    pub fn in_netns(container: impl Into<String>, netns: impl Into<String>) -> Self {
        Self { container: container.into(), netns: netns.into(), interface: "eth0".to_owned() }
    }
}

impl Plugin {
    /// A plugin that runs beside the test.
    #[must_use]
    pub fn new(program: &Path) -> Self {
        let plugin = Self {
            command: vec![program.display().to_string()],
            environment: BTreeMap::new(),
            directory: None,
        };
        plugin.env("CNI_PATH", "/usr/lib/cni")
    }

    /// The same plugin, run inside of an enclave.
    #[must_use]
    pub fn inside(mut self, enclave: &Enclave) -> Self {
        let command = enclave.command("env");
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        self.command.splice(0..0, words.map(|word| word.to_string_lossy().into_owned()));
        self
    }

    /// The same plugin, run as the last words of another command.
    #[must_use]
    pub fn under(mut self, words: &[&str]) -> Self {
        self.command.splice(0..0, words.iter().map(|word| (*word).to_owned()));
        self
    }

    /// The same plugin, run in a directory.
    #[must_use]
    pub fn working_in(mut self, directory: &Path) -> Self {
        self.directory = Some(directory.to_owned());
        self
    }

    /// Sets an environment variable for each call.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.insert(name.to_owned(), Some(value.into()));
        self
    }

    /// Takes an environment variable away from each call.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.environment.insert(name.to_owned(), None);
        self
    }

    /// Calls the plugin for an attachment and waits for its answer.
    ///
    /// # Errors
    /// When the plugin cannot be run; what it answers is in the outcome.
    pub fn call(&self, verb: &str, attachment: &Attachment, config: &Value) -> anyhow::Result<Outcome> {
        self.start(verb, attachment, &serde_json::to_vec(config)?)?.finish()
    }

    /// Calls the plugin with any standard input, and does not wait.
    ///
    /// # Errors
    /// When the plugin cannot be run.
    pub fn start(&self, verb: &str, attachment: &Attachment, input: &[u8]) -> anyhow::Result<Running> {
        let mut running = self.begin(verb, attachment)?;
        running.send(input)?;
        Ok(running)
    }

    /// Starts the plugin, which waits for its standard input.
    ///
    /// # Errors
    /// When the plugin cannot be run.
    pub fn begin(&self, verb: &str, attachment: &Attachment) -> anyhow::Result<Running> {
        let (program, arguments) = self.command.split_first().context("a plugin without a program")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("CNI_COMMAND", verb)
            .env("CNI_CONTAINERID", &attachment.container)
            .env("CNI_NETNS", &attachment.netns)
            .env("CNI_IFNAME", &attachment.interface);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(Running(Some(command.spawn().with_context(|| format!("run {program}"))?)))
    }
}

/// A call under way; one that nobody waits for is killed.
#[derive(Debug)]
pub struct Running(Option<Child>);

impl Running {
    /// Sends the whole standard input.
    ///
    /// # Errors
    /// When it was sent before.
    pub fn send(&mut self, input: &[u8]) -> anyhow::Result<()> {
        let child = self.0.as_mut().context("the call is over")?;
        // A plugin may end without having read its input.
        let _ = child.stdin.take().context("the input was sent")?.write_all(input);
        Ok(())
    }

    /// Waits until the plugin has nothing to do but wait: for its input, or for a daemon.
    ///
    /// # Errors
    /// When it ends instead.
    pub fn rests(&self) -> anyhow::Result<()> {
        let path = format!("/proc/{}/stat", self.0.as_ref().context("the call is over")?.id());
        wait::holds("the plugin to wait", Duration::from_secs(10), || {
            let stat = std::fs::read_to_string(&path)?;
            // The state follows the name, which stands in parentheses.
            let (_, state) = stat.rsplit_once(") ").context("a malformed stat")?;
            ensure!(!state.starts_with('Z'), "the plugin ended");
            Ok(state.starts_with('S'))
        })
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// When what was printed is not text.
    pub fn finish(mut self) -> anyhow::Result<Outcome> {
        let output = self.0.take().context("the call is over")?.wait_with_output()?;
        Ok(Outcome {
            succeeded: output.status.success(),
            status: output.status.to_string(),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }

    /// Kills the plugin as a runtime does whose patience is over.
    pub fn kill(self) {
        drop(self);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What a call printed and how it ended.
#[derive(Debug)]
pub struct Outcome {
    /// Whether the exit status was 0.
    pub succeeded: bool,
    /// The exit status, as text.
    pub status: String,
    /// The exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// A CNI error object.
#[derive(Debug, Deserialize)]
pub struct CniError {
    /// The specification's code, or the plugin's own.
    pub code: u32,
    /// What happened.
    pub msg: String,
    /// More about it.
    #[serde(default)]
    pub details: String,
}

impl Outcome {
    /// The result of a call that must have succeeded.
    ///
    /// # Errors
    /// When it failed or printed no JSON.
    pub fn result(&self) -> anyhow::Result<Value> {
        ensure!(self.succeeded, "{self}");
        serde_json::from_str(&self.stdout).with_context(|| self.to_string())
    }

    /// A call that must have succeeded and printed nothing.
    ///
    /// # Errors
    /// When it did not.
    pub fn silent(&self) -> anyhow::Result<()> {
        ensure!(self.succeeded && self.stdout.is_empty(), "{self}");
        Ok(())
    }

    /// The error of a call that must have failed: exit status 1 and one JSON object, nothing else.
    ///
    /// # Errors
    /// When it succeeded, or printed anything but an error.
    pub fn error(&self) -> anyhow::Result<CniError> {
        ensure!(!self.succeeded, "expected an error: {self}");
        ensure!(self.status == "exit status: 1", "{self}");
        serde_json::from_str(&self.stdout).with_context(|| self.to_string())
    }

    /// The error of a call that must have failed with a code.
    ///
    /// # Errors
    /// As [`error`](Self::error), and when it is another code.
    pub fn error_code(&self, code: u32) -> anyhow::Result<CniError> {
        let error = self.error()?;
        ensure!(error.code == code, "expected code {code}: {self}");
        Ok(error)
    }

    /// The addresses of a result of any version, in order, as CIDR text.
    ///
    /// # Errors
    /// When there is no result.
    pub fn addresses(&self) -> anyhow::Result<Vec<String>> {
        let result = self.result()?;
        let entries: Vec<&Value> = match result.get("ips").and_then(Value::as_array) {
            Some(ips) => ips.iter().filter_map(|ip| ip.get("address")).collect(),
            None => ["ip4", "ip6"].iter().filter_map(|key| result.get(key)?.get("ip")).collect(),
        };
        entries
            .into_iter()
            .map(|entry| entry.as_str().map(str::to_owned).ok_or_else(|| anyhow!("{self}")))
            .collect()
    }

    /// The only address of a result.
    ///
    /// # Errors
    /// When there is no result, or it has another number of addresses.
    pub fn address(&self) -> anyhow::Result<String> {
        let mut addresses = self.addresses()?;
        ensure!(addresses.len() == 1, "expected one address: {self}");
        addresses.pop().context("no address")
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}; stdout: {:?}; stderr: {:?}", self.status, self.stdout, self.stderr)
    }
}

/// A directory for `CNI_PATH` that has tenure under its own name and others.
///
/// # Errors
/// When the links cannot be made.
pub fn link_as(shim: &Path, directory: &Path, names: &[&str]) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(directory)?;
    for name in names {
        match std::os::unix::fs::symlink(shim, directory.join(name)) {
            // Another test on the same daemon was here.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            linked => linked?,
        }
    }
    Ok(directory.to_owned())
}
