//! The dry run of an import, for a caller that only wants to know what of another IPAM's state the daemon does not account for.

use std::collections::BTreeSet;

use tenure_rpc::v1;
use tenure_types::Error;

use super::judged;
use crate::daemon::Daemon;
use crate::report::FoundAttachment;
use crate::verbs::allocations::allocations;

/// An import that changes nothing.
pub(in crate::verbs) struct ImportDryRun<'a> {
    /// The network, which exists.
    pub(in crate::verbs) network: &'a str,
    pub(in crate::verbs) source: &'a str,
}

impl ImportDryRun<'_> {
    /// Returns the attachments that an import would bring into the ledger, or could not. An unknown owner that an earlier import has made accounts for
    /// its address: nobody gets it.
    ///
    /// # Errors
    /// The daemon's answer.
    pub(in crate::verbs) async fn unaccounted(
        &self,
        daemon: &Daemon,
        mut entries: Vec<FoundAttachment>,
    ) -> Result<Vec<FoundAttachment>, Error> {
        if entries.is_empty() {
            return Ok(entries);
        }
        let head = v1::ImportHead {
            network: self.network.to_owned(),
            source: self.source.to_owned(),
            exclusive: true,
            entries: entries.len() as u64,
            ..v1::ImportHead::default()
        };
        let (outcomes, failure) = judged(daemon, head, &entries).await;
        if let Some(error) = failure {
            return Err(error);
        }
        let is_unknown = |outcome: &v1::ImportOutcome| outcome.outcome == "unknown";
        let held = match outcomes.iter().any(is_unknown) {
            true => self.held_by_unknown_owners(daemon).await?,
            false => BTreeSet::new(),
        };
        let mut outcomes = outcomes.into_iter();
        entries.retain(|entry| {
            let outcome = outcomes.next().unwrap_or_default();
            let mut addresses = entry.entry.addresses.iter();
            match outcome.outcome.as_str() {
                "held" | "released" => false,
                "unknown" => !addresses.all(|address| held.contains(address)),
                _ => true,
            }
        });
        Ok(entries)
    }

    /// The addresses of the network that unknown owners hold.
    async fn held_by_unknown_owners(&self, daemon: &Daemon) -> Result<BTreeSet<String>, Error> {
        let mut held = BTreeSet::new();
        allocations(daemon, self.network.to_owned(), |next| {
            let unknown = next.filter(|next| matches!(next.owner, Some(v1::allocation::Owner::Unknown(_))));
            let cidrs = unknown.into_iter().flat_map(|unknown| unknown.addresses);
            held.extend(cidrs.filter_map(|cidr| Some(cidr.split_once('/')?.0.to_owned())));
            Ok(true)
        })
        .await?;
        Ok(held)
    }
}
