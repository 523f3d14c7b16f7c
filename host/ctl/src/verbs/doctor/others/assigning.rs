//! The daemon that assigns the addresses of this node, asked what its ledgers account for.

use std::net::IpAddr;

use tenure_rpc::v1;
use tenure_types::{Error, PolicyName};

use crate::daemon::Daemon;
use crate::report::FoundAttachment;
use crate::verbs::import::ImportDryRun;

/// The daemon, and its networks.
pub(in crate::verbs::doctor) struct AssigningDaemon<'a> {
    pub(in crate::verbs::doctor) daemon: &'a Daemon,
    /// The answer about its networks; the error if it cannot be asked.
    pub(in crate::verbs::doctor) networks: Result<v1::ListNetworksResponse, Error>,
}

impl AssigningDaemon<'_> {
    /// The networks of the daemon; none if it cannot be asked.
    pub(super) fn networks(&self) -> &[v1::Network] {
        self.networks.as_ref().map_or(&[], |listed| &listed.networks)
    }

    /// Whether it could be asked.
    pub(super) fn is_known(&self) -> bool {
        self.networks.is_ok()
    }

    /// Whether a delegate serves a network, which may be that other IPAM itself.
    pub(super) fn is_delegated(&self, network: &str) -> bool {
        let found = self.networks().iter().find(|found| found.name == network);
        let policy = found.and_then(|found| PolicyName::new(found.policy.as_ref()?.name.as_str()).ok());
        policy.is_some_and(|policy| policy.delegate().is_some())
    }

    /// Returns the attachments that the ledger of a network does not account for; all of them, if the daemon cannot be asked or has no such network.
    pub(super) async fn unaccounted(
        &self,
        dry_run: ImportDryRun<'_>,
        entries: Vec<FoundAttachment>,
    ) -> Vec<FoundAttachment> {
        match self.is_known() {
            false => entries,
            true => dry_run.unaccounted(self.daemon, entries.clone()).await.unwrap_or(entries),
        }
    }
}

/// Counts the addresses of attachments.
pub(super) fn addresses(entries: &[FoundAttachment]) -> usize {
    entries.iter().map(|entry| entry.entry.addresses.len()).sum()
}

/// Whether an address of an attachment is in a range of a network.
pub(super) fn is_inside(network: &v1::Network, entry: &FoundAttachment) -> bool {
    let ranges = network.pools.iter().flat_map(|pool| &pool.ranges);
    let ranges: Vec<_> = ranges.filter_map(|range| ends(range)).collect();
    let mut addresses = entry.entry.addresses.iter().filter_map(|address| address.parse::<IpAddr>().ok());
    addresses.any(|address| ranges.iter().any(|(first, last)| (*first..=*last).contains(&address)))
}

/// The first and the last address of a range, as the daemon prints it.
fn ends(range: &str) -> Option<(IpAddr, IpAddr)> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    Some((first.parse().ok()?, last.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attachment_is_inside_by_one_of_its_addresses() {
        let ranges = ["10.1.0.2-10.1.0.9", "fd00::7"].map(str::to_owned).to_vec();
        let pools = vec![v1::Pool { ranges, ..v1::Pool::default() }];
        let network = v1::Network { pools, ..v1::Network::default() };
        let of = |addresses: &[&str]| {
            let addresses = addresses.iter().map(|address| (*address).to_owned()).collect();
            let entry = v1::ImportEntry { addresses, ..v1::ImportEntry::default() };
            is_inside(&network, &FoundAttachment { network: "cbr0".to_owned(), entry })
        };
        assert!(of(&["10.1.0.2"]) && of(&["10.1.0.9"]) && of(&["10.2.0.1", "fd00::7"]));
        assert!(!of(&["10.1.0.1"]) && !of(&["10.1.0.10", "fd00::8"]) && !of(&[]));
    }
}
