//! CHECK, STATUS and queries: nothing here changes a book, except that cooldowns expire.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_ledger::{Book, Chooser};
use tenure_types::{
    Allocation, Definer, Error, ErrorCode, Generation, Grant, Meter, Moment, NetworkConfig, NetworkName,
    Owner, PolicyName, PolicyStamp, Result,
};

use crate::admission::Load;
use crate::engine::Engine;
use crate::ports::{CatalogueEntry, Details};
use crate::redefine::Wanted;
use crate::wrong::{exhausted, unavailable};

/// An allocation in a listing.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The allocation.
    pub allocation: Arc<Allocation>,
    /// Whether any of its addresses is outside the network's present ranges.
    pub outside: bool,
    /// Whether another allocation holds one of its addresses, so that this one waits for it.
    pub waiting: bool,
}

impl Engine {
    /// Lists at most `most` of a network's allocations made after the given one, in order. A large book is read in
    /// parts, so that no request waits for the whole listing.
    pub async fn list(&self, network: &NetworkName, after: Generation, most: usize) -> Vec<Listed> {
        let Some(slot) = self.networks.get(network) else { return Vec::new() };
        let state = slot.state();
        let Some(served) = state.as_ref() else { return Vec::new() };
        let book = &served.book;
        let listed = |allocation: &Arc<Allocation>| Listed {
            allocation: Arc::clone(allocation),
            outside: book.is_outside(allocation),
            waiting: book.is_waiting(allocation),
        };
        book.allocations_after(after).take(most).map(listed).collect()
    }

    /// Returns an owner's addresses, after looking at its link if the host makes it.
    ///
    /// # Errors
    /// `UnknownAttachment` when the owner has none, `LinkDiffers` when the kernel does not show its link as it shall be.
    pub async fn check(&self, network: &NetworkName, owner: &Owner) -> Result<Grant> {
        self.observed("check", network, Some(owner), async {
            let held = self.allocation_of(network, owner).ok_or_else(|| {
                Error::new(
                    ErrorCode::UnknownAttachment,
                    format_args!("{owner} owns no address of network {network}"),
                )
            })?;
            self.check_at_delegate(network, owner, &held.addresses).await?;
            if held.link().is_some() {
                self.ports.links.check(&held).await?;
            }
            Ok(self.grant(&held))
        })
        .await
    }

    /// Checks whether an ADD with this configuration could be served.
    ///
    /// # Errors
    /// `Unavailable` when it could not; `InvalidConfig` and the policy's own errors for an invalid configuration.
    pub async fn status(
        &self,
        network: &NetworkName,
        policy: &PolicyName,
        config: &Arc<NetworkConfig>,
    ) -> Result<()> {
        self.observed("status", network, None, self.serve_status(network, policy, config)).await
    }

    async fn serve_status(
        &self,
        name: &NetworkName,
        policy: &PolicyName,
        config: &Arc<NetworkConfig>,
    ) -> Result<()> {
        let named = |error: Error| unavailable(format_args!("{}: {error}", error.code));
        self.readiness().map_err(named)?;
        if let Some(slot) = self.networks.get(name) {
            self.admits_beside_moves(slot.state().as_ref()).map_err(named)?;
        }
        self.admits_beside_others(name, Some(config), Some(policy)).await.map_err(named)?;
        // Find the policy that an ADD would use, and whether it would redefine the network.
        let (policy, by, full, ipam) = {
            let book = self.book(name).await;
            let choice = self.committer.choice(name).filter(|_| book.is_some());
            let network = book.as_ref().map(|book| book.network());
            let is_fixed = self.is_fixed(&self.bounds(), name, network).map_err(named)?;
            let by = choice.as_ref().map_or(Chooser::Configuration, |choice| choice.by);
            let found = match choice.as_ref().filter(|_| is_fixed || by.overrides()) {
                Some(choice) => self.ports.catalogue.find_pinned(&choice.policy),
                None => self.named(name, policy, config, choice.as_ref()),
            };
            let policy = found.map_err(|error| match error.code {
                ErrorCode::PolicyUnloadable | ErrorCode::PolicyNonconforming | ErrorCode::NotReady => {
                    named(error)
                }
                _ => error,
            })?;
            let is_same = network.is_some_and(|network| is_fixed || network.config == *config)
                && choice.is_some_and(|choice| choice.policy == **policy.stamp());
            let full = book.as_ref().filter(|_| is_same).map(|book| exhausted(book));
            let own = network.filter(|_| is_fixed).map(|network| network.config.ipam.clone());
            (policy, by, full, own.unwrap_or_else(|| config.ipam.clone()))
        };
        if let Some(delegate) = policy.delegate() {
            self.status_of_delegate(name, delegate, &ipam).await.map_err(named)?;
        }
        match full {
            None => {
                let (config, why) = (Arc::clone(config), String::new());
                let wanted =
                    Wanted { policy, by, why, empty_state: false, config, definer: Definer::Request };
                self.defined(name, &wanted).await.map(drop)
            }
            Some(full) => full.map_or(Ok(()), |message| Err(unavailable(message))),
        }
    }

    /// A snapshot of a network's book. Later changes of the network do not show in it.
    pub async fn book(&self, network: &NetworkName) -> Option<Arc<Book>> {
        let slot = self.networks.get(network)?;
        // If somebody else has the turn, a policy may share the book; its caller has already expired the cooldowns.
        if let Some(served) = slot.try_lock().as_deref_mut().and_then(Option::as_mut) {
            self.expire(served, self.now());
        }
        slot.state().as_ref().map(|served| Arc::clone(&served.book))
    }

    /// The names of the networks, in order.
    #[must_use]
    pub fn network_names(&self) -> Vec<NetworkName> {
        self.networks.names()
    }

    /// The catalogue's policies and their state.
    #[must_use]
    pub fn policies(&self) -> Vec<CatalogueEntry> {
        let mut policies = self.ports.catalogue.list();
        self.add_verdicts(&mut policies);
        policies
    }

    /// What a loaded policy can do, may do and has done.
    #[must_use]
    pub fn policy_details(&self, policy: &PolicyStamp) -> Option<Details> {
        self.ports.catalogue.details(policy)
    }

    /// Why calls of a policy are refused on some networks, because it keeps failing there.
    #[must_use]
    pub fn benched(&self, policy: &PolicyStamp) -> Vec<String> {
        self.strikes.benched_versions(self.ports.clock.monotonic(), policy)
    }

    /// The meters of the policies that serve networks.
    #[must_use]
    pub fn meters(&self) -> Vec<(PolicyStamp, Meter)> {
        let mut meters = self.ports.catalogue.meters();
        let node = self.committer.node();
        let serving: BTreeSet<_> = node.choices.all().map(|(_, served)| &served.now.policy).collect();
        meters.retain(|(policy, _)| serving.contains(policy));
        meters
    }

    /// The current load.
    #[must_use]
    pub fn load(&self) -> Load {
        self.admission.load()
    }

    /// The current time, by the clock that orders requests.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.ports.clock.now()
    }
}
