//! The dry run of an import, for a caller that only wants to know what of another IPAM's state the daemon does not account for.

use tenure_rpc::v1;
use tenure_types::Error;

use super::judged;
use crate::daemon::Daemon;
use crate::report::FoundAttachment;

/// An import that changes nothing.
pub(in crate::verbs) struct ImportDryRun<'a> {
    /// The network, which exists.
    pub(in crate::verbs) network: &'a str,
    pub(in crate::verbs) source: &'a str,
    /// Whether the source never names two owners of one address.
    pub(in crate::verbs) exclusive: bool,
}

impl ImportDryRun<'_> {
    /// Counts the addresses of attachments that an import would bring into the ledger, or could not.
    ///
    /// # Errors
    /// The daemon's answer.
    pub(in crate::verbs) async fn unaccounted(
        &self,
        daemon: &Daemon,
        entries: &[FoundAttachment],
    ) -> Result<usize, Error> {
        if entries.is_empty() {
            return Ok(0);
        }
        let head = v1::ImportHead {
            network: self.network.to_owned(),
            source: self.source.to_owned(),
            exclusive: self.exclusive,
            entries: entries.len() as u64,
            ..v1::ImportHead::default()
        };
        let (outcomes, failure) = judged(daemon, head, entries).await;
        if let Some(error) = failure {
            return Err(error);
        }
        let judged = entries.iter().zip(outcomes);
        let missing = judged.filter(|(_, outcome)| !matches!(outcome.outcome.as_str(), "held" | "released"));
        Ok(missing.map(|(entry, _)| entry.entry.addresses.len()).sum())
    }
}
