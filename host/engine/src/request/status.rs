//! STATUS: whether an ADD with a configuration would be served. Each lasting reason for which it would fail is found without making one.

use std::sync::Arc;

use tenure_ledger::{Book, Chooser};
use tenure_types::{Definer, Error, ErrorCode, NetworkConfig, NetworkName, PolicyName, Result};

use super::define::CallerConfig;
use crate::core::strikes::Requester;
use crate::engine::Engine;
use crate::engine::conditions::{exhausted, unavailable};
use crate::network::redefine::Wanted;

impl Engine {
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
        self.core.observed("status", network, None, self.serve_status(network, policy, config)).await
    }

    async fn serve_status(
        &self,
        name: &NetworkName,
        policy: &PolicyName,
        config: &Arc<NetworkConfig>,
    ) -> Result<()> {
        let named = |error: Error| unavailable(format_args!("{}: {error}", error.code));
        self.readiness().map_err(named)?;
        if let Some(slot) = self.core.networks.get(name) {
            self.imports.admits_beside_moves(slot.state().as_ref()).map_err(named)?;
        }
        self.admits_beside_others(CallerConfig { network: name, policy, config }).await.map_err(named)?;
        // Find the policy that an ADD would use, and whether it would redefine the network.
        let bounds = self.core.bounds();
        let book = self.core.book(name).await;
        let (policy, by, is_same, ipam) = {
            let choice = self.core.committer.choice(name).filter(|_| book.is_some());
            let network = book.as_ref().map(|book| book.network());
            let is_fixed = self.core.is_fixed(&bounds, name, network).map_err(named)?;
            let by = choice.as_ref().map_or(Chooser::Configuration, |choice| choice.by);
            let found = match choice.as_ref().filter(|_| is_fixed || by.overrides()) {
                Some(choice) => self.core.ports.catalogue.find_pinned(&choice.policy),
                None => self.exchange.named(name, policy, config, choice.as_ref()),
            };
            let policy = found.map_err(|error| match error.code {
                ErrorCode::PolicyUnloadable | ErrorCode::PolicyNonconforming | ErrorCode::Preparing => {
                    named(error)
                }
                _ => error,
            })?;
            let is_same = network.is_some_and(|network| is_fixed || network.config == *config)
                && choice.is_some_and(|choice| choice.policy == **policy.stamp());
            let own = network.filter(|_| is_fixed).map(|network| network.config.ipam.clone());
            (policy, by, is_same, own.unwrap_or_else(|| config.ipam.clone()))
        };
        self.core
            .strikes
            .check(&Requester::Node, name, policy.stamp(), self.core.ports.clock.monotonic())
            .map_err(named)?;
        if let Some(delegate) = policy.delegate() {
            self.delegates.status_of_delegate(name, delegate, &ipam).await.map_err(named)?;
        }
        match book.as_deref() {
            Some(book) if is_same => {
                self.core.check_book(&bounds, book).map_err(named)?;
                // A network that is full for good has its condition: code 50 would take all pods of the node out of their Services.
                let is_supplying = self.effects.demands.is_attended(name);
                let full = exhausted(book, &self.core.kept_pools(), is_supplying);
                full.map_or(Ok(()), |message| Err(unavailable(message)))
            }
            present => {
                let (config, why) = (Arc::clone(config), String::new());
                let (definer, requester) = (Definer::Request, Requester::Node);
                let mut wanted =
                    Wanted { policy, by, why, watch: true, empty_state: false, config, definer, requester };
                self.would_define(name, present, &wanted).await?;
                self.core.would_inherit(book.clone(), name, &mut wanted).await.map(drop).map_err(named)
            }
        }
    }

    /// Fails if the definition that an ADD would bring about is refused, or leaves no address for it.
    async fn would_define(&self, name: &NetworkName, book: Option<&Book>, wanted: &Wanted) -> Result<()> {
        let named = |error: Error| unavailable(format_args!("{}: {error}", error.code));
        if book.is_none() {
            self.core.networks.check_room(name).map_err(named)?;
        }
        let definition = self.core.defined(name, wanted).await?;
        self.core
            .check_exclusive(name, definition.pools.iter().flat_map(|pool| &pool.ranges))
            .map_err(named)?;
        let mut draft = book.map_or_else(|| Book::empty(name), Book::clone);
        for fact in self.core.ledger_facts(&draft, wanted, &definition)? {
            self.core.committer.try_out(&mut draft, &fact)?;
        }
        // Who supplies a network attends to it once it is defined.
        match exhausted(&draft, &self.core.kept_pools(), true) {
            Some(message) => Err(unavailable(message)),
            None => Ok(()),
        }
    }
}
