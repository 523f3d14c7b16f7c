//! Writes decisions, on a thread of its own, and removes those of networks that are gone.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tenure_types::NetworkName;

use super::decision::{DecisionHeader, FORMAT, RecordedLimits};
use super::files::{BEFORE, NOW, NetworkFiles};
use super::queue::PendingDecision;
use super::recorder::Recorder;

/// The folder of decisions in a state directory; each network has its own in it.
pub(crate) fn folder(state_directory: &Path) -> PathBuf {
    state_directory.join("decisions")
}

/// How often dropped decisions are reported.
const REPORT: Duration = Duration::from_secs(60);

/// Writes the decisions of a node.
#[derive(Debug)]
pub struct DecisionWriter {
    recorder: Arc<Recorder>,
    folder: PathBuf,
    header: DecisionHeader,
}

impl DecisionWriter {
    /// A writer in a state directory, of calls with these limits.
    #[must_use]
    pub fn new(recorder: Arc<Recorder>, state_directory: &Path, limits: RecordedLimits) -> Self {
        let program = env!("CARGO_PKG_VERSION").to_owned();
        let header = DecisionHeader { format: FORMAT, program, limits };
        // Not when it runs: it may be told to end before its thread has begun.
        recorder.queue.open();
        Self { recorder, folder: folder(state_directory), header }
    }

    /// The recorder whose decisions it writes.
    #[must_use]
    pub fn recorder(&self) -> &Arc<Recorder> {
        &self.recorder
    }

    /// Writes decisions until the recorder is closed. Blocks.
    pub fn run(&self) {
        let mut networks = HashMap::new();
        let mut report = DropReport::default();
        while let Some(lines) = self.recorder.queue.take() {
            let problem = self.write(&mut networks, lines);
            report.report(&self.recorder, problem);
        }
    }

    /// Writes lines, each to its network's files; returns the last problem.
    fn write(
        &self,
        networks: &mut HashMap<NetworkName, NetworkFiles>,
        lines: Vec<PendingDecision>,
    ) -> Option<io::Error> {
        let mut bodies: HashMap<NetworkName, Vec<PendingDecision>> = HashMap::new();
        for line in lines {
            bodies.entry(line.network.clone()).or_default().push(line);
        }
        // Networks that are not recorded any more are forgotten.
        networks.retain(|network, _| self.recorder.most(network.as_str()) > 0);
        let mut problem = None;
        for (network, bodies) in bodies {
            let count = u64::try_from(bodies.len()).unwrap_or(u64::MAX);
            // A decision may arrive right after its network's recording was switched off.
            let most = self.recorder.most(network.as_str()).max(1);
            let directory = self.folder.join(network.as_str());
            let files = networks.entry(network.clone()).or_insert_with(|| NetworkFiles::new(directory));
            match files.append(&self.header, &bodies, most) {
                Ok(()) => self.recorder.wrote(count),
                Err(error) => {
                    self.recorder.drop_some(count);
                    self.recorder.lost(network.as_str());
                    problem = Some(error);
                }
            }
        }
        problem
    }

    /// Removes the decisions of networks that are not wanted; returns how many networks. Files that are not named as
    /// this module names its own are left alone.
    ///
    /// # Errors
    /// If the folder cannot be read or a file cannot be removed.
    pub fn prune(&self, is_wanted: impl Fn(&str) -> bool) -> io::Result<usize> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            entries => entries?,
        };
        let mut removed = 0;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| NetworkName::new(name).is_ok()) else { continue };
            if is_wanted(name) || !entry.file_type()?.is_dir() {
                continue;
            }
            for file in [BEFORE, NOW] {
                match std::fs::remove_file(entry.path().join(file)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            // It stays if somebody has put something else there.
            if std::fs::remove_dir(entry.path()).is_ok() {
                removed += 1;
            }
        }
        Ok(removed)
    }
}

/// Reports dropped decisions in the log, from time to time.
#[derive(Debug, Default)]
struct DropReport {
    /// The number that was reported last.
    told: u64,
    at: Option<Duration>,
}

impl DropReport {
    fn report(&mut self, recorder: &Recorder, problem: Option<io::Error>) {
        let (_, dropped) = recorder.counts();
        let now = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default();
        let is_early = self.at.is_some_and(|at| now.saturating_sub(at) < REPORT);
        if dropped == self.told || is_early {
            return;
        }
        let why = problem.map_or_else(
            || "more arrived than could be written, or one was too long".to_owned(),
            |error| error.to_string(),
        );
        let count = dropped - std::mem::replace(&mut self.told, dropped);
        self.at = Some(now);
        tracing::warn!(dropped = count, why, "policy decisions were not recorded");
    }
}
