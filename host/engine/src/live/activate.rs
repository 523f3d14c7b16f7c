//! Activating a policy on a live network, and promoting the one in its shadow.

use std::sync::Arc;

use tenure_ledger::{Chooser, StepKind};
use tenure_types::{Error, ErrorCode, NetworkName, PolicySelector, Result};

use super::conformance::conformance;
use super::vetted::Passed;
use crate::engine::Engine;
use crate::ports::{Policy, on_trial};
use crate::redefine::{Redefined, Wanted};

/// How many requests a shadow run must have compared before its policy can be promoted.
const ENOUGH: u64 = 16;

/// Who exchanges a policy, and why.
pub(super) struct Reason {
    pub(super) by: Chooser,
    /// In words; may be empty.
    pub(super) why: String,
}

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
            let policy = self.obtained(network, &activate.policy).await?;
            if !activate.unchecked {
                self.check_conformance(network, &policy).await?;
            }
            let reason = Reason { by: Chooser::Operator, why: "activated by an operator".to_owned() };
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
            let shadow = shadow
                .ok_or_else(|| inconclusive(format_args!("no policy runs in the shadow of network {network}")))?;
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
            let reason = Reason { by: Chooser::Operator, why };
            self.put_into_service(network, policy, reason, change_ranges, false).await
        })
        .await
    }

    /// Loads the policy that an operator means, for a network that exists.
    pub(super) async fn obtained(
        &self,
        network: &NetworkName,
        policy: &PolicySelector,
    ) -> Result<Arc<dyn Policy>> {
        self.networks.known(network).ok_or_else(|| Self::unknown_network(network))?;
        // Loading may compile, so it happens before the network's turn: the network keeps serving meanwhile.
        let stamp = self.ports.catalogue.resolve(policy)?;
        let loaded = self.ports.catalogue.load(&stamp).await;
        if let Err(error) = &loaded {
            self.note(network, StepKind::Refused, &stamp, &error.cause);
        }
        loaded
    }

    /// Runs the conformance suite with the network's own configuration, beside the requests, unless the policy has passed with
    /// that.
    pub(super) async fn check_conformance(
        &self,
        network: &NetworkName,
        policy: &Arc<dyn Policy>,
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
        self.note(network, StepKind::Refused, stamp, &why);
        Err(Error::new(ErrorCode::PolicyNonconforming, why))
    }

    /// Exchanges the policy of a network that exists; one that is refused is noted.
    pub(super) async fn put_into_service(
        &self,
        name: &NetworkName,
        policy: Arc<dyn Policy>,
        Reason { by, why }: Reason,
        change_ranges: bool,
        empty_state: bool,
    ) -> Result<Redefined> {
        let slot = self.networks.known(name).ok_or_else(|| Self::unknown_network(name))?;
        let alone = slot.alone().await;
        let before = alone.state().as_ref().map(|served| Arc::clone(served.book.network()));
        let before = before.ok_or_else(|| Self::unknown_network(name))?;
        let stamp = Arc::clone(policy.stamp());
        let (config, definer) = (Arc::clone(&before.config), before.defined_by);
        let wanted = Wanted { policy, by, why, empty_state, config, definer };
        let exchanged = self.exchange(alone, name, wanted, change_ranges).await;
        if let Err(error) = &exchanged {
            self.note(name, StepKind::Refused, &stamp, &error.cause);
        }
        self.free_policies();
        exchanged
    }
}
