//! The control groups of the demonstration's pods. Groups have no namespace that would remove them, so they are removed by hand.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::super::wait;
/// The group below which the kubelet makes those of pods, in each hierarchy.
pub(super) const GROUP: &str = "tenure-demo";

/// The kubelet's group in each hierarchy, until this is dropped.
#[derive(Debug)]
pub(super) struct ControlGroups(Vec<PathBuf>);

impl ControlGroups {
    /// Makes the groups, after removing what an interrupted demonstration has left.
    ///
    /// # Errors
    /// When a group cannot be made or removed.
    pub(super) fn new() -> Result<Self> {
        let hierarchies = hierarchies()?;
        hierarchies.iter().try_for_each(|at| enable(at))?;
        let groups = Self(hierarchies.into_iter().map(|at| at.join(GROUP)).collect());
        groups.remove()?;
        for group in &groups.0 {
            fs::create_dir(group).with_context(|| format!("cannot make the group {}", group.display()))?;
        }
        Ok(groups)
    }

    /// Removes the groups and all in them, once their processes have ended.
    ///
    /// # Errors
    /// When a process has not ended within a minute.
    pub(super) fn remove(&self) -> Result<()> {
        wait::holds("the end of the processes in the control groups", || {
            Ok(self.0.iter().filter(|group| !removed(group)).count() == 0)
        })
    }

    /// Removes the groups below, as a boot does.
    ///
    /// # Errors
    /// As [`Self::remove`].
    pub(super) fn empty(&self) -> Result<()> {
        wait::holds("the end of the processes in the control groups", || {
            Ok(self.0.iter().filter(|group| !emptied(group)).count() == 0)
        })
    }
}

impl Drop for ControlGroups {
    fn drop(&mut self) {
        // After a failure, for which the demonstration has already given the reason.
        let _ = self.remove();
    }
}

/// Has the groups below a hierarchy of version 2 count what it can count. The kubelet demands that of its own, and systemd needs only a part. A hierarchy
/// of version 1 counts one thing, in each group.
fn enable(hierarchy: &Path) -> Result<()> {
    let controllers = fs::read_to_string(hierarchy.join("cgroup.controllers")).unwrap_or_default();
    controllers.split_whitespace().try_for_each(|controller| {
        let enabled = fs::write(hierarchy.join("cgroup.subtree_control"), format!("+{controller}"));
        enabled
            .with_context(|| format!("cannot enable the controller {controller} in {}", hierarchy.display()))
    })
}

/// Removes a group and those below it that have no processes any more; whether it is gone.
fn removed(group: &Path) -> bool {
    emptied(group);
    // What else is in it are files of the kernel, which go with it.
    let _ = fs::remove_dir(group);
    !group.exists()
}

/// Removes the groups below a group; whether all are gone.
fn emptied(group: &Path) -> bool {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    // Each is tried, although one that is left decides.
    below.filter(|entry| !removed(&entry.path())).count() == 0
}

/// The mounts of the hierarchies.
fn hierarchies() -> Result<Vec<PathBuf>> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let place = |line: &str| {
        let (mount, kind) = line.split_once(" - ")?;
        let is_group = kind.starts_with("cgroup ") || kind.starts_with("cgroup2 ");
        is_group.then(|| mount.split(' ').nth(4).map(PathBuf::from)).flatten()
    };
    Ok(mounts.lines().filter_map(place).collect())
}
