//! The quarantine of networks that were removed, where a delegate gives one of their addresses.

use std::sync::Arc;

use tenure_ledger::{Fact, LedgerFact, QuarantineSubject};
use tenure_types::cni::Success;
use tenure_types::{AssignedAddress, Result};

use super::DelegateClient;
use crate::network::slot::Slot;

impl DelegateClient {
    /// Takes over the quarantine of what a delegate gave from networks that were removed, so that an operator sees it on this network, which
    /// has no range with the address, and can lift it.
    pub(super) async fn take_over_marks(&self, slot: &Slot, given: &Success) -> Result<()> {
        let from_before = |assigned: &AssignedAddress| {
            let address = assigned.ip();
            Some((address, self.core.committer.quarantine_from_before(address)?))
        };
        let marks: Vec<_> = given.addresses.iter().filter_map(from_before).collect();
        if marks.is_empty() {
            return Ok(());
        }
        let ticket = {
            let mut held = slot.lock().await;
            let Some(served) = held.as_mut() else { return Ok(()) };
            let (book, network) = (Arc::clone(&served.book), served.book.name().clone());
            let news = marks.into_iter().filter(|(address, _)| book.quarantine_of(*address).is_none());
            let fact = |(address, mark)| {
                let (network, subject) = (network.clone(), QuarantineSubject::Address(address));
                Fact::from(LedgerFact::Quarantined { network, subject, mark })
            };
            let facts: Vec<Fact> = news.map(fact).collect();
            if facts.is_empty() {
                return Ok(());
            }
            drop(book);
            self.core.committer.commit(&mut served.book, &facts)?.1
        };
        ticket.durable().await
    }
}
