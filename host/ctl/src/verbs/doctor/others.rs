//! Other IPAMs on the node: what they assign, tenure does not know.
//!
//! Their files stay after an import, which changes nothing that is not tenure's. So the daemon is asked, by a dry run of the import, which of the
//! addresses in them its ledger does not account for. Only without a daemon is that left to the reader.

mod assigning;
mod host_local;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(super) use self::assigning::AssigningDaemon;
use self::assigning::addresses;
use super::networks::ConfigurationFiles;
use super::node::NodePaths;
use crate::report::NodeCheck;
use crate::verbs::import::{ImportDryRun, ipamd};

const NAME: &str = "other-ipams";

/// The directory of host-local's addresses, and the file of ipamd's.
const HOST_LOCAL_DATA: &str = "/var/lib/cni/networks";
const IPAMD_DATA: &str = "/var/run/aws-node/ipam.json";

/// Looks for configurations of other IPAMs, and for addresses that they hold. A container in a pod may not see these.
pub(super) async fn other_ipams(
    node: &NodePaths,
    files: &ConfigurationFiles,
    daemon: &AssigningDaemon<'_>,
    sees_mounts_only: bool,
) -> NodeCheck {
    let named = files.using_tenure(true).flat_map(|(_, file)| file.data_directories().map(PathBuf::from));
    let directories: BTreeSet<PathBuf> = named.chain([HOST_LOCAL_DATA.into()]).collect();
    for directory in directories {
        if let Some(check) = host_local::holds(&node.at(&directory), files, daemon).await {
            return check;
        }
    }
    match ipamd_holds(node, daemon).await {
        Some(check) => check,
        None => configured(node, files, sees_mounts_only),
    }
}

/// Judges ipamd's checkpoint, whose addresses belong to whichever network of ours has their range.
async fn ipamd_holds(node: &NodePaths, daemon: &AssigningDaemon<'_>) -> Option<NodeCheck> {
    let file = node.at(Path::new(IPAMD_DATA)).real;
    if !file.exists() {
        return None;
    }
    let next = format!("`tenurectl import ipamd {IPAMD_DATA} --network NAME`");
    let Some(found) = ipamd::read(&file, None).ok().filter(|_| daemon.is_known()) else {
        let found = format!("ipamd's checkpoint is in {IPAMD_DATA}");
        return Some(NodeCheck::warning(NAME, found, format!("{next}; if it was imported, remove the file")));
    };
    let source = format!("ipamd {IPAMD_DATA}");
    // Also an address that no range has, any more or yet: it came over and went, or is that of an interface which the daemon does not have yet.
    let mut rest = found.entries;
    for network in daemon.networks() {
        let dry_run = ImportDryRun { network: &network.name, source: &source };
        rest = daemon.unaccounted(dry_run, rest).await;
    }
    let count = addresses(&rest);
    (count > 0).then(|| {
        let found = format!("ipamd's checkpoint {IPAMD_DATA} has {count} addresses that were not imported");
        NodeCheck::warning(NAME, found, format!("{next}; if nothing uses them, remove the file"))
    })
}

/// Judges the configurations of other IPAMs, which have no addresses that could be seen.
fn configured(node: &NodePaths, files: &ConfigurationFiles, sees_mounts_only: bool) -> NodeCheck {
    let others = files.using_tenure(false).flat_map(|(name, file)| {
        let ipams = file.plugins.iter().filter(|plugin| !plugin.ipam.is_empty());
        ipams.map(move |plugin| format!("{name} ({})", plugin.ipam))
    });
    let others: Vec<_> = others.collect();
    if others.is_empty() && sees_mounts_only && !node.at(Path::new(HOST_LOCAL_DATA)).real.exists() {
        let found = format!(
            "none is configured; whether host-local holds addresses in {HOST_LOCAL_DATA} cannot be seen from this container"
        );
        return NodeCheck::skipped(NAME, found);
    }
    if others.is_empty() {
        return NodeCheck::fine(NAME, "none");
    }
    NodeCheck::warning(
        NAME,
        format!("other IPAMs are configured: {}", others.join(", ")),
        "check that their ranges are not tenure's; remove what no pod uses any more",
    )
}
