//! DEL and GC: releasing addresses.

use std::collections::HashSet;

use tenure_ledger::{ClaimKey, Fact, MoveFact};
use tenure_types::{ContainerId, End, InterfaceName, Moment, NetworkName, Owner, Result};

use crate::core::admission::not_in_future;
use crate::engine::Engine;
use crate::network::slot::Served;
use crate::ports::Ticket;

/// A DEL.
#[derive(Debug, Clone)]
pub struct Del {
    /// The network.
    pub network: NetworkName,
    /// The owner whose addresses are released.
    pub owner: Owner,
    /// Beginning of the caller's request; allocations requested later are kept.
    pub requested_at: Moment,
}

/// A GC: the attachments that the runtime still knows.
#[derive(Debug, Clone)]
pub struct Gc {
    /// The network.
    pub network: NetworkName,
    /// The attachments to keep.
    pub valid: HashSet<(ContainerId, InterfaceName)>,
    /// Beginning of the caller's request; allocations requested later are kept.
    pub requested_at: Moment,
}

impl Engine {
    /// Frees an owner's addresses. Succeeds if there are none.
    ///
    /// # Errors
    /// `CheckpointFailed` when the release is not durable: the caller has to retry. `Overloaded`, as for an ADD.
    pub async fn del(&self, del: Del) -> Result<()> {
        self.core.observed("del", &del.network, Some(&del.owner), self.serve_del(&del)).await
    }

    async fn serve_del(&self, del: &Del) -> Result<()> {
        let mut turn = self.core.admission.enter(&del.network, &del.owner).await?;
        let now = self.core.now();
        let requested_at = not_in_future(del.requested_at, now);
        turn.bury(requested_at, now);
        let Some(slot) = self.core.networks.known(&del.network) else {
            turn.place().await?;
            return self.remember_deleted(&del.network, &del.owner, requested_at).durable().await;
        };
        let alone = slot.alone().await;
        turn.place().await?;
        let meant = self
            .core
            .allocation_of(&del.network, &del.owner)
            .filter(|held| held.requested_at <= requested_at);
        let ticket = match alone.hold().as_mut() {
            Some(served) if served.book.owned_by(&del.owner).is_some() => {
                self.release(served, &del.owner, requested_at, "del")?
            }
            _ => self.remember_deleted(&del.network, &del.owner, requested_at),
        };
        ticket.durable().await?;
        self.links.disconnect(meant.as_deref()).await;
        // What its delegate gave goes back, now or later.
        turn.leave_place();
        self.delegates.settle_quietly(&del.network, &del.owner).await;
        Ok(())
    }

    /// Remembers a DEL of an attachment that the ledger does not have: an import may bring it later. A checkpoint that cannot
    /// be written forgets it, which is safe, and the DEL succeeds.
    fn remember_deleted(&self, network: &NetworkName, owner: &Owner, began: Moment) -> Ticket {
        let deleted =
            self.deleted(network, owner, began).filter(|_| self.core.ports.journal.health().is_ok());
        let ticket = deleted.and_then(|fact| self.core.committer.commit_node(|_| Some(fact)));
        ticket.unwrap_or_else(|| self.core.ports.journal.barrier())
    }

    /// The fact that an attachment was deleted, by a request that began then.
    fn deleted(&self, network: &NetworkName, owner: &Owner, began: Moment) -> Option<MoveFact> {
        owner.attachment()?;
        let now = self.core.now();
        let ago = u64::try_from(now.since(began).as_millis()).unwrap_or(u64::MAX);
        // Its start by the wall clock, which is all that the files of other IPAMs have.
        let at = Moment { wall_ms: now.wall_ms.saturating_sub(ago), ..began };
        Some(MoveFact::Deleted { network: network.clone(), owner: owner.clone(), at })
    }

    /// Frees the addresses of a network's attachments that its runtime no longer lists. Owners other than attachments
    /// keep theirs. Returns the number of allocations freed.
    ///
    /// # Errors
    /// `CheckpointFailed` when a release is not durable.
    pub async fn gc(&self, gc: Gc) -> Result<usize> {
        self.core.observed("gc", &gc.network, None, self.serve_gc(&gc)).await
    }

    async fn serve_gc(&self, gc: &Gc) -> Result<usize> {
        let requested_at = not_in_future(gc.requested_at, self.core.now());
        let freed = match self.core.networks.known(&gc.network) {
            Some(slot) => match slot.lock().await.as_mut() {
                Some(served) => self.collect(served, gc, requested_at)?,
                None => 0,
            },
            None => 0,
        };
        // It covers each release; and if there is no such network, its removal, which may not be durable yet.
        self.core.ports.journal.barrier().durable().await?;
        self.delegates.is_untidy();
        self.links.may_be_left();
        self.delegates.gc_at_delegates(&gc.network, &gc.valid).await;
        Ok(freed)
    }

    /// Stages and applies the ends of the attachments that the runtime no longer lists; returns how many.
    fn collect(&self, served: &mut Served, gc: &Gc, requested_at: Moment) -> Result<usize> {
        let gone: Vec<Owner> = served
            .book
            .allocations()
            .filter(|allocation| End::Gc.ends(&allocation.owner))
            .filter(|allocation| {
                allocation.owner.attachment().is_none_or(|(container, interface)| {
                    !gc.valid.contains(&(container.clone(), interface.clone()))
                })
            })
            .filter(|allocation| allocation.requested_at <= requested_at)
            .map(|allocation| allocation.owner.clone())
            .collect();
        for owner in &gone {
            drop(self.release(served, owner, requested_at, "gc")?);
        }
        Ok(gone.len())
    }

    /// Stages and applies the end of an owner's allocation, if the owner has one and last requested it no later than
    /// `requested_at`.
    pub(crate) fn release(
        &self,
        served: &mut Served,
        owner: &Owner,
        requested_at: Moment,
        reason: &str,
    ) -> Result<Ticket> {
        let meant = served.book.owned_by(owner).is_some_and(|held| held.requested_at <= requested_at);
        if !meant {
            return Ok(self.core.ports.journal.barrier());
        }
        let facts: Vec<Fact> = match ClaimKey::of(served.book.name(), owner) {
            Some(claim) => self.claims.ending(&served.book, &claim, self.core.now(), reason),
            None => {
                let held = served.book.owned_by(owner);
                let is_imported = held.is_some_and(|held| held.origin.is_some());
                // The book forgets it with the network; where it came from does not.
                let deleted = is_imported.then(|| self.deleted(served.book.name(), owner, requested_at));
                let released = served.book.release(owner, self.core.now(), reason).map(Fact::from);
                released.into_iter().chain(deleted.flatten().map(Fact::from)).collect()
            }
        };
        self.core.committer.commit(&mut served.book, &facts).map(|(_, ticket)| ticket)
    }
}
