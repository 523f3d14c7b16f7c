//! The directory of CNI configurations: looks at its files when the kernel reports a change, and defines the networks that no pod has
//! needed yet.
//!
//! The kernel reports nothing if a link is switched further up its path, and nothing of a directory that does not exist: they are looked at now
//! and then, too, like [policy files](super::policy_files). A file with any fault is tried again when it has changed, and ever more rarely
//! otherwise.
//!
//! ```text
//!         whole                      changed
//! new ───────────▶ applied ─────────────────────────▶ new
//!  │ wrong                   wrong again
//!  └───────▶ half written? ─────────────▶ reported ──▶ new, when it has changed or some time has passed
//! ```

mod files;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tenure_conditions::Conditions;
use tenure_conditions::Report;
use tenure_rpc::cni::{CniService, ForeseenNetwork, foreseen};
use tenure_supervise::{Gate, Interruptible, beat};
use tenure_types::{ConditionName, Error};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use self::files::Print;
use super::folder::FolderWatch;
use crate::config::Config;

/// How often to look where the kernel reports changes, and where it reports none or a file is wrong.
const EVERY: (Duration, Duration) = (Duration::from_secs(6), Duration::from_secs(1));

/// How soon to look again at a file that may be half written, and after a change.
const SETTLES: Duration = Duration::from_millis(250);

/// How long to wait until a file is tried again that has not changed and did not work: twice as long each time.
const TRY_AGAIN: Duration = Duration::from_secs(1);
const MOST_DOUBLINGS: u32 = 5;

/// Follows the directory.
pub(crate) struct CniFilesPart {
    service: CniService,
    config: watch::Receiver<Arc<Config>>,
    after: Gate,
    report: Report,
    seen: BTreeMap<PathBuf, SeenFile>,
    /// The watch on the directory, if the kernel reports its changes.
    watch: Option<(PathBuf, FolderWatch)>,
}

/// A file as it was tried last.
struct SeenFile {
    print: Print,
    tried: Instant,
    networks: Vec<ForeseenNetwork>,
    /// Description of the problem, and how often it was found since the file last changed.
    wrong: Option<String>,
    failures: u32,
}

impl SeenFile {
    /// Whether to try the file again, which now looks like this.
    fn is_due(&self, print: &Print) -> bool {
        let wait = TRY_AGAIN * (1 << self.failures.saturating_sub(2).min(MOST_DOUBLINGS));
        let is_over = !self.is_lasting() || self.tried.elapsed() >= wait;
        self.print != *print || self.wrong.is_some() && is_over
    }

    /// Whether it was wrong twice: a file may be half written.
    fn is_lasting(&self) -> bool {
        self.failures > 1
    }
}

impl CniFilesPart {
    pub(crate) fn build(
        service: CniService,
        config: watch::Receiver<Arc<Config>>,
        conditions: &Arc<Conditions>,
        after: Gate,
    ) -> Self {
        let report = Report::new(conditions, ConditionName::CniFileUnusable);
        Self { service, config, after, report, seen: BTreeMap::new(), watch: None }
    }

    /// Looks at the directory, and tries what is new. Returns what is wrong, by file.
    async fn look(&mut self, directory: PathBuf) -> Vec<(String, String)> {
        let told = directory.display().to_string();
        let listed = match spawn_blocking(move || files::list(&directory)).await {
            Ok(Ok(listed)) => listed,
            Ok(Err(error)) => return vec![(told.clone(), format!("{told}: {error}"))],
            Err(error) => return vec![(told.clone(), format!("{told}: {error}"))],
        };
        self.seen.retain(|path, _| listed.contains_key(path));
        for (path, print) in listed {
            let before = self.seen.get(&path);
            if before.is_none_or(|seen| seen.is_due(&print)) {
                let failed = before.filter(|seen| seen.print == print).map_or(0, |seen| seen.failures);
                let (networks, wrong, failures) = match self.apply(&path, &print).await {
                    Ok(networks) => (networks, None, 0),
                    Err(wrong) => (Vec::new(), Some(wrong), failed.saturating_add(1)),
                };
                let seen = SeenFile { print, tried: Instant::now(), networks, wrong, failures };
                self.seen.insert(path, seen);
            }
        }
        let wrong = self.seen.iter().filter(|(_, seen)| seen.is_lasting()).filter_map(|(path, seen)| {
            let told = path.display().to_string();
            seen.wrong.as_ref().map(|wrong| (told.clone(), format!("{told}: {wrong}")))
        });
        wrong.collect()
    }

