//! Other IPAMs on the node: what they assign, tenure does not know.

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use super::networks::ConfigurationFiles;
use super::node::NodePaths;
use crate::report::NodeCheck;

/// The directory of host-local's addresses, and the file of ipamd's.
const HOST_LOCAL_DATA: &str = "/var/lib/cni/networks";
const IPAMD_DATA: &str = "/var/run/aws-node/ipam.json";

/// Looks for configurations of other IPAMs, and for addresses that they hold. A container in a pod may not see these.
pub(super) fn other_ipams(node: &NodePaths, files: &ConfigurationFiles, sees_mounts_only: bool) -> NodeCheck {
    const NAME: &str = "other-ipams";
    for (_, ours) in files.using_tenure(true) {
        let directory = node.at(Path::new(HOST_LOCAL_DATA)).real.join(&ours.name);
        let held = held(&directory);
        if held > 0 {
            let found = format!("host-local's directory has {held} addresses of network {}", ours.name);
            let next = format!(
                "`tenurectl import host-local {HOST_LOCAL_DATA}`; if nothing uses them, remove {HOST_LOCAL_DATA}/{}",
                ours.name
            );
            return NodeCheck::warning(NAME, found, next);
        }
    }
    if node.at(Path::new(IPAMD_DATA)).real.exists() {
        let found = format!("ipamd's checkpoint is in {IPAMD_DATA}");
        return NodeCheck::warning(NAME, found, format!("`tenurectl import ipamd {IPAMD_DATA}`"));
    }
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

/// How many addresses host-local holds in a network's directory.
fn held(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.parse::<IpAddr>().is_ok()).count()
}
