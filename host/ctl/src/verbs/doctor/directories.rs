//! The directories of the daemon and of CNI: what they are on, and who may write to them.

use std::io;

use tenure_rpc::run_dir;

use super::node::{Location, NodePaths};
use crate::report::NodeCheck;

/// File systems that end with the boot, and the ones whose locks and syncs depend on another machine.
const VOLATILE: [&str; 3] = ["tmpfs", "ramfs", "devtmpfs"];
const REMOTE: [&str; 6] = ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph"];

/// Checks the state directory: whether it survives a reboot, is writable, and belongs to the daemon alone.
pub(super) fn state(node: &NodePaths, directory: &Location, is_before: bool) -> NodeCheck {
    const NAME: &str = "state-directory";
    let named = directory.named.display();
    let mount = node.mount(directory);
    let kind = mount.as_ref().map_or("an unknown file system", |mount| mount.kind.as_str());
    if VOLATILE.contains(&kind) {
        let found = format!("{named} is on {kind}: every allocation is lost at a reboot");
        return NodeCheck::problem(
            NAME,
            found,
            format!("mount a disk at {named}, or set --state-dir of tenured"),
        );
    }
    if mount.as_ref().is_some_and(|mount| mount.is_read_only) {
        let found = format!("{named} is on {kind}, which is mounted read-only");
        return NodeCheck::problem(NAME, found, "mount it for writing");
    }
    match run_dir::objection(&directory.real) {
        Ok(Some(objection)) => return NodeCheck::problem(NAME, format!("{named}: {objection}"), REMEDY),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_before => {
            let found = format!("{named} does not exist");
            return NodeCheck::warning(NAME, found, "start tenured, which creates it, or pass --state-dir");
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return NodeCheck::problem(NAME, format!("{named}: {error}"), REMEDY);
        }
        Ok(None) | Err(_) => {}
    }
    if REMOTE.contains(&kind) || kind.starts_with("fuse") {
        let found = format!("{named} is on {kind}: a sync may take long, and a lock may not hold");
        return NodeCheck::warning(NAME, found, "use a disk of this node");
    }
    if kind == "overlay" {
        let found = format!("{named} is on overlay, which may end with a container");
        return NodeCheck::warning(NAME, found, "mount a directory of the node there");
    }
    NodeCheck::fine(NAME, format!("{named} on {kind}"))
}

/// The next step for a directory that others may write to, or that cannot be used.
const REMEDY: &str = "fix what is named on the left; the daemon refuses to start otherwise";

/// Checks the run directory.
pub(super) fn run(directory: &Location, is_before: bool) -> NodeCheck {
    const NAME: &str = "run-directory";
    let named = directory.named.display();
    match run_dir::objection(&directory.real) {
        Ok(None) => NodeCheck::fine(NAME, named.to_string()),
        Ok(Some(objection)) => NodeCheck::problem(NAME, format!("{named}: {objection}"), REMEDY),
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_before => {
            NodeCheck::skipped(NAME, format!("{named} does not exist yet; the daemon creates it"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let found = format!("{named} does not exist");
            NodeCheck::problem(NAME, found, "start tenured, or pass its run directory with --run-dir")
        }
        Err(error) => NodeCheck::problem(NAME, format!("{named}: {error}"), REMEDY),
    }
}

/// Checks the directories of plugins and of configurations: who can write there decides what runs as root.
pub(super) fn cni(directories: &[&Location]) -> NodeCheck {
    const NAME: &str = "cni-directories";
    let mut missing = Vec::new();
    for directory in directories {
        let named = directory.named.display();
        match run_dir::objection(&directory.real) {
            Ok(None) => {}
            Ok(Some(objection)) => {
                return NodeCheck::problem(
                    NAME,
                    format!("{named}: {objection}"),
                    "run the command on the left",
                );
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(named.to_string()),
            Err(error) => {
                let next = "pass the runtime's directories with --cni-bin-dir and --cni-conf-dir";
                return NodeCheck::problem(NAME, format!("{named}: {error}"), next);
            }
        }
    }
    if missing.is_empty() {
        let named: Vec<_> = directories.iter().map(|of| of.named.display().to_string()).collect();
        return NodeCheck::fine(NAME, named.join(", "));
    }
    NodeCheck::warning(
        NAME,
        format!("missing: {}; the runtime may look elsewhere", missing.join(", ")),
        "compare with the runtime's configuration; pass its directories with --cni-bin-dir and --cni-conf-dir",
    )
}