    /// Reads a file and defines its networks, which it returns; the error is what is wrong with it, for people.
    async fn apply(&self, path: &Path, print: &Print) -> Result<Vec<ForeseenNetwork>, String> {
        if let Print::Wrong(wrong) = print {
            return Err(wrong.clone());
        }
        let file = path.to_owned();
        let text = spawn_blocking(move || files::read(&file)).await.map_err(|error| error.to_string())?;
        let networks = foreseen(&text.map_err(|error| error.to_string())?);
        let networks = networks.map_err(|error| told(&error))?;
        for network in &networks {
            self.check_alone(path, network)?;
            if self.service.foresee(network).await.map_err(|error| told(&error))? {
                let (network, file) = (&network.network.network, path.display());
                tracing::info!(%network, %file, "a CNI configuration defined a network");
            }
        }
        Ok(networks)
    }

    /// Runtimes use the first file. If another one has the same network and defines it differently, each would undo what the
    /// other does.
    fn check_alone(&self, path: &Path, network: &ForeseenNetwork) -> Result<(), String> {
        let name = &network.network.network;
        let is_other = |other: &&ForeseenNetwork| other.network.network == *name && *other != network;
        let mut before = self.seen.iter().take_while(|(other, _)| other.as_path() < path);
        match before.find(|(_, seen)| seen.networks.iter().any(|other| is_other(&other))) {
            None => Ok(()),
            Some((first, _)) => Err(format!("{} defines network {name} differently", first.display())),
        }
    }
}

fn told(error: &Error) -> String {
    format!("{}: {}", error.code, error.cause)
}

impl CniFilesPart {
    /// Watches this directory, unless it does already. What changes from now on is reported.
    fn watch(&mut self, directory: &Path) {
        if self.watch.as_ref().is_none_or(|(watched, _)| watched != directory) {
            let watch = FolderWatch::on(directory).inspect_err(|cause| {
                tracing::debug!(directory = %directory.display(), %cause, "looking at the directory instead of watching it");
            });
            self.watch = watch.ok().map(|watch| (directory.to_owned(), watch));
        }
    }

    /// Waits until it is time to look at the directory again.
    async fn due(&mut self) {
        let wrong = || self.seen.values().filter(|seen| seen.wrong.is_some());
        let is_half_written = wrong().any(|seen| !seen.is_lasting());
        let (rarely, often) = EVERY;
        let pause = match &self.watch {
            _ if is_half_written => SETTLES,
            Some(_) if wrong().next().is_none() => rarely,
            _ => often,
        };
        let reported = async {
            match &mut self.watch {
                Some((_, watch)) => watch.changed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // What is being written gets a moment for that.
            Ok(()) = reported => sleep(SETTLES).await,
            // Another directory may have its name by now.
            () = beat(pause) => self.watch = None,
        }
    }
}

impl Interruptible for CniFilesPart {
    async fn work(&mut self) {
        self.after.passed().await;
        let mut config = self.config.clone();
        loop {
            let directory = config.borrow_and_update().cni.directory.clone();
            if let Some(directory) = &directory {
                // Before the look, so that nothing is missed between them.
                self.watch(directory);
                let wrong = self.look(directory.clone()).await;
                self.report.wrong_with(wrong);
            } else {
                // The directory may be configured later.
                (self.watch, self.seen) = (None, BTreeMap::new());
                self.report.wrong_with([]);
            }
            tokio::select! {
                changed = config.changed() => if changed.is_err() {
                    // The daemon is stopping.
                    return;
                },
                () = self.due(), if directory.is_some() => {}
            }
        }
    }
}
