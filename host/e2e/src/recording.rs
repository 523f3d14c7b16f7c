//! Recorded exchanges: the requests and answers between one version's programs and its daemon, byte for byte.
//!
//! Each folder of `recordings/` belongs to one version and never changes. It contains that version's protocol and one file per
//! scenario: a line of JSON for the [`Head`], then a line for each [`Step`]. `tenure-record` writes such a folder; the suite
//! `one_version_apart` tests the current programs against it.
//!
//! Requests carry the plugin's start time, and a daemon refuses an ADD from before its own start. So that a recording does not
//! expire, the plugin is recorded with a boot clock that is 47 years ahead: a daemon treats a start time in the future as now.

pub mod diff;
pub mod fake;
pub mod frozen;
pub mod node;
pub mod programs;
pub mod wire;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::wire::Exchange;

/// Stands for the scenario's own directory in arguments, configurations and files.
pub const DIRECTORY: &str = "$DIR";

/// The extension of a scenario's file.
const EXTENSION: &str = "jsonl";

/// One scenario: a fresh node and everything that was done on it.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The name of the folder that holds it.
    pub folder: String,
    /// The first line.
    pub head: Head,
    /// The other lines.
    pub steps: Vec<Step>,
}

/// The beginning of a scenario.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Head {
    /// The scenario's name, which is also the file's.
    pub scenario: String,
    /// Subject of the scenario.
    pub about: String,
    /// Program that wrote it, as `tenured --version` prints it.
    pub wrote: String,
    /// The directory that [`DIRECTORY`] stood for. Requests and answers have it in full.
    pub directory: String,
    /// The daemon's configuration.
    pub configuration: String,
    /// Why the requests cannot be replayed to another daemon; `None` if they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers_only: Option<String>,
}

/// One event on the node.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// A file was written below [`DIRECTORY`].
    Write(File),
    /// A file below [`DIRECTORY`] was removed.
    Remove {
        /// Path of the file.
        name: String,
    },
    /// The daemon was started or stopped, or lost its state.
    Daemon {
        /// The change.
        did: Turn,
    },
    /// The plugin was called.
    Plugin(PluginCall),
    /// `tenurectl` was called.
    Ctl(CtlCall),
    /// The plugin was called while no daemon ran, and spooled this file.
    Spool {
        /// The call, a DEL.
        call: PluginCall,
        /// The file.
        file: File,
    },
}

/// A text file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct File {
    /// Path, relative to [`DIRECTORY`] or to the spool.
    pub name: String,
    /// Contents of the file.
    pub content: String,
}

/// A change of the daemon's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    /// The daemon stopped cleanly.
    Stop,
    /// The daemon started and replayed the spool.
    Start,
    /// The state directory was deleted while the daemon did not run.
    LoseState,
}

/// A call of the plugin.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PluginCall {
    /// Purpose of the call.
    pub about: String,
    /// The boot clock that the plugin saw.
    pub clock: BootClock,
    /// The `CNI_` variables.
    pub environment: BTreeMap<String, String>,
    /// Standard input.
    pub config: Value,
    /// The calls to the daemon.
    #[serde(default)]
    pub exchanges: Vec<Exchange>,
    /// The result.
    #[serde(default)]
    pub printed: Printed,
}

/// The boot clock of a recorded plugin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootClock {
    /// Far ahead: every daemon treats the call as having begun now.
    #[default]
    Ahead,
    /// Seconds after the boot: the call began before the daemon started.
    JustBooted,
}

/// A call of `tenurectl`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CtlCall {
    /// Arguments, without those that name the daemon and the form of the output.
    pub arguments: Vec<String>,
    /// The file below [`DIRECTORY`] that its JSON output goes to, for a later call to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps: Option<String>,
    /// The calls to the daemon.
    #[serde(default)]
    pub exchanges: Vec<Exchange>,
    /// The result with `--output json`.
    #[serde(default)]
    pub json: Printed,
    /// The result with `--output table`, for the same answers.
    #[serde(default)]
    pub table: Printed,
}

/// The output of a program, and its exit status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Printed {
    /// The exit code; `None` where a signal ended it.
    pub exit: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Recording {
    /// Writes the recording into a folder.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let mut lines = vec![serde_json::to_string(&self.head)?];
        for step in &self.steps {
            lines.push(serde_json::to_string(step)?);
        }
        let path = folder.join(&self.head.scenario).with_extension(EXTENSION);
        fs::write(&path, lines.join("\n") + "\n").with_context(|| path.display().to_string())
    }

    fn read(path: &Path) -> anyhow::Result<Self> {
        let folder = path.parent().and_then(Path::file_name).context("a recording outside of a folder")?;
        let folder = folder.to_string_lossy().into_owned();
        let text = fs::read_to_string(path)?;
        let mut lines = text.lines();
        let head = serde_json::from_str(lines.next().context("an empty file")?)?;
        let steps = lines.map(|line| Ok(serde_json::from_str(line)?)).collect::<anyhow::Result<_>>()?;
        Ok(Self { folder, head, steps })
    }

    /// The calls to the daemon in a step.
    #[must_use]
    pub fn exchanges(step: &Step) -> &[Exchange] {
        match step {
            Step::Plugin(call) => &call.exchanges,
            Step::Ctl(call) => &call.exchanges,
            Step::Write(_) | Step::Remove { .. } | Step::Daemon { .. } | Step::Spool { .. } => &[],
        }
    }
}

/// Returns the folder of the recordings.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings")
}

/// All recordings of all versions, in the order of their names.
///
/// # Errors
/// When a file cannot be read, or there is none.
pub fn all() -> anyhow::Result<Vec<Recording>> {
    let mut files = Vec::new();
    for folder in listed(&root())? {
        let is_scenario = |path: &PathBuf| path.extension().is_some_and(|extension| extension == EXTENSION);
        files.extend(listed(&folder)?.into_iter().filter(is_scenario));
    }
    ensure!(!files.is_empty(), "there are no recordings in {}", root().display());
    let read = |path: PathBuf| Recording::read(&path).with_context(|| path.display().to_string());
    files.into_iter().map(read).collect()
}

fn listed(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
