//! CHECK, STATUS and looking in: nothing here changes a book.

use std::sync::Arc;

use tenure_ledger::{Book, Choice, Chooser};
use tenure_types::{
    Allocation, Definer, Error, ErrorCode, Generation, Grant, Moment, NetworkConfig, NetworkName, Owner,
    PolicyName, Result,
};

use crate::admission::Load;
use crate::define::Wanted;
use crate::engine::Engine;
use crate::import;
use crate::ports::CatalogueEntry;
use crate::wrong::{exhausted, unavailable};

/// An allocation as it is listed.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The allocation.
    pub allocation: Arc<Allocation>,
    /// Whether some address of it lies outside the network's present ranges.
    pub outside: bool,
    /// Whether another allocation has its address.
    pub waiting: bool,
}

impl Engine {
    /// A network's allocations after one of them, in the order in which they were made, and no more than so many: a large book is
    /// looked at in parts, so that nobody waits for it.
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

    /// An owner's addresses, if it has any.
    ///
    /// # Errors
    /// `UnknownAttachment` when it has none.
    pub async fn check(&self, network: &NetworkName, owner: &Owner) -> Result<Grant> {
        self.observed("check", network, Some(owner), async {
            let held = match self.networks.get(network) {
                Some(slot) => slot.state().as_ref().and_then(|served| served.book.owned_by(owner).cloned()),
                None => None,
            };
            let held = held.ok_or_else(|| {
                Error::new(
                    ErrorCode::UnknownAttachment,
                    format_args!("{owner} owns no address of network {network}"),
                )
            })?;
            Ok(Grant { generation: held.generation, addresses: held.addresses.to_vec() })
        })
        .await
    }

    /// Whether an ADD with this configuration would find what it needs.
    ///
    /// # Errors
    /// `Unavailable` when it would not; `InvalidConfig` and the policy's own errors for a configuration that is wrong.
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
            import::admits(slot.state().as_ref()).map_err(named)?;
        }
        // What an ADD would be served by, and what it would make of the configuration.
        let (policy, by, full) = {
            let book = self.book(name).await;
            let choice = self.committer.choice(name).filter(|_| book.is_some());
            let network = book.as_ref().map(|book| book.network());
            let is_fixed = self.is_fixed(&self.bounds(), name, network).map_err(named)?;
            let by = choice.as_ref().map_or(Chooser::Configuration, |choice| choice.by);
            let found = match choice.as_ref().filter(|_| is_fixed || by == Chooser::Operator) {
                Some(choice) => self.ports.catalogue.find_pinned(&choice.policy),
                None => self.ports.catalogue.find(policy),
            };
            let policy = found.map_err(|error| match error.code {
                ErrorCode::PolicyUnloadable | ErrorCode::NotReady => named(error),
                _ => error,
            })?;
            let is_same = network.is_some_and(|network| is_fixed || network.config == *config)
                && choice.is_some_and(|choice| choice.policy == **policy.stamp());
            let full = book.as_ref().filter(|_| is_same).map(|book| exhausted(book));
            (policy, by, full)
        };
        match full {
            None => {
                let wanted = Wanted { policy, by, config: Arc::clone(config), definer: Definer::Request };
                self.defined(name, &wanted).await.map(drop)
            }
            Some(full) => full.map_or(Ok(()), |message| Err(unavailable(message))),
        }
    }

    /// A network's book as of now. What it shows stays as it was; the network goes on without it.
    pub async fn book(&self, network: &NetworkName) -> Option<Arc<Book>> {
        let slot = self.networks.get(network)?;
        // Where somebody else has the turn, a policy may have a share of the book, and whoever asked it has let go what had cooled.
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

    /// What serves a network, and what did before.
    #[must_use]
    pub fn choices(&self, network: &NetworkName) -> Option<(Choice, Vec<Choice>)> {
        let choices = self.committer.choices();
        let served = choices.of(network)?;
        Some((served.now.clone(), served.before.iter().cloned().collect()))
    }

    /// What is known of each policy.
    #[must_use]
    pub fn policies(&self) -> Vec<CatalogueEntry> {
        self.ports.catalogue.list()
    }

    /// What is under way right now.
    #[must_use]
    pub fn load(&self) -> Load {
        self.admission.load()
    }

    /// Now, by the clock that requests are ordered by.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.ports.clock.now()
    }
}
