//! The kernel: its release, and its control groups.

use super::node::{MountPoint, NodePaths};
use crate::report::NodeCheck;

/// The oldest kernel: it names processes by descriptors, without which a delegate's process could be mistaken for another.
const OLDEST: (u32, u32) = (5, 3);

/// The oldest kernel that tells for certain which process has connected to a socket.
const NAMES_PEERS: (u32, u32) = (6, 5);

/// Compares the kernel's release with what tenure needs.
pub(super) fn release(node: &NodePaths) -> NodeCheck {
    const NAME: &str = "kernel";
    let Some(text) = node.text("/proc/sys/kernel/osrelease") else {
        return NodeCheck::skipped(NAME, "/proc/sys/kernel/osrelease cannot be read");
    };
    match version(&text) {
        None => NodeCheck::skipped(NAME, format!("{text} is not the version of a kernel")),
        Some(version) if version < OLDEST => {
            let (major, minor) = OLDEST;
            NodeCheck::problem(NAME, text, format!("use Linux {major}.{minor} or later"))
        }
        Some(version) if version < NAMES_PEERS => NodeCheck::warning(
            NAME,
            format!("{text} tells an agent's pod by the number of its process"),
            "nothing without agents in pods; with them, use Linux 6.5 or later",
        ),
        Some(_) => NodeCheck::fine(NAME, text),
    }
}

/// The first two numbers of a release.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|character: char| !character.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Looks for the control groups by which the pods of agents are known.
pub(super) fn control_groups(node: &NodePaths) -> NodeCheck {
    const NAME: &str = "control-groups";
    let Some(mounts) = node.text("/proc/self/mountinfo") else {
        return NodeCheck::skipped(NAME, "/proc/self/mountinfo cannot be read");
    };
    let is_mounted =
        |kind: &str| mounts.lines().filter_map(MountPoint::parse).any(|mount| mount.kind == kind);
    match (is_mounted("cgroup2"), is_mounted("cgroup")) {
        (true, false) => NodeCheck::fine(NAME, "version 2"),
        (true, true) => NodeCheck::fine(NAME, "versions 1 and 2"),
        (false, true) => NodeCheck::fine(NAME, "version 1"),
        (false, false) => NodeCheck::warning(
            NAME,
            "none are mounted, so no agent can be known by its pod",
            "mount /sys/fs/cgroup, as systemd does",
        ),
    }
}
