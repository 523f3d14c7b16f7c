//! The configuration's policy files: looks at each of them every other second, and applies those that changed.
//!
//! A file without `sha256` is followed. Its name stands for what was last taken from it; even if the file is removed, that
//! version keeps serving until a changed one has been loaded and exchanged. A pinned file is only compared with its pin.
//!
//! The files are polled, not watched with inotify: that reports neither what is mounted over a file nor a link that is
//! switched further up its path, as Kubernetes does with a ConfigMap, and a handful of `stat` calls a second cost nothing.

mod print;
mod sight;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tenure_engine::Engine;
use tenure_engine::ports::Catalogue as _;
use tenure_policy::{CatalogueSource, Contents, Policies, sha256};
use tenure_supervise::{Gate, Part, beat};
use tenure_types::{PolicyName, PolicyStamp};
use tokio::sync::{Mutex, watch};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use self::print::Print;
use self::sight::{Act, Sight, SightOutcome};
use crate::config::Config;
use crate::state_seen::StateSeen;

/// How often to look: on the beat of the other parts.
const EVERY: Duration = Duration::from_secs(2);

/// Follows the files.
pub(crate) struct FollowedFiles {
    engine: Arc<Engine>,
    policies: Arc<Policies>,
    state_seen: Arc<StateSeen>,
    /// Held while the files are looked at.
    sights: Mutex<HashMap<PolicyName, (FollowedFile, Sight)>>,
}

/// A policy's file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FollowedFile {
    name: PolicyName,
    path: PathBuf,
    /// The digest that it must have.
    pin: Option<String>,
}

/// The bytes of a file.
struct FileRead {
    component: Vec<u8>,
    signature: Option<String>,
    digest: String,
    /// Why it is not a whole component, if so.
    torn: Option<String>,
    /// The reason to refuse it, if the node has accepted a newer release under its name.
    outdated: Option<String>,
}

impl FollowedFiles {
    pub(crate) fn new(engine: Arc<Engine>, policies: Arc<Policies>, state_seen: Arc<StateSeen>) -> Self {
        Self { engine, policies, state_seen, sights: Mutex::default() }
    }

    /// Lets the name of each followed file that has none yet stand for the version that last served a network.
    pub(crate) fn remember(&self) {
        for file in self.unread() {
            if let Some(version) = self.engine.last_version(&file.name) {
                self.policies.set_taken(&version);
            }
        }
    }

    /// Reads the followed files whose names stand for nothing yet, without loading them.
    pub(crate) async fn read_new(&self) {
        self.remember();
        for file in self.unread() {
            match self.read(&file).await {
                Ok(FileRead { torn: None, outdated: None, digest, .. }) => {
                    self.policies.set_taken(&stamp(&file.name, &digest));
                    self.policies.set_file_problem(&file.name, None);
                }
                Ok(FileRead { torn: Some(problem), .. } | FileRead { outdated: Some(problem), .. }) => {
                    self.complain(&file, &problem);
                }
                Err(problem) => self.complain(&file, &problem),
            }
        }
    }

    /// The followed files whose names stand for nothing yet.
    fn unread(&self) -> Vec<FollowedFile> {
        let files = self.files().into_iter();
        files.filter(|file| file.pin.is_none() && self.policies.stands_for(&file.name).is_none()).collect()
    }

    /// Whether there is a file to look at.
    fn follows(&self) -> bool {
        !self.files().is_empty()
    }

    fn files(&self) -> Vec<FollowedFile> {
        let file = |(name, source)| match source {
            CatalogueSource::File { path, sha256 } => Some(FollowedFile { name, path, pin: Some(sha256) }),
            CatalogueSource::Watched { path } => Some(FollowedFile { name, path, pin: None }),
            CatalogueSource::Embedded(_) | CatalogueSource::Loaded(_) => None,
        };
        self.policies.files().into_iter().filter_map(file).collect()
    }

    /// Looks at each file, and applies those that changed.
    async fn look(&self) {
        let mut sights = self.sights.lock().await;
        let files = self.files();
        sights.retain(|_, (file, _)| files.contains(file));
        for file in files {
            self.give_up(&file);
            let (_, sight) =
                sights.entry(file.name.clone()).or_insert_with(|| (file.clone(), Sight::default()));
            let path = file.path.clone();
            let Ok(print) = spawn_blocking(move || Print::of(&path)).await else { continue };
            match sight.look(print) {
                Act::Wait => {}
                // The node's copy replaces a pinned file that is gone.
                Act::Complain(_) if file.pin.is_some() && !file.path.exists() => {
                    self.policies.set_file_problem(&file.name, None);
                }
                Act::Complain(problem) => self.complain(&file, &problem),
                Act::Read => sight.has_read(self.follow(&file).await),
            }
        }
    }

    /// Lets the name of a followed file stand for the version before, once every network was rolled back to that: a new network is not
    /// given what has failed on the others.
    fn give_up(&self, file: &FollowedFile) {
        let Some(taken) = self.policies.stands_for(&file.name).filter(|_| file.pin.is_none()) else { return };
        if let Some(before) = self.engine.given_up_for(&taken) {
            self.policies.set_taken(&before);
            self.complain(
                file,
                &format!("{taken} was rolled back, and the policy's name stands for {before} again"),
            );
        }
    }

    /// Has every file read again: what was refused may be accepted now.
    async fn look_again(&self) {
        self.sights.lock().await.values_mut().for_each(|(_, sight)| sight.again());
    }

