//! Links beside the plugin: other names, by which a configuration calls it.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tenure_types::{Error, ErrorCode};

use super::place::failed;
use crate::report::{FileChange, FileOutcome, InstalledKind};

/// Links a name to the plugin, in its directory.
///
/// # Errors
/// `FileInTheWay` if something else has the name; `InputOutput` if the link cannot be made.
pub(super) fn lead(plugin: &Path, name: &str, apply: bool) -> Result<FileChange, Error> {
    let link = plugin.with_file_name(name);
    let target = Path::new(plugin.file_name().unwrap_or_default());
    let outcome = match fs::read_link(&link) {
        Ok(found) if found == target || found == plugin => FileOutcome::Unchanged,
        Err(error) if error.kind() == io::ErrorKind::NotFound => FileOutcome::Created,
        _ => {
            let cause = format_args!("{} is not a link to the plugin", link.display());
            return Err(Error::new(ErrorCode::FileInTheWay, cause));
        }
    };
    if apply && outcome == FileOutcome::Created {
        symlink(target, &link).map_err(|error| failed(&link, &error))?;
    }
    let (version, sha256, reason) = Default::default();
    Ok(FileChange { file: link, kind: InstalledKind::Link, outcome, version, sha256, reason })
}

/// The links beside a plugin that lead to it.
pub(super) fn to(plugin: &Path) -> Vec<PathBuf> {
    let Some((directory, name)) = plugin.parent().zip(plugin.file_name()) else { return Vec::new() };
    let links = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let leads = |link: &PathBuf| {
        let target = fs::read_link(link);
        target.is_ok_and(|target| target == plugin || target == Path::new(name))
    };
    links.filter(leads).collect()
}
