//! What a test makes is named after its process, so that what is left behind can be found.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Where control groups are, each hierarchy of version 1 in a directory of its own.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// How everything's name begins that this process makes.
#[must_use]
pub fn prefix() -> String {
    format!("tenure-e2e-{}-", std::process::id())
}

/// A directory that is removed when it is dropped.
///
/// # Errors
/// When it cannot be made.
pub fn directory() -> std::io::Result<TempDir> {
    tempfile::Builder::new().prefix(&prefix()).tempdir()
}

/// The roots of the control group hierarchies.
pub fn control_group_roots() -> impl Iterator<Item = PathBuf> {
    let hierarchies = fs::read_dir(CONTROL_GROUPS).into_iter().flatten().flatten();
    hierarchies.map(|entry| entry.path()).chain([PathBuf::from(CONTROL_GROUPS)])
}

/// What this process has made and not removed: directories, control groups, network namespaces and processes.
#[must_use]
pub fn left_behind() -> Vec<String> {
    let prefix = prefix();
    let places = control_group_roots().chain([
        std::env::temp_dir(),
        PathBuf::from("/run/netns"),
        PathBuf::from("/tmp"),
    ]);
    let mut left: Vec<String> = places.flat_map(|place| named(&place, &prefix)).collect();
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    for thread in threads {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        left.extend(children.split_whitespace().map(|child| format!("process {child}")));
    }
    left.sort();
    left.dedup();
    left
}

fn named(place: &Path, prefix: &str) -> Vec<String> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    ours.map(|entry| entry.path().display().to_string()).collect()
}
