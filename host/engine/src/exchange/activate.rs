//! Activating a policy on a live network, and promoting the one in its shadow.

use std::sync::Arc;

use tenure_ledger::Chooser;
use tenure_ledger::choices::Shadow;
use tenure_types::{Error, ErrorCode, NetworkName, PolicySelector, Result};

use super::PolicyExchange;
use super::conformance::conformance;
use super::vetted::Passed;
use crate::core::strikes::Requester;
use crate::network::networks::unknown_network;
use crate::network::redefine::{Redefined, Wanted};
use crate::policy::words::explained;
use crate::ports::{Policy, on_trial};

/// The author of an exchange, and the reason.
pub(super) struct Reason {
    pub(super) by: Chooser,
    /// In words; may be empty.
    pub(super) why: String,
    /// The shadow run that this ends. It must still be there in the network's turn: of two promotions, one has promoted nothing.
    pub(super) shadow: Option<Shadow>,
    /// Requester and request, for the history if it is refused.
    pub(super) asked: &'static str,
}

const ACTIVATION: &str = "activation by an operator";

/// A policy to activate.
#[derive(Debug, Clone)]
pub struct Activate {
    /// The network.
    pub network: NetworkName,
    /// The policy.
    pub policy: PolicySelector,
    /// Whether the network's ranges may change.
    pub change_ranges: bool,
    /// Whether the conformance suite is skipped.
    pub unchecked: bool,
    /// Whether the policy begins with an empty state, instead of that of the policy before.
    pub empty_state: bool,
    /// The operator's reason, for the history; may be empty.
    pub reason: String,
}

impl PolicyExchange {
    /// Serves [`Engine::activate`](crate::Engine::activate).
    pub(crate) async fn activate(&self, activate: &Activate) -> Result<Redefined> {
        let network = &activate.network;
        self.core
            .observed("activate", network, None, async {
                let policy = self.obtained(network, &activate.policy, ACTIVATION).await?;
                if !activate.unchecked {
                    self.check_conformance(network, &policy, ACTIVATION).await?;
                }
                let why = explained("activated by an operator", &[&activate.reason]);
                let reason = Reason { by: Chooser::Operator, why, shadow: None, asked: ACTIVATION };
                let Activate { change_ranges, empty_state, .. } = *activate;
                self.put_into_service(network, policy, reason, change_ranges, empty_state).await
            })
            .await
    }

    /// Loads the policy that an operator means, for a network that exists.
    pub(super) async fn obtained(
        &self,
        network: &NetworkName,
        policy: &PolicySelector,
        asked: &'static str,
    ) -> Result<Arc<dyn Policy>> {
        self.core.networks.known(network).ok_or_else(|| unknown_network(network))?;
        // Loading may compile, so it happens before the network's turn: the network keeps serving meanwhile.
        let stamp = self.core.ports.catalogue.resolve(policy)?;
        let loaded = self.core.ports.catalogue.load(&stamp).await;
        if let Err(error) = &loaded {
            self.core.note_refused(network, &stamp, asked, &error.cause);
        }
        loaded
    }

    /// Runs the conformance suite with the network's own configuration, beside the requests, unless the policy has passed with
    /// that.
    pub(super) async fn check_conformance(
        &self,
        network: &NetworkName,
        policy: &Arc<dyn Policy>,
        asked: &'static str,
    ) -> Result<()> {
        let unknown = || unknown_network(network);
        let config = self.core.networks.get(network).ok_or_else(unknown)?;
        let config = config
            .state()
            .as_ref()
            .map(|served| Arc::clone(&served.book.network().config))
            .ok_or_else(unknown)?;
        let stamp = policy.stamp();
        let passed =
            Passed { policy: Arc::clone(stamp), network: network.clone(), config: Arc::clone(&config) };
        if self.vetting.has_passed(&passed) {
            return Ok(());
        }
        let outcome = conformance(on_trial(Arc::clone(policy)).as_ref(), network, &config).await;
        let Some(failure) = outcome.failure else {
            if outcome.skipped.is_none() {
                self.vetting.pass(passed);
            }
            return Ok(());
        };
        let why = format!("policy {stamp} does not pass the conformance suite: {failure}");
        self.core.note_refused(network, stamp, asked, &why);
        Err(Error::new(ErrorCode::PolicyNonconforming, why))
    }

    /// Exchanges the policy of a network that exists; one that is refused is noted.
    pub(super) async fn put_into_service(
        &self,
        name: &NetworkName,
        policy: Arc<dyn Policy>,
        Reason { by, why, shadow, asked }: Reason,
        change_ranges: bool,
        empty_state: bool,
    ) -> Result<Redefined> {
        let slot = self.core.networks.known(name).ok_or_else(|| unknown_network(name))?;
        let alone = slot.alone().await;
        if shadow.is_some() && self.core.served(name)?.shadow != shadow {
            return Err(no_shadow(name));
        }
        let before = alone.state().as_ref().map(|served| Arc::clone(served.book.network()));
        let before = before.ok_or_else(|| unknown_network(name))?;
        let stamp = Arc::clone(policy.stamp());
        let (config, definer) = (Arc::clone(&before.config), before.defined_by);
        let requester = Requester::Operator;
        let wanted = Wanted { policy, by, why, watch: true, empty_state, config, definer, requester };
        let exchanged = self.exchange(alone, name, wanted, change_ranges).await;
        if let Err(error) = &exchanged {
            self.core.note_refused(name, &stamp, asked, &error.cause);
        }
        self.free_policies();
        exchanged
    }
}

pub(super) fn no_shadow(network: &NetworkName) -> Error {
    let cause = format_args!("no policy runs in the shadow of network {network}");
    let next_step = format!("start a shadow run with `tenurectl policy shadow {network} POLICY`");
    Error::new(ErrorCode::ShadowInconclusive, cause).to_be_solved_by(next_step)
}
