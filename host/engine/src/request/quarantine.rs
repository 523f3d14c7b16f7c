//! Quarantine: addresses that are withheld from allocation, and allocations whose owner is doubtful. What follows from it is the ledger's.
//!
//! An operator puts an address into quarantine and lifts it. A doubt about an owner comes from the evidence about its sandbox, and
//! ends with the allocation, at the owner's next request, or when it is lifted.

use std::net::IpAddr;

use tenure_ledger::{Book, LedgerFact, QuarantineMark, QuarantineRefusal, QuarantineSubject};
use tenure_types::{Allocation, ConditionName, Error, ErrorCode, NetworkName, Result};

use crate::engine::Engine;

/// The most addresses that the condition names for each network.
const MOST_NAMED: usize = 3;

impl Engine {
    /// Puts an address into quarantine: from now on it is withheld from allocation. Returns whether that changed anything; durable when this
    /// returns.
    ///
    /// # Errors
    /// `UnknownNetwork`; `UnknownAddress` if the network does not have it; `AddressUnavailable` if it has too many in quarantine;
    /// `NotReady` while the state is lost; `CheckpointFailed`.
    pub async fn quarantine(&self, network: &NetworkName, address: IpAddr, reason: &str) -> Result<bool> {
        let refused = |refusal: QuarantineRefusal| {
            let (code, next_step) = match refusal {
                QuarantineRefusal::Outside(_) => {
                    (ErrorCode::UnknownAddress, "`tenurectl networks --output wide` shows the ranges")
                }
                QuarantineRefusal::TooMany => (
                    ErrorCode::AddressUnavailable,
                    "lift some with `tenurectl quarantine lift`, or take the range out of the network's configuration",
                ),
            };
            Error::new(code, format_args!("network {network}: {refusal}")).to_be_solved_by(next_step)
        };
        let at = self.core.now();
        let make = |book: &Book| book.quarantine(address, reason, at).map_err(refused);
        self.core.observed("quarantine", network, None, self.mark_durably(network, make)).await
    }

    /// Records that an allocation's owner is doubtful, if it still has it and has not renewed it. Returns whether that is news.
    ///
    /// # Errors
    /// As [`quarantine`](Self::quarantine).
    pub async fn doubt(&self, held: &Allocation, reason: &str) -> Result<bool> {
        let (network, at) = (&held.network, self.core.now());
        let make = |book: &Book| Ok(book.doubt(held, reason, at));
        self.core.observed("quarantine", network, Some(&held.owner), self.mark_durably(network, make)).await
    }

    /// Ends the doubt about an allocation's owner. Returns whether there was one.
    ///
    /// # Errors
    /// As [`quarantine`](Self::quarantine).
    pub async fn lift_doubt(&self, held: &Allocation, reason: &str) -> Result<bool> {
        let (network, at) = (&held.network, self.core.now());
        let subject = QuarantineSubject::Allocation(held.generation);
        let make = |book: &Book| Ok(book.lift(subject, at, reason));
        self.core.observed("lift", network, Some(&held.owner), self.mark_durably(network, make)).await
    }

    /// Ends the quarantine of an address. Returns whether there was one; durable when this returns.
    ///
    /// # Errors
    /// As [`quarantine`](Self::quarantine).
    pub async fn lift(&self, network: &NetworkName, address: IpAddr, reason: &str) -> Result<bool> {
        let (at, subject) = (self.core.now(), QuarantineSubject::Address(address));
        let make = |book: &Book| Ok(book.lift(subject, at, reason));
        self.core.observed("lift", network, None, self.mark_durably(network, make)).await
    }

    /// Stages and applies the fact that `make` makes, if any, and waits until it is durable.
    async fn mark_durably(
        &self,
        network: &NetworkName,
        make: impl FnOnce(&Book) -> Result<Option<LedgerFact>>,
    ) -> Result<bool> {
        self.core.has_state()?;
        let unknown =
            || Error::new(ErrorCode::UnknownNetwork, format_args!("no network {network} on this node"));
        let slot = self.core.networks.known(network).ok_or_else(unknown)?;
        let (ticket, is_news) = {
            let mut held = slot.lock().await;
            let served = held.as_mut().ok_or_else(unknown)?;
            match make(&served.book)? {
                Some(fact) => {
                    self.core.ports.journal.health()?;
                    (self.core.committer.commit_one(&mut served.book, fact)?, true)
                }
                // It may have been staged by somebody else, and not be durable yet.
                None => (self.core.ports.journal.barrier(), false),
            }
        };
        ticket.durable().await?;
        Ok(is_news)
    }

    /// Updates the condition about addresses in quarantine.
    pub(crate) fn look_at_quarantine(&self) {
        let slots = self.core.networks.all();
        let all = slots.iter().filter_map(|(name, slot)| {
            let state = slot.state();
            let message = state.as_ref().and_then(|served| quarantined(&served.book))?;
            Some((name.to_string(), message))
        });
        self.core.conditions.replace(ConditionName::AddressesQuarantined, all.collect::<Vec<_>>());
    }
}

/// The message about what is in quarantine in a network; `None` if nothing is.
fn quarantined(book: &Book) -> Option<String> {
    if !book.has_quarantine() {
        return None;
    }
    let all = book.quarantined();
    let named = all.iter().take(MOST_NAMED).map(|of| {
        let QuarantineMark { reason, .. } = &of.mark;
        match reason.is_empty() {
            true => of.address.to_string(),
            false => format!("{} ({reason})", of.address),
        }
    });
    let named: Vec<_> = named.collect();
    let further = match all.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        further => format!(" and {further} more"),
    };
    Some(format!("in quarantine on network {}: {}{further}", book.name(), named.join(", ")))
}
