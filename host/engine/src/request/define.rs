//! Bringing a network in line with the configuration of a request.

use std::sync::Arc;

use tenure_ledger::{Book, Chooser};
use tenure_types::{Definer, Moment, NetworkConfig, NetworkName, PolicyName, Result};

use crate::core::strikes::Requester;
use crate::engine::Engine;
use crate::network::redefine::Wanted;
use crate::network::slot::{Alone, no_book};
use crate::ports::Policy;

/// The configuration that came with a request.
#[derive(Clone, Copy)]
pub(crate) struct CallerConfig<'a> {
    pub(crate) network: &'a NetworkName,
    /// The policy that it names.
    pub(crate) policy: &'a PolicyName,
    pub(crate) config: &'a Arc<NetworkConfig>,
}

impl Engine {
    /// Brings a network in line with a caller's configuration, which names a policy: creates it on first use, and redefines it when the
    /// configuration or the policy changed.
    ///
    /// Returns the policy that serves the network, and the book to pass to it.
    pub(crate) async fn define(
        &self,
        alone: &Alone<'_>,
        caller: CallerConfig<'_>,
        now: Moment,
    ) -> Result<(Arc<dyn Policy>, Arc<Book>)> {
        let CallerConfig { network: name, policy, config } = caller;
        let bounds = self.core.bounds();
        let (policy, by, up_to_date) = {
            let state = alone.state();
            let choice = self.core.committer.choice(name).filter(|_| state.is_some());
            let network = state.as_ref().map(|served| served.book.network());
            // A caller's configuration never changes a network that tenured.toml or an operator has defined.
            let is_fixed = self.core.is_fixed(&bounds, name, network)?;
            let by = choice.as_ref().map_or(Chooser::Configuration, |choice| choice.by);
            let policy = match (&*state, &choice) {
                (Some(served), Some(choice)) if is_fixed || by.overrides() => {
                    self.core.policy_of(served, choice)?
                }
                _ => self.exchange.named(name, policy, config, choice.as_ref())?,
            };
            let is_same = network.is_some_and(|network| is_fixed || network.config == *config)
                && choice.is_some_and(|choice| choice.policy == **policy.stamp());
            (policy, by, is_same)
        };
        let mut wanted = Wanted {
            policy: Arc::clone(&policy),
            by,
            why: String::new(),
            watch: true,
            empty_state: false,
            config: Arc::clone(config),
            definer: Definer::Request,
            requester: Requester::Node,
        };
        if up_to_date {
            self.core.check_within(alone, &bounds)?;
        } else {
            let definition = self.core.defined(name, &wanted).await?;
            let inherited = self.core.inherited(alone, name, &mut wanted).await?;
            let defining = self.core.defining();
            // No need to wait for the ticket: the grant is staged after it, so its own ticket covers both.
            drop(self.core.redefine(&defining, &mut alone.state(), name, &wanted, &definition, inherited)?);
        }
        self.claims.restore_claims(alone, name, now)?;
        let mut state = alone.state();
        let served = state.as_mut().ok_or_else(no_book)?;
        served.policy = Some(Arc::clone(&policy));
        self.core.expire(served, now);
        Ok((policy, Arc::clone(&served.book)))
    }
}