    /// Reads a file that has changed, and applies it.
    async fn follow(&self, file: &FollowedFile) -> SightOutcome {
        let read = match self.read(file).await {
            Ok(read) => read,
            Err(problem) => {
                self.complain(file, &problem);
                return SightOutcome::Torn;
            }
        };
        if let Some(pin) = &file.pin {
            let problem = (read.digest != *pin).then(|| {
                let (name, digest) = (&file.name, &read.digest);
                format!("its sha256 is {digest}, but policies.{name}.sha256 is {pin}")
            });
            match problem {
                Some(problem) => self.complain(file, &problem),
                None => self.policies.set_file_problem(&file.name, None),
            }
            return SightOutcome::Done;
        }
        if let Some(torn) = &read.torn {
            self.complain(file, torn);
            return SightOutcome::Torn;
        }
        if self.state_seen.is_lost() {
            // Nothing may be written to an unconfirmed state.
            return SightOutcome::Torn;
        }
        let stamp = stamp(&file.name, &read.digest);
        let applied = self.apply(&stamp, read).await;
        self.engine.free_policies();
        match applied {
            Ok(problem) => {
                match problem {
                    Some(problem) => self.complain(file, &problem),
                    None => self.policies.set_file_problem(&file.name, None),
                }
                SightOutcome::Done
            }
            Err(problem) => {
                self.complain(file, &problem);
                SightOutcome::Refused
            }
        }
    }

    /// Loads a version, and exchanges it on the networks that another one serves. Returns why some keep that.
    async fn apply(&self, stamp: &PolicyStamp, read: FileRead) -> Result<Option<String>, String> {
        let is_new = self.policies.stands_for(&stamp.name).as_ref() != Some(stamp);
        if !is_new {
            // It may have been taken while it had no good signature, before anybody could tell its release.
            if let Some(outdated) = read.outdated
                && self.engine.last_version(&stamp.name).is_none()
            {
                return Err(outdated);
            }
            // It may have failed to load before, for want of a signature.
            self.policies.load(stamp).await.map_err(|error| error.cause)?;
            if let Some(signature) = read.signature.clone() {
                self.policies.keep_signature(stamp, read.component.clone(), signature).await;
            }
            if self.engine.behind(stamp).is_empty() {
                return Ok(None);
            }
        }
        if is_new {
            tracing::info!(policy = %stamp, "a policy's file has changed");
            let taken = self.policies.take_file(&stamp.name, read.component, read.signature).await;
            taken.map_err(|error| error.cause)?;
        }
        let changed = self.engine.apply_changed(stamp).await.map_err(|error| error.cause)?;
        if changed.holds() {
            self.policies.set_taken(stamp);
        }
        let kept = changed.kept.iter().map(|(network, error)| format!("network {network}: {error}"));
        let kept: Vec<_> = kept.collect();
        Ok((!kept.is_empty()).then(|| kept.join("; ")))
    }

    async fn read(&self, file: &FollowedFile) -> Result<FileRead, String> {
        let (policies, path, name) = (Arc::clone(&self.policies), file.path.clone(), file.name.clone());
        let reading = spawn_blocking(move || {
            let (component, signature) = policies.read_file(&path)?;
            let torn = Contents::read(&component).err();
            let torn = torn.map(|why| format!("{}: {why}", path.display()));
            let digest = sha256(&component);
            let release = policies.check_release(&stamp(&name, &digest), &component, signature.as_deref());
            Ok(FileRead { component, signature, digest, torn, outdated: release.err() })
        });
        reading.await.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// Shows what is wrong with a file. The policy itself may well serve.
    fn complain(&self, file: &FollowedFile, problem: &str) {
        let problem = match path_in(problem, &file.path) {
            true => problem.to_owned(),
            false => format!("{}: {problem}", file.path.display()),
        };
        tracing::warn!(policy = %file.name, problem, "a policy's file is not applied");
        self.policies.set_file_problem(&file.name, Some(problem));
    }
}

fn path_in(text: &str, path: &Path) -> bool {
    text.contains(&path.display().to_string())
}

fn stamp(name: &PolicyName, digest: &str) -> PolicyStamp {
    PolicyStamp { name: name.clone(), digest: digest.into() }
}

/// The part that looks at the files, and at once when the configuration changes.
pub(crate) struct PolicyFilesPart {
    files: Arc<FollowedFiles>,
    config: watch::Receiver<Arc<Config>>,
    read: Gate,
}

impl PolicyFilesPart {
    pub(crate) fn build(files: Arc<FollowedFiles>, config: watch::Receiver<Arc<Config>>) -> Self {
        Self { files, config, read: Gate::default() }
    }

    /// Opens once each file has been read, so that its name stands for something.
    pub(crate) fn read(&self) -> Gate {
        self.read.clone()
    }
}

impl Part for PolicyFilesPart {
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        self.files.read_new().await;
        self.read.open();
        while !stop.is_cancelled() {
            if self.config.has_changed().is_ok_and(|changed| changed) {
                self.config.mark_unchanged();
                self.files.look_again().await;
            }
            // Not interrupted, so that no exchange is left half done.
            self.files.look().await;
            // Only waits for a change, and does not mark it as seen.
            let mut config = self.config.clone();
            let follows = self.files.follows();
            let next = async {
                tokio::select! {
                    () = beat(EVERY), if follows => {}
                    _ = config.changed() => {}
                }
            };
            stop.run_until_cancelled(next).await;
        }
        Ok(())
    }
}
