//! host-local's addresses: those of networks of ours, and those inside of our ranges under other names, with which the daemon does not compare itself.

use std::collections::BTreeSet;
use std::path::Path;

use tenure_rpc::host_local::{DEFAULT_INTERFACE, HOST_LOCAL_NETWORK};

use super::NAME;
use super::assigning::{AssigningDaemon, addresses, is_inside};
use crate::report::{FoundAttachment, NodeCheck};
use crate::verbs::doctor::networks::ConfigurationFiles;
use crate::verbs::doctor::node::Location;
use crate::verbs::import::{ImportDryRun, host_local};

/// A data directory of host-local's.
struct DataDirectory<'a> {
    named: &'a Path,
    daemon: &'a AssigningDaemon<'a>,
}

/// Judges a data directory, if it exists; `None` if nothing is wrong with what is there.
pub(super) async fn holds(
    location: &Location,
    files: &ConfigurationFiles,
    daemon: &AssigningDaemon<'_>,
) -> Option<NodeCheck> {
    if !location.real.exists() {
        return None;
    }
    let found = match host_local::read(&location.real, DEFAULT_INTERFACE) {
        Ok(found) => found,
        Err(error) => {
            return Some(NodeCheck::warning(NAME, error.cause.clone(), error.next_step().to_owned()));
        }
    };
    let directory = DataDirectory { named: &location.named, daemon };
    let configured = files.using_tenure(true).map(|(_, file)| file.name.as_str());
    let defined = daemon.networks().iter().map(|network| network.name.as_str());
    let ours: BTreeSet<&str> = configured.chain(defined).collect();
    let mut others = Vec::new();
    for entries in found.entries.chunk_by(|one, next| one.network == next.network) {
        let Some(theirs) = entries.first().map(|entry| entry.network.as_str()) else { continue };
        let check = match ours.contains(theirs) {
            true if daemon.is_delegated(theirs) => None,
            true => directory.own(theirs, entries).await,
            false => {
                others.push(theirs);
                directory.foreign(theirs, entries).await
            }
        };
        if check.is_some() {
            return check;
        }
    }
    (!daemon.is_known() && !others.is_empty()).then(|| directory.unknown(&others))
}

impl DataDirectory<'_> {
    /// Judges the addresses of a network that is ours by its name.
    async fn own(&self, network: &str, entries: &[FoundAttachment]) -> Option<NodeCheck> {
        let shown = self.named.display();
        // As an import of the directory names it.
        let source = format!("host-local {shown}");
        let dry_run = ImportDryRun { network, source: &source };
        let count = addresses(&self.daemon.unaccounted(dry_run, entries.to_vec()).await);
        let found = format!("host-local's directory has {count} addresses of network {network}");
        let (found, unless) = match self.daemon.is_known() {
            true => (format!("{found} that were not imported"), "nothing uses them"),
            false => (found, "they were imported, or nothing uses them"),
        };
        let next = format!("`tenurectl import host-local {shown}`; if {unless}, remove {shown}/{network}");
        (count > 0).then(|| NodeCheck::warning(NAME, found, next))
    }

    /// Judges the addresses of a network that is host-local's alone.
    async fn foreign(&self, theirs: &str, entries: &[FoundAttachment]) -> Option<NodeCheck> {
        let (shown, source) =
            (self.named.display(), format!("{HOST_LOCAL_NETWORK} {}", self.named.join(theirs).display()));
        for network in self.daemon.networks() {
            let inside: Vec<_> = entries.iter().filter(|entry| is_inside(network, entry)).cloned().collect();
            let ours = network.name.as_str();
            let dry_run = ImportDryRun { network: ours, source: &source };
            let count = addresses(&self.daemon.unaccounted(dry_run, inside).await);
            if count > 0 {
                return Some(NodeCheck::problem(
                    NAME,
                    format!(
                        "host-local's network {theirs} has {count} addresses in the ranges of network {ours}, which gives them to other pods, too"
                    ),
                    format!(
                        "`tenurectl import host-local {shown} --of {theirs} --network {ours}`; if nothing uses them, remove {shown}/{theirs}"
                    ),
                ));
            }
        }
        None
    }

    /// The warning about networks whose addresses may be in our ranges, which no daemon tells.
    fn unknown(&self, others: &[&str]) -> NodeCheck {
        let shown = self.named.display();
        NodeCheck::warning(
            NAME,
            format!(
                "host-local has addresses of {} in {shown}; without the daemon, whether they are in ranges of ours is not known",
                others.join(", ")
            ),
            format!(
                "if they are, give the network of ours the same name, or `tenurectl import host-local {shown} --of NAME --network OURS`"
            ),
        )
    }
}
