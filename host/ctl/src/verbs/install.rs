//! `tenurectl install`: puts the CNI plugin, and a network's configuration, on a node.
//!
//! ```text
//! refuse what is not ours ─▶ keep the plugin before ─▶ record ─▶ plugin ─▶ wait for the daemon ─▶ refuse again ─▶ record ─▶ configuration
//! └───────────────────────────── locked ──────────────────────────────┘                           └────────────── locked ───────────────┘
//! ```
//!
//! A crash after any step leaves a node that works, and a record with which the same command goes on.

mod configuration;
mod dependents;
pub(super) mod follow;
mod links;
mod lock;
mod owner;
pub(super) mod place;
pub(super) mod record;
#[cfg(test)]
mod tests;
pub(super) mod uninstall;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_policy::sha256;
use tenure_rpc::v1;
use tenure_types::{ConditionName, Error, ErrorCode};

use self::record::{InstalledFile, KeptPlugin, RecordStore};
use super::conflist::{self, CniConfiguration, IPAM_PLUGIN};
use super::{plugin, status};
use crate::arguments::InstallArguments;
use crate::daemon::Daemon;
use crate::exit::Exit;
use crate::render::Report;
use crate::report::{FileChange, FileOutcome, InstallReport, InstalledKind};

/// The mode of a plugin, and the one of a configuration, which nobody but the runtime reads.
const PLUGIN_MODE: u32 = 0o755;
const CONFIGURATION_MODE: u32 = 0o600;

/// A file that is to be installed.
struct NewFile {
    target: PathBuf,
    content: Vec<u8>,
    sha256: String,
    /// The version of a plugin; empty if it is not known.
    version: String,
    /// The present content of its place.
    found: Option<Vec<u8>>,
}

impl NewFile {
    fn new(target: PathBuf, content: Vec<u8>, version: String) -> Result<Self, Error> {
        let found = place::content(&target)?;
        Ok(Self { sha256: sha256(&content), target, content, version, found })
    }

    fn outcome(&self) -> FileOutcome {
        match &self.found {
            None => FileOutcome::Created,
            Some(found) if *found == self.content => FileOutcome::Unchanged,
            Some(_) => FileOutcome::Replaced,
        }
    }

    fn change(&self, kind: InstalledKind) -> FileChange {
        FileChange {
            file: self.target.clone(),
            kind,
            outcome: self.outcome(),
            version: self.version.clone(),
            sha256: self.sha256.clone(),
            reason: String::new(),
        }
    }

    fn recorded(&self) -> InstalledFile {
        let replaces = self.found.as_deref().map(sha256).filter(|found| *found != self.sha256);
        let (path, sha256) = (self.target.clone(), self.sha256.clone());
        InstalledFile { path, sha256, version: self.version.clone(), replaces }
    }

    /// Whether the record already says that this file is installed.
    fn is_recorded(&self, recorded: Option<&InstalledFile>) -> bool {
        recorded.is_some_and(|recorded| recorded.path == self.target && recorded.sha256 == self.sha256)
    }
}

/// Installs the plugin, and the configuration if one is given.
///
/// # Errors
/// `FileInTheWay` if the configuration's place is taken, or if the files are another daemon's; `NotInstalled` if there is nothing to roll back to, or if the plugin is uninstalled meanwhile; `InputOutput` if a file
/// cannot be used; and, once the plugin is installed, `NotReady` or `Unreachable` if the daemon does not serve.
pub(super) async fn install(daemon: &Daemon, arguments: &InstallArguments) -> Result<Report, Error> {
    Ok(Report::of(once(daemon, arguments).await?))
}

