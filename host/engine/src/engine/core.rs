//! The settings, the queries, and what the daemon hands over before the engine serves.

use std::sync::Arc;

use tenure_conditions::Conditions;
use tenure_ledger::Book;
use tenure_ledger::choices::Served;
use tenure_types::{Generation, Meter, Moment, NetworkName, PolicyStamp, Result};

use super::Engine;
use crate::core::Settings;
use crate::core::admission::Load;
use crate::core::inspect::Listed;
use crate::ports::{DelRecord, Details, Images, ServedDel};

impl Engine {
    /// Restores the DELs that earlier engines have served in this boot, in the order in which they did, and records each further
    /// one. All that began at or after `since` must be among them. Call it before the engine serves.
    pub fn remember_dels(
        &self,
        since: Moment,
        dels: impl IntoIterator<Item = ServedDel>,
        record: Arc<dyn DelRecord>,
    ) {
        self.core.remember_dels(since, dels, record);
    }

    /// The source of the snapshots' pages.
    #[must_use]
    pub fn images(&self) -> Arc<dyn Images> {
        self.core.images()
    }

    /// The current settings.
    #[must_use]
    pub fn settings(&self) -> Arc<Settings> {
        self.core.settings()
    }

    /// Replaces the settings. Requests already being served finish under the old ones.
    pub fn set(&self, settings: Settings) {
        self.core.set(settings);
    }

    /// The current time, by the clock that orders requests.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.core.now()
    }

    /// The policies of a network: the present one, the earlier ones, the one in its shadow, and its history.
    #[must_use]
    pub fn policies_of(&self, network: &NetworkName) -> Option<Served> {
        self.core.policies_of(network)
    }

    /// Lists at most `most` of a network's allocations made after the given one, in order. A large book is read in
    /// parts, so that no request waits for the whole listing.
    pub async fn list(&self, network: &NetworkName, after: Generation, most: usize) -> Vec<Listed> {
        self.core.list(network, after, most).await
    }

    /// A snapshot of a network's book. Later changes of the network do not show in it.
    pub async fn book(&self, network: &NetworkName) -> Option<Arc<Book>> {
        self.core.book(network).await
    }

    /// Waits until everything that the books contain is durable.
    ///
    /// # Errors
    /// `CheckpointFailed`.
    pub async fn settled(&self) -> Result<()> {
        self.core.settled().await
    }

    /// The names of the networks, in order.
    #[must_use]
    pub fn network_names(&self) -> Vec<NetworkName> {
        self.core.network_names()
    }

    /// Returns a loaded policy's abilities, grants and use.
    #[must_use]
    pub fn policy_details(&self, policy: &PolicyStamp) -> Option<Details> {
        self.core.policy_details(policy)
    }

    /// Why calls of a policy are refused on some networks, because it keeps failing there.
    #[must_use]
    pub fn benched(&self, policy: &PolicyStamp) -> Vec<String> {
        self.core.benched(policy)
    }

    /// The meters of the policies that serve networks.
    #[must_use]
    pub fn meters(&self) -> Vec<(PolicyStamp, Meter)> {
        self.core.meters()
    }

    /// The current load.
    #[must_use]
    pub fn load(&self) -> Load {
        self.core.load()
    }

    /// The list on which the daemon's parts set their conditions.
    #[must_use]
    pub fn conditions(&self) -> &Arc<Conditions> {
        self.core.conditions()
    }

    /// Fails while the state is lost: then the ledger is empty, or another's, and says nothing about who has which address. Nothing is
    /// answered from it, and nothing ends because of it.
    ///
    /// # Errors
    /// `NotReady`.
    pub fn has_state(&self) -> Result<()> {
        self.core.has_state()
    }
}
