//! The only path by which state changes: facts are staged and applied in one step, so that the log has them in the
//! order in which the state changed.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tenure_ledger::{Book, Choice, Fact, LedgerFact, NodeChapters, Page, QuarantineMark, RemovedNetworks};
use tenure_types::{Error, ErrorCode, Moment, NetworkName, Result};

use super::feed::Feed;
use crate::lock::hold;
use crate::policy::shadows::Shadows;
use crate::ports::{Journal, Ticket};

/// The journal, and the state that belongs to no single network.
///
/// That state is behind a `std::sync::Mutex`. Where both are taken, the network's state is locked first. The lock
/// is held only to read or to change memory.
pub(crate) struct Committer {
    pub(crate) journal: Arc<dyn Journal>,
    node: Mutex<NodeChapters>,
    /// The networks that were removed. A `std::sync::Mutex`, held only to read or to change memory; taken last.
    removed: Mutex<RemovedNetworks>,
    shadows: Arc<Shadows>,
    /// Changes for agents that watch their claims.
    pub(crate) feed: Feed,
}

impl Committer {
    pub(crate) fn new(
        journal: Arc<dyn Journal>,
        node: NodeChapters,
        removed: RemovedNetworks,
        shadows: Arc<Shadows>,
        feed: Feed,
    ) -> Self {
        Self { journal, node: Mutex::new(node), removed: Mutex::new(removed), shadows, feed }
    }

    /// Applies a fact to its book, as [`commit`](Self::commit) does after it has staged it.
    fn change(&self, book: &mut Arc<Book>, place: u64, fact: &LedgerFact) -> Result<()> {
        let book = Arc::make_mut(book);
        book.apply(place, fact).map_err(defect)?;
        if RemovedNetworks::concerns(fact) {
            hold(&self.removed).follow(place, fact, book);
        }
        Ok(())
    }

    /// Applies a fact to a copy of a book.
    pub(crate) fn try_out(&self, draft: &mut Book, fact: &LedgerFact) -> Result<()> {
        draft.apply(draft.through() + 1, fact).map_err(defect)?;
        if RemovedNetworks::concerns(fact) {
            hold(&self.removed).tell(fact, draft);
        }
        Ok(())
    }

    /// The page of a snapshot of each network that was removed, if there are facts of it at or after this place or an address
    /// that cools down; forgets the others.
    pub(crate) fn removed_since(&self, first: u64) -> Vec<Page> {
        let mut removed = hold(&self.removed);
        removed.forget_before(first);
        removed.names().filter_map(|name| page(&removed, name)).collect()
    }

    /// The same of one network.
    pub(crate) fn gone(&self, name: &NetworkName) -> Option<Page> {
        page(&hold(&self.removed), name)
    }

    /// Whether exactly this claim of an address had ended when its network was removed.
    pub(crate) fn was_settled(&self, network: &NetworkName, address: IpAddr, claim: &str) -> bool {
        hold(&self.removed).is_settled(network, address, claim)
    }

    /// The mark of an address that is in quarantine in a removed network.
    pub(crate) fn quarantine_from_before(&self, address: IpAddr) -> Option<QuarantineMark> {
        hold(&self.removed).quarantine_of(address).cloned()
    }

    /// Forgets the addresses of removed networks that have cooled down.
    pub(crate) fn expire_removed(&self, now: Moment, cooldown: Duration) {
        hold(&self.removed).expire(now, cooldown);
    }

    /// Stages facts that must become durable together and applies them; the caller holds the lock on the book.
    /// Returns the place of the last fact in the log.
    pub(crate) fn commit(&self, book: &mut Arc<Book>, facts: &[Fact]) -> Result<(u64, Ticket)> {
        let mut node = facts.iter().any(|fact| !matches!(fact, Fact::Ledger(_))).then(|| self.node());
        let (first, ticket) = self.journal.stage(facts);
        let mut last = first;
        for (place, fact) in (first..).zip(facts) {
            match (fact, &mut node) {
                (Fact::Ledger(fact), _) => self.change(book, place, fact)?,
                (fact, Some(node)) => node.apply(place, fact),
                // There is one whenever there is a fact of these chapters.
                (_, None) => {}
            }
            self.tell(place, fact, facts);
            last = place;
        }
        if self.shadows.any() {
            self.shadows.changed(book.name(), first, facts);
        }
        Ok((last, ticket))
    }

    /// As [`commit`](Self::commit), for facts about several networks, whose books the caller has locked.
    pub(crate) fn commit_across(
        &self,
        books: &mut BTreeMap<NetworkName, &mut Arc<Book>>,
        facts: &[Fact],
    ) -> Result<Ticket> {
        let mut node = self.node();
        let (first, ticket) = self.journal.stage(facts);
        for (place, fact) in (first..).zip(facts) {
            match (fact, fact.network().and_then(|network| books.get_mut(network))) {
                (Fact::Ledger(of_book), Some(book)) => {
                    self.change(book, place, of_book)?;
                    if self.shadows.any() {
                        self.shadows.changed(book.name(), place, std::slice::from_ref(fact));
                    }
                }
                (fact, _) => node.apply(place, fact),
            }
            self.tell(place, fact, facts);
        }
        Ok(ticket)
    }

    /// Tells watching agents of a fact. The ranges that come and go with what a delegate gives are those of its addresses, and
    /// change nothing for the claims of others.
    fn tell(&self, place: u64, fact: &Fact, group: &[Fact]) {
        let is_range =
            matches!(fact, Fact::Ledger(LedgerFact::RangeAdded { .. } | LedgerFact::RangeRemoved { .. }));
        if !is_range || !group.iter().any(|other| matches!(other, Fact::Delegations(_))) {
            self.feed.applied(place, fact);
        }
    }

    /// As [`commit`](Self::commit), for one fact of a book.
    pub(crate) fn commit_one(&self, book: &mut Arc<Book>, fact: LedgerFact) -> Result<Ticket> {
        self.commit(book, &[fact.into()]).map(|(_, ticket)| ticket)
    }

    /// As [`commit`](Self::commit), for a fact of no book, which `make` derives from the state that it changes; `None`
    /// if it makes none.
    pub(crate) fn commit_node<F: Into<Fact>>(
        &self,
        make: impl FnOnce(&NodeChapters) -> Option<F>,
    ) -> Option<Ticket> {
        let mut node = self.node();
        let fact = make(&node)?.into();
        let (place, ticket) = self.journal.stage(std::slice::from_ref(&fact));
        node.apply(place, &fact);
        Some(ticket)
    }

    /// The state that belongs to no single network.
    pub(crate) fn node(&self) -> MutexGuard<'_, NodeChapters> {
        hold(&self.node)
    }

    /// Which policy serves a network.
    pub(crate) fn choice(&self, network: &NetworkName) -> Option<Choice> {
        self.node().choices.of(network).map(|served| served.now.clone())
    }
}

fn page(removed: &RemovedNetworks, name: &NetworkName) -> Option<Page> {
    Some(Page::Gone { network: name.clone(), removed: removed.get(name)? })
}

/// The error for a fact that conflicts with its book: a defect, never the caller's fault.
pub(crate) fn defect(conflict: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::Internal, format_args!("the ledger contradicts itself: {conflict}"))
}