/// Installs once.
async fn once(daemon: &Daemon, arguments: &InstallArguments) -> Result<InstallReport, Error> {
    let is_running = owner::is_running(daemon, &arguments.daemon).await?;
    let mut store = RecordStore::open(&arguments.record.record, arguments.apply).await?;
    if !is_running {
        owner::check_record(&arguments.daemon, &store)?;
    }
    let plugin = new_plugin(&store, arguments).await?;
    elsewhere(store.record.plugin.as_ref(), &plugin.target, "--cni-bin-dir")?;
    let configuration = match &arguments.configuration {
        None => None,
        Some(file) => Some(new_configuration(&store, configuration::read(file)?, arguments)?),
    };
    let mut report = InstallReport {
        applied: arguments.apply,
        files: vec![plugin.change(InstalledKind::Plugin)],
        notes: Vec::new(),
    };
    if arguments.apply {
        if let Some(ours) = &arguments.daemon.daemon_config {
            store.name_daemon(ours)?;
        }
        put_plugin(&mut store, &plugin, arguments.rollback).await?;
        if let Some(configuration) = &configuration {
            record_present(&mut store, configuration)?;
        }
    }
    for link in &arguments.links {
        report.files.push(links::lead(&plugin.target, link, arguments.apply)?);
    }
    if let Some(mut configuration) = configuration {
        if arguments.apply {
            // A node may be long in serving, and its operator may want to roll back or uninstall meanwhile.
            drop(store);
            serving(daemon, arguments.wait, &configuration).await?;
            store = open_again(daemon, arguments, &plugin).await?;
            configuration = new_configuration(&store, configuration.content, arguments)?;
        }
        report.files.push(configuration.change(InstalledKind::Configuration));
        report.files.extend(put_configuration(&mut store, &configuration, arguments.apply)?);
        let directory = &arguments.directories.configurations.cni_conf_dir;
        report.notes.extend(earlier(directory, &arguments.configuration_name));
    }
    Ok(report)
}

/// Opens the record after a wait in which it was not locked.
///
/// # Errors
/// `FileInTheWay` if the files are another daemon's by now, and `NotInstalled` if the plugin was uninstalled.
async fn open_again(
    daemon: &Daemon,
    arguments: &InstallArguments,
    plugin: &NewFile,
) -> Result<RecordStore, Error> {
    let store = RecordStore::open(&arguments.record.record, true).await?;
    owner::check(daemon, &arguments.daemon, &store).await?;
    if store.record.plugin.as_ref().is_some_and(|recorded| recorded.path == plugin.target) {
        return Ok(store);
    }
    let cause = format_args!(
        "{} was uninstalled while the network waited for the daemon, and the network is not installed",
        plugin.target.display()
    );
    let error = Error::new(ErrorCode::NotInstalled, cause);
    Err(error.to_be_solved_by("repeat the command if the network is to be installed nevertheless"))
}

/// The plugin to install: the one that is given, or the one before the present one.
async fn new_plugin(store: &RecordStore, arguments: &InstallArguments) -> Result<NewFile, Error> {
    let target = match &store.record.plugin {
        // A rollback needs no directory.
        Some(plugin) if arguments.rollback => plugin.path.clone(),
        _ => arguments.directories.cni_bin_dir.join(IPAM_PLUGIN),
    };
    if arguments.rollback {
        let (kept, content) = store.to_return_to(place::content(&target)?.as_deref())?;
        return NewFile::new(target, content, kept.version);
    }
    let source = match &arguments.plugin {
        Some(file) => file.clone(),
        None => std::env::current_exe()
            .map_err(|error| Error::new(ErrorCode::InputOutput, error))?
            .with_file_name(IPAM_PLUGIN),
    };
    let unusable = |why: String| {
        Error::new(ErrorCode::InputOutput, format_args!("{} cannot be installed: {why}", source.display()))
    };
    let version = plugin::version(&source).await.map_err(unusable)?;
    let content = std::fs::read(&source).map_err(|error| place::failed(&source, &error))?;
    NewFile::new(target, content, version.unwrap_or_default())
}

