//! Activating a policy on a live network, and promoting the one in its shadow.

use std::sync::Arc;

use tenure_ledger::Chooser;
use tenure_ledger::choices::Shadow;
use tenure_types::{Error, ErrorCode, NetworkName, PolicySelector, Result};

use super::conformance::conformance;
use super::vetted::Passed;
use super::words::shortened;
use crate::engine::Engine;
use crate::ports::{Policy, on_trial};
use crate::redefine::{Redefined, Wanted};
use crate::strikes::Requester;

/// How many requests a shadow run must have compared before its policy can be promoted.
const ENOUGH: u64 = 16;

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

impl Engine {
    /// Replaces a network's policy; durable when this returns. Returns the policies before and after.
    ///
    /// Requests in progress finish on the old policy. Nothing changes when the new policy does not load, does not pass
    /// the conformance suite, rejects the network's configuration, cannot take over its state, would change the ranges
    /// without `change_ranges`, or when the exchange cannot be made durable.
    ///
    /// # Errors
    /// `UnknownNetwork`, `UnknownPolicy`, `PolicyUnloadable`, `PolicyNonconforming`, `OutOfBounds`,
    /// `StateNotMigrated`, `RangesWouldChange`, the policy's own errors about the configuration, and the checkpoint's.
    pub async fn activate(&self, activate: &Activate) -> Result<Redefined> {
        let network = &activate.network;
        self.observed("activate", network, None, async {
            let policy = self.obtained(network, &activate.policy, ACTIVATION).await?;
            if !activate.unchecked {
                self.check_conformance(network, &policy, ACTIVATION).await?;
            }
            let why = match activate.reason.as_str() {
                "" => "activated by an operator".to_owned(),
                reason => shortened(&format!("activated by an operator: {reason}")),
            };
            let reason = Reason { by: Chooser::Operator, why, shadow: None, asked: ACTIVATION };
            let Activate { change_ranges, empty_state, .. } = *activate;
            self.put_into_service(network, policy, reason, change_ranges, empty_state).await
        })
        .await
    }

    /// Makes the policy in a network's shadow serve it; as [`activate`](Self::activate).
    ///
    /// # Errors
    /// As [`activate`](Self::activate); `ShadowInconclusive` when the shadow has failed a request, or has not compared
    /// enough of them and `now` is not set.
    pub async fn promote(&self, network: &NetworkName, change_ranges: bool, now: bool) -> Result<Redefined> {
        self.observed("promote", network, None, async {
            let shadow = self.served(network)?.shadow;
            let inconclusive = |why: std::fmt::Arguments<'_>| Error::new(ErrorCode::ShadowInconclusive, why);
            let shadow = shadow.ok_or_else(|| no_shadow(network))?;
            let verdicts = self.shadow_report(network).map(|report| report.verdicts).unwrap_or_default();
            let (compared, failed) = (verdicts.compared(), verdicts.failed);
            if failed > 0 {
                return Err(inconclusive(format_args!(
                    "policy {} failed {failed} of {compared} requests in the shadow of network {network}",
                    shadow.policy
                )));
            }
            if compared < ENOUGH && !now {
                return Err(inconclusive(format_args!(
                    "policy {} has been compared on {compared} requests of network {network}; promoting it takes {ENOUGH}",
                    shadow.policy
                )));
            }
            let policy = self.ports.catalogue.load(&shadow.policy).await?;
            let others = verdicts.other_address + verdicts.other_refusal;
            let why = format!(
                "promoted from the shadow by an operator: {compared} requests compared, {others} decided differently"
            );
            let asked = "promotion by an operator";
            let reason = Reason { by: Chooser::Operator, why, shadow: Some(shadow), asked };
            self.put_into_service(network, policy, reason, change_ranges, false).await
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
        self.networks.known(network).ok_or_else(|| Self::unknown_network(network))?;
        // Loading may compile, so it happens before the network's turn: the network keeps serving meanwhile.
        let stamp = self.ports.catalogue.resolve(policy)?;
        let loaded = self.ports.catalogue.load(&stamp).await;
        if let Err(error) = &loaded {
            self.note_refused(network, &stamp, asked, &error.cause);
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
        let unknown = || Self::unknown_network(network);
        let config = self.networks.get(network).ok_or_else(unknown)?;
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
        self.note_refused(network, stamp, asked, &why);
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
        let slot = self.networks.known(name).ok_or_else(|| Self::unknown_network(name))?;
        let alone = slot.alone().await;
        if shadow.is_some() && self.served(name)?.shadow != shadow {
            return Err(no_shadow(name));
        }
        let before = alone.state().as_ref().map(|served| Arc::clone(served.book.network()));
        let before = before.ok_or_else(|| Self::unknown_network(name))?;
        let stamp = Arc::clone(policy.stamp());
        let (config, definer) = (Arc::clone(&before.config), before.defined_by);
        let requester = Requester::Operator;
        let wanted = Wanted { policy, by, why, empty_state, config, definer, requester };
        let exchanged = self.exchange(alone, name, wanted, change_ranges).await;
        if let Err(error) = &exchanged {
            self.note_refused(name, &stamp, asked, &error.cause);
        }
        self.free_policies();
        exchanged
    }
}

fn no_shadow(network: &NetworkName) -> Error {
    let cause = format_args!("no policy runs in the shadow of network {network}");
    Error::new(ErrorCode::ShadowInconclusive, cause)
}
