//! DEL and GC: releasing addresses.

use std::collections::HashSet;
use std::sync::Arc;

use tenure_ledger::{ClaimKey, Fact, MoveFact};
use tenure_types::{
    Allocation, ContainerId, End, InterfaceName, Moment, NetworkConfig, NetworkName, Owner, PolicyName,
    Result,
};

use super::define::{AskedDelegate, CallerConfig};
use crate::core::admission::not_in_future;
use crate::delegates::identity::check_owner;
use crate::engine::Engine;
use crate::network::slot::{Alone, Served};
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

/// The part of a DEL's or a GC's configuration that says whose the network's addresses are. A delegate may know attachments that the ledger
/// does not: those of a state that was lost, and those from before it was tenure's delegate.
#[derive(Debug, Clone)]
pub struct CalledWith {
    /// The policy named in the configuration.
    pub policy: PolicyName,
    /// The configuration, as it is passed to the policy.
    pub config: Arc<NetworkConfig>,
    /// The attachment's network namespace; may be empty.
    pub netns: Box<str>,
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
        self.del_with(del, None).await
    }

    /// As [`del`](Self::del), with the configuration that came with it: if it, or the network, names a delegate, the DEL of an attachment that the
    /// ledger does not know, or has from another IPAM, is handed on to it.
    ///
    /// # Errors
    /// As [`del`](Self::del).
    pub async fn del_with(&self, del: Del, with: Option<&CalledWith>) -> Result<()> {
        self.core.observed("del", &del.network, Some(&del.owner), self.serve_del(&del, with)).await
    }

    async fn serve_del(&self, del: &Del, with: Option<&CalledWith>) -> Result<()> {
        let mut turn = self.core.admission.enter(&del.network, &del.owner).await?;
        let now = self.core.now();
        let requested_at = not_in_future(del.requested_at, now);
        turn.bury(requested_at, now);
        let slot = self.core.networks.known(&del.network);
        let alone = match &slot {
            Some(slot) => Some(slot.alone().await),
            None => None,
        };
        turn.place().await?;
        let held = self.core.allocation_of(&del.network, &del.owner);
        let ticket = match alone.map(Alone::hold).as_deref_mut() {
            Some(Some(served)) if held.is_some() => self.release(served, &del.owner, requested_at, "del")?,
            _ => self.remember_deleted(&del.network, &del.owner, requested_at),
        };
        ticket.durable().await?;
        // What has come over from another IPAM may have been the delegate's.
        let is_others = |held: &Arc<Allocation>| held.origin.is_some() && held.requested_at <= requested_at;
        let may_be_delegates = held.as_ref().is_none_or(is_others);
        let meant = held.filter(|held| held.requested_at <= requested_at);
        self.links.disconnect(meant.as_deref()).await;
        // What its delegate gave goes back, now or later.
        turn.leave_place();
        if let Some(with) = with.filter(|_| may_be_delegates) {
            self.suspect_delegate(del, with).await?;
        }
        self.delegates.settle_quietly(&del.network, &del.owner).await;
        Ok(())
    }

    /// Takes down that a network's delegate may have something for an attachment that the ledger does not know, or has from another IPAM.
    async fn suspect_delegate(&self, Del { network, owner, .. }: &Del, with: &CalledWith) -> Result<()> {
        // A pod cannot be told from a claim by such a name, and the claim lives.
        if check_owner(owner).is_err() {
            return Ok(());
        }
        let CalledWith { policy, config, netns } = with;
        let Some(asked) = self.delegate_for(CallerConfig { network, policy, config }) else { return Ok(()) };
        self.delegates.suspect(network, owner, asked.delegate, asked.ipam, netns.clone()).await
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
        self.gc_with(gc, None).await
    }

    /// As [`gc`](Self::gc), with the configuration that came with it: it is handed on to the delegate that it, or the network, names, whether or not the
    /// ledger knows of anything that this gave.
    ///
    /// # Errors
    /// As [`gc`](Self::gc).
    pub async fn gc_with(&self, gc: Gc, with: Option<&CalledWith>) -> Result<usize> {
        self.core.observed("gc", &gc.network, None, self.serve_gc(&gc, with)).await
    }

    async fn serve_gc(&self, gc: &Gc, with: Option<&CalledWith>) -> Result<usize> {
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
        let present = with.and_then(|CalledWith { policy, config, .. }| {
            self.delegate_for(CallerConfig { network: &gc.network, policy, config })
        });
        let present = present.map(|AskedDelegate { delegate, ipam }| (delegate, ipam));
        let awaited = self.claims.awaited_owners(&gc.network);
        self.delegates.gc_at_delegates(&gc.network, &gc.valid, &awaited, present).await;
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
                let may_be_named = is_imported || self.may_be_exported(served.book.name());
                let deleted = may_be_named.then(|| self.deleted(served.book.name(), owner, requested_at));
                let released = served.book.release(owner, self.core.now(), reason).map(Fact::from);
                released.into_iter().chain(deleted.flatten().map(Fact::from)).collect()
            }
        };
        self.core.committer.commit(&mut served.book, &facts).map(|(_, ticket)| ticket)
    }

    /// Whether a source of the network may name attachments that were made here: `tenurectl export` writes ipamd's checkpoint, also over the one from which
    /// the network has moved over.
    fn may_be_exported(&self, network: &NetworkName) -> bool {
        self.core.committer.node().moves.sources(network).any(|source| source.starts_with("ipamd "))
    }
}