/// The configuration to install, if its place is free or has one of ours.
fn new_configuration(
    store: &RecordStore,
    text: Vec<u8>,
    arguments: &InstallArguments,
) -> Result<NewFile, Error> {
    let target = arguments.directories.configurations.cni_conf_dir.join(&arguments.configuration_name);
    // Another name in the same directory is taken over.
    let recorded = store.record.configuration.as_ref();
    elsewhere(
        recorded.filter(|recorded| recorded.path.parent() != target.parent()),
        &target,
        "--cni-conf-dir",
    )?;
    let new = NewFile::new(target, text, String::new())?;
    if new.outcome() == FileOutcome::Replaced {
        refuse_strangers(store.record.configuration.as_ref(), &new)?;
    }
    Ok(new)
}

/// Refuses to replace a file that is not ours.
fn refuse_strangers(recorded: Option<&InstalledFile>, new: &NewFile) -> Result<(), Error> {
    let found = new.found.as_deref().map(sha256).unwrap_or_default();
    let why = match recorded {
        // Also under a new name, where a crash has left it beside the one of before.
        Some(recorded) if recorded.is_ours(&found) => return Ok(()),
        Some(recorded) if recorded.path == new.target => "somebody has changed it since it was installed",
        _ => "tenurectl did not write it",
    };
    let cause = format_args!("{} is not overwritten: {why}", new.target.display());
    Err(Error::new(ErrorCode::FileInTheWay, cause))
}

/// Refuses a second place for a file that is installed in another, or may be: nobody would remove the first. A directory that is missing says nothing
/// of the file, since a container sees only the directories that it mounts.
fn elsewhere(recorded: Option<&InstalledFile>, target: &Path, flags: &str) -> Result<(), Error> {
    let Some(recorded) = recorded.filter(|recorded| recorded.path != target) else { return Ok(()) };
    let shown = recorded.path.display();
    let cause = match place::unseen(&recorded.path) {
        Some(directory) => format!(
            "{shown} was installed on this node, and whether it is still there cannot be seen, since {} does not exist here: {}; then run `tenurectl \
             uninstall` first, or pass its place with {flags}",
            directory.display(),
            place::SHOW_DIRECTORY
        ),
        None if recorded.path.exists() => {
            format!(
                "{shown} is installed already: pass its place with {flags}, or run `tenurectl uninstall` first"
            )
        }
        None => return Ok(()),
    };
    Err(Error::new(ErrorCode::FileInTheWay, cause))
}

/// Puts the plugin into its place. The one that is there is kept, also if somebody else installed it; a rollback keeps its own copy, too, until
/// that is in its place.
async fn put_plugin(store: &mut RecordStore, new: &NewFile, is_rollback: bool) -> Result<(), Error> {
    let is_unchanged = new.outcome() == FileOutcome::Unchanged;
    let is_settled = store.record.returning.is_none();
    if is_unchanged && is_settled && new.is_recorded(store.record.plugin.as_ref()) {
        return Ok(());
    }
    let returning = if is_rollback { store.kept_with(&new.sha256).cloned() } else { None };
    if let Some(found) = new.found.as_deref().filter(|_| !is_unchanged) {
        let version = version_of(store, &new.target, &sha256(found)).await;
        store.record.previous = Some(store.keep(found, &version)?);
    } else if store.record.previous.as_ref().is_some_and(|kept| kept.sha256 == new.sha256) {
        // After a rollback that was not brought to its end, the one before the present one is still the one to which it was to return.
        store.record.previous = store.record.returning.take().filter(|kept| kept.sha256 != new.sha256);
    }
    store.record.plugin = Some(new.recorded());
    if !is_unchanged {
        store.record.returning = returning;
        store.save()?;
        place::write(&new.target, &new.content, PLUGIN_MODE)?;
        if store.record.returning.is_none() {
            return Ok(());
        }
    }
    store.record.returning = None;
    store.save()
}

