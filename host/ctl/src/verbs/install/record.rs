//! The record of what was installed: which files are ours, by their digests, and the plugin before the present one.
//!
//! It is written before a file is: after a crash in between, the file has the digest that `replaces` names, and still counts as ours.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tenure_policy::sha256;
use tenure_types::{Error, ErrorCode};

use super::lock::RecordLock;
use super::place;

/// The version of the record's format.
const FORMAT: u32 = 1;

/// The extension of the directory of kept plugins, which has the record's name otherwise, and how the names of the plugins begin.
const KEPT: &str = "plugins";
const KEPT_NAME: &str = "tenure-";

/// The files that were installed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::verbs) struct InstallationRecord {
    format: u32,
    /// The configuration of the daemon for which the files are, if the command line has named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) daemon_config: Option<PathBuf>,
    pub(in crate::verbs) plugin: Option<InstalledFile>,
    /// The plugin before the present one.
    pub(super) previous: Option<KeptPlugin>,
    /// The kept plugin that a rollback is putting into its place, until it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) returning: Option<KeptPlugin>,
    pub(in crate::verbs) configuration: Option<InstalledFile>,
}

/// A file that was installed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::verbs) struct InstalledFile {
    pub(in crate::verbs) path: PathBuf,
    pub(in crate::verbs) sha256: String,
    /// The version of a plugin; empty if it is not known.
    pub(super) version: String,
    /// The digest of the file whose place it takes.
    pub(super) replaces: Option<String>,
}

/// A plugin that is kept for a rollback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct KeptPlugin {
    /// The name of the copy, in the directory of kept plugins.
    pub(super) file: String,
    pub(super) sha256: String,
    pub(super) version: String,
}

impl Default for InstallationRecord {
    fn default() -> Self {
        Self {
            format: FORMAT,
            daemon_config: None,
            plugin: None,
            previous: None,
            returning: None,
            configuration: None,
        }
    }
}

impl InstallationRecord {
    /// Reads a record; an empty one if there is none.
    ///
    /// # Errors
    /// `InputOutput` if it cannot be read, or is of a format that only a newer version knows.
    pub(in crate::verbs) fn read(path: &Path) -> Result<Self, Error> {
        let text = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            text => text.map_err(|error| place::failed(path, &error))?,
        };
        let unreadable =
            |cause: String| Error::new(ErrorCode::InputOutput, format_args!("{}: {cause}", path.display()));
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let head: Head = serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))?;
        if head.format > FORMAT {
            let cause = format!("format {} is of a newer tenurectl, which alone can use it", head.format);
            return Err(unreadable(cause));
        }
        serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))
    }

    /// Whether nothing is installed.
    pub(super) fn is_empty(&self) -> bool {
        let Self { format: _, daemon_config: _, plugin, previous, returning, configuration } = self;
        plugin.is_none() && previous.is_none() && returning.is_none() && configuration.is_none()
    }
}

impl InstalledFile {
    /// Whether a file of this digest is the one that was installed, or the one of ours that it was about to replace.
    pub(in crate::verbs) fn is_ours(&self, digest: &str) -> bool {
        self.sha256 == digest || self.replaces.as_deref() == Some(digest)
    }
}

/// A record on disk, and the plugins that are kept beside it.
pub(super) struct RecordStore {
    path: PathBuf,
    pub(super) record: InstallationRecord,
    _lock: Option<RecordLock>,
}

impl RecordStore {
    /// Reads a record. To change it, it is locked against any other installation.
    ///
    /// # Errors
    /// `InputOutput` if it cannot be read, or if another installation is running.
    pub(super) async fn open(path: &Path, to_change: bool) -> Result<Self, Error> {
        let lock = if to_change { Some(RecordLock::take(path).await?) } else { None };
        Ok(Self { path: path.to_owned(), record: InstallationRecord::read(path)?, _lock: lock })
    }

    /// The path of the record.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Names the daemon for which the files are, by its configuration. An empty record does so with its first file.
    pub(super) fn name_daemon(&mut self, configuration: &Path) -> Result<(), Error> {
        if self.record.daemon_config.as_deref() == Some(configuration) {
            return Ok(());
        }
        self.record.daemon_config = Some(configuration.to_owned());
        self.save()
    }

    /// Writes the record, and forgets the copies that it does not name; an empty record is removed.
    pub(super) fn save(&self) -> Result<(), Error> {
        if self.record.is_empty() {
            if place::content(&self.path)?.is_some() {
                place::remove(&self.path)?;
            }
        } else {
            let text = serde_json::to_vec_pretty(&self.record)
                .map_err(|error| Error::new(ErrorCode::Internal, error))?;
            place::write(&self.path, &text, 0o600)?;
        }
        let kept = [&self.record.previous, &self.record.returning];
        let is_kept =
            |name: &str| kept.iter().any(|kept| kept.as_ref().is_some_and(|kept| kept.file == name));
        // A copy too many does no harm, and the next change removes it.
        for entry in fs::read_dir(self.kept()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(KEPT_NAME) && !is_kept(&name) {
                let _ = fs::remove_file(entry.path());
            }
        }
        // Only an empty directory can be removed.
        let _ = fs::remove_dir(self.kept());
        Ok(())
    }

    /// Keeps a copy of a plugin, which the record names from the next [`save`](Self::save) on.
    pub(super) fn keep(&self, plugin: &[u8], version: &str) -> Result<KeptPlugin, Error> {
        let digest = sha256(plugin);
        let known = if version.is_empty() { "unknown" } else { version };
        let file = format!("{KEPT_NAME}{}-{}", known.replace('/', "_"), digest.get(..12).unwrap_or_default());
        place::write(&self.kept().join(&file), plugin, 0o600)?;
        Ok(KeptPlugin { file, sha256: digest, version: version.to_owned() })
    }

    /// The plugin that a rollback puts into the place where `found` is, with its content: the one that another rollback did not bring there to the end,
    /// or else the one before the present one.
    ///
    /// # Errors
    /// `NotInstalled` if there is none, and `InputOutput` if its copy is damaged.
    pub(super) fn to_return_to(&self, found: Option<&[u8]>) -> Result<(KeptPlugin, Vec<u8>), Error> {
        let digest = found.map(sha256);
        let returning =
            self.record.returning.clone().filter(|kept| digest.as_deref() != Some(kept.sha256.as_str()));
        let Some(kept) = returning.or_else(|| self.record.previous.clone()) else {
            let cause = format_args!("{} names no plugin before the present one", self.path.display());
            return Err(Error::new(ErrorCode::NotInstalled, cause));
        };
        let path = self.kept_path(&kept);
        let content = fs::read(&path).map_err(|error| place::failed(&path, &error))?;
        if sha256(&content) != kept.sha256 {
            let cause = format_args!("{} is damaged: its digest has changed", path.display());
            return Err(Error::new(ErrorCode::InputOutput, cause));
        }
        Ok((kept, content))
    }

    /// The kept plugin with this digest.
    pub(super) fn kept_with(&self, digest: &str) -> Option<&KeptPlugin> {
        let mut kept = [&self.record.previous, &self.record.returning].into_iter().flatten();
        kept.find(|kept| kept.sha256 == digest)
    }

    /// The path of the copy of a plugin that is kept.
    pub(super) fn kept_path(&self, kept: &KeptPlugin) -> PathBuf {
        self.kept().join(&kept.file)
    }

    fn kept(&self) -> PathBuf {
        self.path.with_extension(KEPT)
    }
}
