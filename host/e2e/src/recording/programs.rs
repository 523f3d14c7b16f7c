//! Runs the plugin and `tenurectl` with the arguments, the environment and the input of a recording.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use serde_json::Value;

use super::{BootClock, DIRECTORY, File, PluginCall, Printed};
use crate::{Attachment, Plugin, binaries};

/// The programs under test, with the paths that a recording leaves open.
#[derive(Debug, Clone)]
pub struct Programs {
    /// The value of [`DIRECTORY`].
    directory: PathBuf,
    /// The directory of the daemon's sockets.
    run_directory: PathBuf,
}

/// The form that `tenurectl` prints in.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// For programs.
    Json,
    /// For people.
    Table,
}

impl Programs {
    /// The programs under test, with a directory for the scenario and the daemon's run directory.
    #[must_use]
    pub fn new(directory: &Path, run_directory: &Path) -> Self {
        Self { directory: directory.to_owned(), run_directory: run_directory.to_owned() }
    }

    /// Replaces [`DIRECTORY`] in a text.
    #[must_use]
    pub fn fill_in(&self, text: &str) -> String {
        text.replace(DIRECTORY, &self.directory.display().to_string())
    }

    /// Writes a file of the scenario.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, File { name, content }: &File) -> anyhow::Result<()> {
        let path = self.directory.join(name);
        fs::create_dir_all(path.parent().context("a file without a directory")?)?;
        Ok(fs::write(path, self.fill_in(content))?)
    }

    /// Removes a file of the scenario.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, name: &str) -> anyhow::Result<()> {
        Ok(fs::remove_file(self.directory.join(name))?)
    }

    /// Calls the plugin with this machine's boot clock.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn plugin(&self, call: &PluginCall) -> anyhow::Result<Printed> {
        self.call(Plugin::new(&binaries::find("tenure")?), call)
    }

    /// Calls the plugin with the boot clock that the call names. Needs root.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn plugin_by_its_clock(&self, call: &PluginCall) -> anyhow::Result<Printed> {
        let offset = call.clock.offset()?.to_string();
        let plugin = Plugin::new(&binaries::find("tenure")?);
        let mut clock = Command::new("unshare");
        clock.args(["--time", "--boottime", &offset]);
        self.call(plugin.under(&clock), call)
    }

    fn call(&self, plugin: Plugin, call: &PluginCall) -> anyhow::Result<Printed> {
        let socket = self.run_directory.join("cni.sock").display().to_string();
        let mut plugin = plugin.env("TENURE_SOCKET", socket);
        for (name, value) in &call.environment {
            plugin = plugin.env(name, self.fill_in(value));
        }
        let input = self.fill_in(&call.config.to_string());
        let variable =
            |name: &str| call.environment.get(name).map(|value| self.fill_in(value)).unwrap_or_default();
        let attachment = Attachment {
            container: variable("CNI_CONTAINERID"),
            netns: variable("CNI_NETNS"),
            interface: variable("CNI_IFNAME"),
        };
        let outcome = plugin.start(&variable("CNI_COMMAND"), &attachment, input.as_bytes())?.finish()?;
        Ok(Printed { exit: outcome.code, stdout: outcome.stdout, stderr: outcome.stderr })
    }

    /// Calls `tenurectl`.
    ///
    /// # Errors
    /// When it cannot be run, or its output is not UTF-8.
    pub fn ctl(&self, arguments: &[String], form: Form) -> anyhow::Result<Printed> {
        let output = Command::new(binaries::find("tenurectl")?)
            .arg("--run-dir")
            .arg(&self.run_directory)
            .args(["--output", form.name()])
            .args(arguments.iter().map(|argument| self.fill_in(argument)))
            .stdin(Stdio::null())
            .output()?;
        let [stdout, stderr] = [output.stdout, output.stderr].map(String::from_utf8);
        Ok(Printed { exit: output.status.code(), stdout: stdout?, stderr: stderr? })
    }

    /// Writes what `tenurectl` printed to a file of the scenario, if the call names one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, name: Option<&str>, printed: &Printed) -> anyhow::Result<()> {
        let Some(name) = name else { return Ok(()) };
        self.write(&File { name: name.to_owned(), content: printed.stdout.clone() })
    }

    /// The only file in the spool next to the daemon's socket.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn spooled(&self) -> anyhow::Result<File> {
        let mut entries = fs::read_dir(self.run_directory.join("spool"))?;
        let entry = entries.next().context("nothing was spooled")??;
        anyhow::ensure!(entries.next().is_none(), "more than one file was spooled");
        let name = entry.file_name().to_string_lossy().into_owned();
        Ok(File { name, content: fs::read_to_string(entry.path())? })
    }
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Table => "table",
        }
    }
}

impl BootClock {
    /// Seconds to add to the machine's boot clock.
    fn offset(self) -> anyhow::Result<i64> {
        /// 47 years: no machine has been up for longer.
        const AHEAD: i64 = 1_500_000_000;
        /// The uptime that the plugin sees, in seconds.
        const AFTER_BOOT: i64 = 5;
        match self {
            Self::Ahead => Ok(AHEAD),
            Self::JustBooted => {
                let uptime = fs::read_to_string("/proc/uptime")?;
                let seconds: i64 = uptime.split('.').next().unwrap_or_default().parse()?;
                Ok(AFTER_BOOT - seconds)
            }
        }
    }
}

/// Parses a text as JSON; a text that is not JSON becomes a string.
#[must_use]
pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
