//! Limits the size of a target folder that outlives its clone.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::workspace::Workspace;

/// Beyond this size, rebuilding is cheaper than keeping the folder.
const LIMIT: u64 = 32 << 30;

/// Empties a target folder outside the clone when it has grown too large.
///
/// # Errors
/// When it cannot be emptied.
pub(crate) fn prune(workspace: &Workspace) -> Result<()> {
    if !workspace.has_outside_target() || size(&workspace.target) <= LIMIT {
        return Ok(());
    }
    println!("{} is larger than {} GiB: emptying it", workspace.target.display(), LIMIT >> 30);
    fs::remove_dir_all(&workspace.target)
        .and_then(|()| fs::create_dir_all(&workspace.target))
        .with_context(|| format!("cannot empty {}", workspace.target.display()))
}

/// The size of all files below a folder; unreadable entries count as zero.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some((entry.metadata().ok()?, entry.path())))
        .map(|(metadata, path)| if metadata.is_dir() { size(&path) } else { metadata.len() })
        .sum()
}
