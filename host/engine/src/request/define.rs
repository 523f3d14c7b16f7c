//! Bringing a network in line with the configuration of a request.

use std::sync::Arc;

use tenure_ledger::{Book, Chooser};
use tenure_types::{Definer, DelegateName, Moment, Network, NetworkConfig, NetworkName, PolicyName, Result};

use crate::core::strikes::Requester;
use crate::engine::Engine;
use crate::import::gate::ExpectedSource;
use crate::network::bounds::ConfiguredNetwork;
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

/// A delegate, and what it is asked with.
#[derive(Debug, Clone)]
pub(crate) struct AskedDelegate {
    pub(crate) delegate: DelegateName,
    /// The `ipam` object.
    pub(crate) ipam: Arc<str>,
}

impl Engine {
    /// The delegate that an ADD with a caller's configuration would ask; `None` if the addresses are not a delegate's, or the ADD would be refused.
    pub(crate) fn delegate_for(&self, caller: CallerConfig<'_>) -> Option<AskedDelegate> {
        let ExpectedSource { delegate, config } = self.would_serve(caller);
        Some(AskedDelegate { delegate: delegate?, ipam: config.ipam.as_str().into() })
    }

    /// The definition of a network that no request can change, because tenured.toml or an operator has made it. Not for what is called
    /// with the network's state, such as an ADD's `fits`, where this would wait for itself.
    #[must_use]
    pub fn fixed_definition(&self, name: &NetworkName) -> Option<Arc<NetworkConfig>> {
        let network = self.present_network(name)?;
        let is_fixed = self.core.is_fixed(&self.core.bounds(), name, Some(&network));
        is_fixed.is_ok_and(|is_fixed| is_fixed).then(|| Arc::clone(&network.config))
    }

    fn present_network(&self, name: &NetworkName) -> Option<Arc<Network>> {
        let slot = self.core.networks.get(name)?;
        Some(Arc::clone(slot.state().as_ref()?.book.network()))
    }

    /// By what an ADD with a caller's configuration would be served. What the caller names does not count for a network that tenured.toml or an
    /// operator has defined, or whose policy an operator has chosen.
    pub(crate) fn would_serve(&self, caller: CallerConfig<'_>) -> ExpectedSource {
        let CallerConfig { network: name, policy, config } = caller;
        let bounds = self.core.bounds();
        let network = self.present_network(name);
        let choice = self.core.committer.choice(name).filter(|_| network.is_some());
        let is_configured = bounds.is_configured(name);
        let is_fixed = network.as_ref().is_some_and(|of| is_configured || of.defined_by != Definer::Request);
        let (policy, config) = match bounds.configured(name).filter(|_| network.is_none()) {
            // It is being defined.
            Some(ConfiguredNetwork { policy, config }) => (policy, config),
            None => (policy, config),
        };
        let delegate = match &choice {
            Some(choice) if is_fixed || choice.by.overrides() || choice.policy.name == *policy => {
                choice.policy.name.delegate()
            }
            _ => {
                let checked = bounds.check_policy(name, policy);
                let named = checked.and_then(|()| self.exchange.named(name, policy, config, choice.as_ref()));
                named.ok().and_then(|policy| policy.delegate().cloned())
            }
        };
        let own = network.filter(|_| is_fixed);
        let config = own.as_ref().map_or(config, |network| &network.config);
        ExpectedSource { delegate, config: Arc::clone(config) }
    }

    /// Refuses a new owner while another IPAM has addresses of the network that the ledger does not account for: by what would serve the owner, no
    /// matter what the caller names. The caller has the network's turn, if the network exists.
    pub(crate) async fn admits_beside_others(&self, caller: CallerConfig<'_>) -> Result<()> {
        let source = self.would_serve(caller);
        self.imports.admits_beside_others(caller.network, Some(source)).await
    }

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