/// The version of the plugin that is about to be replaced: from the record, or else as it says itself; empty if it is not known.
async fn version_of(store: &RecordStore, path: &Path, digest: &str) -> String {
    let plugin = store.record.plugin.as_ref().map(|plugin| (&plugin.sha256, &plugin.version));
    let kept = store.record.previous.as_ref().map(|KeptPlugin { sha256, version, .. }| (sha256, version));
    match [plugin, kept].into_iter().flatten().find(|(sha256, _)| *sha256 == digest) {
        Some((_, version)) => version.clone(),
        None => plugin::version(path).await.ok().flatten().unwrap_or_default(),
    }
}

/// Records a configuration that is in its place already, which needs no daemon. After a loss of the record, the node may not serve before an operator has
/// decided what to do, who may decide to uninstall.
fn record_present(store: &mut RecordStore, new: &NewFile) -> Result<(), Error> {
    if store.record.configuration.is_some() || new.outcome() != FileOutcome::Unchanged {
        return Ok(());
    }
    store.record.configuration = Some(new.recorded());
    store.save()
}

/// Puts the configuration into its place. One that has another name in the record goes: returns what becomes of it.
fn put_configuration(
    store: &mut RecordStore,
    new: &NewFile,
    apply: bool,
) -> Result<Option<FileChange>, Error> {
    let write = || match new.outcome() {
        FileOutcome::Unchanged => Ok(()),
        _ => place::write(&new.target, &new.content, CONFIGURATION_MODE),
    };
    let renamed = store.record.configuration.clone().filter(|recorded| recorded.path != new.target);
    let Some(renamed) = renamed else {
        if !apply {
            return Ok(None);
        }
        let is_unchanged = new.outcome() == FileOutcome::Unchanged;
        if !(is_unchanged && new.is_recorded(store.record.configuration.as_ref())) {
            store.record.configuration = Some(new.recorded());
            store.save()?;
        }
        return write().map(|()| None);
    };
    let change = uninstall::removal(&renamed, InstalledKind::Configuration)?;
    if apply {
        // The record names the old file until it is gone, so that a crash does not leave it behind.
        write()?;
        uninstall::carry_out(&change, apply)?;
        store.record.configuration = Some(new.recorded());
        store.save()?;
    }
    Ok(Some(change).filter(|change| change.outcome != FileOutcome::Absent))
}

/// Waits until the node serves ADD: a kubelet that finds a configuration before would start pods in vain. It would do so as well if the daemon
/// cannot define the network; the configuration before may name one that it serves.
async fn serving(daemon: &Daemon, wait: Duration, new: &NewFile) -> Result<(), Error> {
    let kept_back =
        |cause: &str| format!("the plugin is installed, {} is not: {cause}", new.target.display());
    let failed = |error: Error| Error::new(error.code, kept_back(&error.cause));
    if status::status(daemon, Some(wait)).await.map_err(failed)?.exit() != Exit::Done {
        let cause = kept_back(&format!("the node does not serve ADD after {:.0} s", wait.as_secs_f64()));
        return Err(Error::new(ErrorCode::NotReady, cause));
    }
    let network = CniConfiguration::parse(&new.content).map(|parsed| parsed.name).unwrap_or_default();
    let status = daemon.call(async |mut admin| admin.get_status(v1::GetStatusRequest {}).await).await;
    let is_undefined = |condition: &&v1::Condition| {
        condition.name == ConditionName::NetworkUndefined.name() && condition.subject == network
    };
    match status.map_err(failed)?.conditions.iter().find(is_undefined) {
        None => Ok(()),
        Some(undefined) => {
            let cause = kept_back(&format!("the daemon cannot define its network: {}", undefined.message));
            Err(Error::new(ErrorCode::NotReady, cause))
        }
    }
}

/// The configurations that a runtime reads before ours, in words.
fn earlier(directory: &Path, name: &str) -> Vec<String> {
    let listed = conflist::listed(directory).unwrap_or_default();
    let before = listed.into_keys().take_while(|other| other.as_str() < name);
    before
        .map(|other| format!("{other} comes before {name}: a runtime that uses one network uses that"))
        .collect()
}
