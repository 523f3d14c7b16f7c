//! `tenurectl uninstall`: removes what was installed, and nothing that somebody has changed since.

use std::path::{Path, PathBuf};

use tenure_policy::sha256;
use tenure_rpc::v1;
use tenure_types::{ConditionName, Error, ErrorCode};

use super::record::{InstalledFile, KeptPlugin, RecordStore};
use super::{dependents, links, owner, place};
use crate::arguments::UninstallArguments;
use crate::daemon::Daemon;
use crate::render::Report;
use crate::report::{FileChange, FileOutcome, InstallReport, InstalledKind};

/// The reason that the report gives for a plugin that stays because the configuration does.
const NEEDED: &str =
    "the configuration stays, and pods that it is for need the plugin (--force removes it nevertheless)";

/// Removes the configuration first, so that no pod starts meanwhile, then the plugin, then the plugin that was kept. A configuration that has to stay may
/// name the plugin, which then stays, too, unless it is to be removed by force. So it does for a configuration that is not ours.
///
/// # Errors
/// `NotInstalled` if there is no record, `FileInTheWay` if the files are another daemon's, `AddressesInUse` as long as pods or agents have addresses, `NotReady` while the state is lost, what the daemon answers otherwise,
/// and `InputOutput` if a file cannot be removed.
pub(in crate::verbs) async fn uninstall(
    daemon: &Daemon,
    arguments: &UninstallArguments,
) -> Result<Report, Error> {
    Ok(Report::of(once(daemon, arguments).await?))
}

/// Uninstalls once.
pub(super) async fn once(daemon: &Daemon, arguments: &UninstallArguments) -> Result<InstallReport, Error> {
    let path = &arguments.record.record;
    // A record that does not exist needs no lock, whose file would stay.
    let mut store = RecordStore::open(path, arguments.apply && path.exists()).await?;
    if store.record.is_empty() {
        let cause = format_args!("{} does not exist, or is empty", path.display());
        return Err(Error::new(ErrorCode::NotInstalled, cause));
    }
    owner::check(daemon, &arguments.daemon, &store).await?;
    if !arguments.force {
        unused(daemon).await?;
    }
    let mut report = InstallReport { applied: arguments.apply, files: Vec::new(), notes: Vec::new() };
    let recorded = store.record.configuration.clone();
    let mut is_needed = false;
    if let Some(installed) = &recorded {
        let mut change = removal_if_seen(installed, InstalledKind::Configuration)?;
        if arguments.keep_configuration && change.outcome == FileOutcome::Removed {
            change.outcome = FileOutcome::Kept;
        }
        if carry_out(&change, arguments.apply)? {
            store.record.configuration = None;
        }
        is_needed = change.outcome == FileOutcome::Left && !arguments.force;
        report.files.push(change);
    }
    if let Some(installed) = store.record.plugin.clone() {
        let mut change = removal_if_seen(&installed, InstalledKind::Plugin)?;
        let needed = match is_needed {
            true => Some(NEEDED.to_owned()),
            false => needed_by_others(arguments, &installed.path, recorded.as_ref())?,
        };
        if let Some(reason) = needed.filter(|_| change.outcome == FileOutcome::Removed) {
            (change.outcome, change.reason) = (FileOutcome::Left, reason);
        }
        if carry_out(&change, arguments.apply)? {
            report.notes.extend(links_to(&installed.path));
            store.record.plugin = None;
        }
        report.files.push(change);
    }
    if store.record.plugin.is_none() {
        report.files.extend(take_kept(&mut store));
    }
    if arguments.apply {
        store.save()?;
    }
    Ok(report)
}

/// The reason for which a plugin stays that a configuration needs which is not ours, or no longer: a record that was lost with the state names it no more.
fn needed_by_others(
    arguments: &UninstallArguments,
    plugin: &Path,
    configuration: Option<&InstalledFile>,
) -> Result<Option<String>, Error> {
    if arguments.force || arguments.keep_configuration {
        return Ok(None);
    }
    let ours = configuration.map(|configuration| configuration.path.as_path());
    let directory = ours.and_then(Path::parent).unwrap_or(&arguments.configurations.cni_conf_dir);
    let others = dependents::of(plugin, directory, ours)?;
    let names: Vec<_> = others.iter().map(|path| path.display().to_string()).collect();
    let reason = format!(
        "pods of {} need the plugin: move the file away (--force removes the plugin nevertheless)",
        names.join(", ")
    );
    Ok(Some(reason).filter(|_| !names.is_empty()))
}

/// Takes the kept plugins out of the record, whose next save removes their copies.
fn take_kept(store: &mut RecordStore) -> Vec<FileChange> {
    let kept = [store.record.previous.take(), store.record.returning.take()];
    let change = |kept: KeptPlugin| {
        let file = store.kept_path(&kept);
        let outcome = if file.exists() { FileOutcome::Removed } else { FileOutcome::Absent };
        let KeptPlugin { sha256, version, .. } = kept;
        FileChange { file, kind: InstalledKind::KeptPlugin, outcome, version, sha256, reason: String::new() }
    };
    kept.into_iter().flatten().map(change).collect()
}

/// Refuses as long as anything has an address, since no DEL would reach the daemon without the plugin. While the state is lost, the ledger does not say what has one.
pub(super) async fn unused(daemon: &Daemon) -> Result<(), Error> {
    let status = daemon.call(async |mut admin| admin.get_status(v1::GetStatusRequest {}).await).await;
    let status = status.map_err(|error| {
        let cause =
            format_args!("{}; whether pods have addresses is not known (--force does not ask)", error.cause);
        Error::new(error.code, cause)
    })?;
    let mut conditions = status.conditions.iter();
    if conditions.any(|condition| condition.name == ConditionName::StateLost.name()) {
        let cause = "the state is lost; whether pods have addresses is not known (--force does not ask)";
        return Err(
            Error::new(ErrorCode::NotReady, cause).to_be_solved_by(ConditionName::StateLost.next_step())
        );
    }
    if status.allocations == 0 {
        return Ok(());
    }
    let cause = format_args!(
        "pods and agents hold {} allocations; --force removes the files nevertheless",
        status.allocations
    );
    Err(Error::new(ErrorCode::AddressesInUse, cause))
}

/// The outcome for a file that was installed.
pub(super) fn removal(installed: &InstalledFile, kind: InstalledKind) -> Result<FileChange, Error> {
    let (outcome, reason) = match place::content(&installed.path) {
        Ok(None) => (FileOutcome::Absent, String::new()),
        Ok(Some(content)) if installed.is_ours(&sha256(&content)) => (FileOutcome::Removed, String::new()),
        Ok(Some(_)) => (FileOutcome::Left, "somebody has changed it since it was installed".to_owned()),
        Err(error) if error.code == ErrorCode::FileInTheWay => {
            (FileOutcome::Left, "somebody has put something else in its place".to_owned())
        }
        Err(error) => return Err(error),
    };
    let (version, sha256) = (installed.version.clone(), installed.sha256.clone());
    Ok(FileChange { file: installed.path.clone(), kind, outcome, version, sha256, reason })
}

/// The same, where a directory that is missing says nothing of the file in it.
fn removal_if_seen(installed: &InstalledFile, kind: InstalledKind) -> Result<FileChange, Error> {
    let mut change = removal(installed, kind)?;
    if let Some(directory) = place::unseen(&installed.path) {
        change.outcome = FileOutcome::Left;
        change.reason = format!("{} does not exist here: {}", directory.display(), place::SHOW_DIRECTORY);
    }
    Ok(change)
}

/// Removes a file if that is its outcome. Returns whether the file is gone, or would be.
pub(super) fn carry_out(change: &FileChange, apply: bool) -> Result<bool, Error> {
    if apply && change.outcome == FileOutcome::Removed {
        place::remove(&change.file)?;
    }
    Ok(matches!(change.outcome, FileOutcome::Removed | FileOutcome::Absent))
}

/// The links beside a plugin that lead to it, in words: they were made by hand.
fn links_to(plugin: &Path) -> Vec<String> {
    let note = |link: PathBuf| format!("{} leads to the plugin: remove it, too", link.display());
    links::to(plugin).into_iter().map(note).collect()
}
