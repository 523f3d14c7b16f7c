//! Policies and networks, as operators and the daemon's parts change them.

use std::time::Duration;

use tenure_ledger::states::Memory;
use tenure_ledger::{Component, PolicyState};
use tenure_types::{NetworkName, PolicyName, PolicySelector, PolicyStamp, Result};

use super::Engine;
use crate::exchange::activate::Activate;
use crate::exchange::changed::Changed;
use crate::exchange::components::Loaded;
use crate::exchange::define::Define;
use crate::exchange::replace_state::ReplaceState;
use crate::exchange::run::ShadowReport;
use crate::network::redefine::Redefined;
use crate::ports::{CatalogueEntry, Offered};

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
        self.exchange.activate(activate).await
    }

    /// Exchanges a version of a policy on each network that another version of the same name serves: each must pass the
    /// conformance suite there, must not change the ranges, is watched and rolled back as after
    /// [`activate`](Self::activate). A version that a network was rolled back from is not applied there again.
    ///
    /// # Errors
    /// `PolicyUnloadable`, and `PolicyNonconforming` when it fails the suite on a network made up for it.
    pub async fn apply_changed(&self, policy: &PolicyStamp) -> Result<Changed> {
        self.exchange.apply_changed(policy).await
    }

    /// The version of a policy that has served a network last, and that the node therefore has a copy of.
    #[must_use]
    pub fn last_version(&self, policy: &PolicyName) -> Option<PolicyStamp> {
        self.exchange.last_version(policy)
    }

    /// The networks that another version of a policy serves.
    #[must_use]
    pub fn behind(&self, policy: &PolicyStamp) -> Vec<NetworkName> {
        self.exchange.behind(policy)
    }

    /// The version of the same policy that networks were rolled back to from this one, if no network serves this one.
    #[must_use]
    pub fn given_up_for(&self, policy: &PolicyStamp) -> Option<PolicyStamp> {
        self.exchange.given_up_for(policy)
    }

    /// The catalogue's policies and their state.
    #[must_use]
    pub fn policies(&self) -> Vec<CatalogueEntry> {
        self.exchange.policies()
    }

    /// Takes in a component: checks its digest and signature, keeps a copy, compiles it and gives it a name; durable when
    /// this returns. No network is exchanged: one that another version serves keeps it until an operator activates this one.
    ///
    /// # Errors
    /// `PolicyUntrusted`, `PolicyUnloadable`, `TooManyPolicies`, `OutOfBounds` for a name that the daemon's configuration
    /// has, and the checkpoint's.
    pub async fn load_policy(&self, offered: Offered) -> Result<Loaded> {
        self.exchange.load_policy(offered).await
    }

    /// Unloads a policy: its name no longer stands for it. Durable when this returns.
    ///
    /// # Errors
    /// `UnknownPolicy` when nothing like it was loaded, `PolicyInUse` when it serves or shadows a network, and the
    /// checkpoint's.
    pub async fn unload_policy(&self, selector: &PolicySelector) -> Result<PolicyStamp> {
        self.exchange.unload_policy(selector).await
    }

    /// Frees the loaded policies that no network uses, has used just before, or can name.
    pub fn free_policies(&self) {
        self.exchange.free_policies();
    }

    /// The loaded policies, in the order in which they were loaded.
    #[must_use]
    pub fn components(&self) -> Vec<Component> {
        self.exchange.components()
    }

    /// Defines or redefines a network for an operator or for the daemon's configuration; durable when this returns. A
    /// dry run returns what would change.
    ///
    /// # Errors
    /// `UnknownPolicy`, `PolicyUnloadable`, `OutOfBounds`, `RangesWouldChange` and the policy's own errors about the
    /// configuration; `NotReady` while an operator's policy is being compiled.
    pub async fn define_network(&self, define: &Define) -> Result<Redefined> {
        self.exchange.define_network(define).await
    }

    /// Hands a network over to the operator unchanged, after it was dropped from the daemon's configuration; durable
    /// when this returns. Does nothing to a network that the configuration has not defined.
    ///
    /// # Errors
    /// `CheckpointFailed` and `DiskFull`.
    pub async fn leave_to_operator(&self, name: &NetworkName) -> Result<()> {
        self.exchange.leave_to_operator(name).await
    }

    /// Makes the policy in a network's shadow serve it; as [`activate`](Self::activate).
    ///
    /// # Errors
    /// As [`activate`](Self::activate); `ShadowInconclusive` when the shadow has failed a request, or, unless `now` is set, has
    /// not compared enough of them or refused too many.
    pub async fn promote(
        &self,
        network: &NetworkName,
        change_ranges: bool,
        now: bool,
        why: &str,
    ) -> Result<Redefined> {
        self.exchange.promote(network, change_ranges, now, why).await
    }

    /// The states of a network; `None` if no policy has kept one. Waits for a request that is just changing them.
    ///
    /// # Errors
    /// `UnknownNetwork`.
    pub async fn states_of(&self, network: &NetworkName) -> Result<Option<Memory>> {
        self.exchange.states_of(network).await
    }

    /// Replaces the state of a network's policy; durable when this returns.
    ///
    /// # Errors
    /// `UnknownNetwork`; `StateNotKept` when the network's policy keeps no state, or the state is too long; `StateChanged`
    /// when it has another version than `if_version`; and the checkpoint's.
    pub async fn replace_state(&self, replace: &ReplaceState) -> Result<PolicyState> {
        self.exchange.replace_state(replace).await
    }

    /// Makes the policy before the present one serve a network again; durable when this returns. Its ranges return with
    /// it.
    ///
    /// # Errors
    /// `UnknownNetwork`, `NotReady` while the policy before is being compiled, `NothingBefore` when the network has had no other policy, and those of
    /// [`activate`](Self::activate).
    pub async fn roll_back(&self, network: &NetworkName, why: &str) -> Result<Redefined> {
        self.roll_back_to(network, None, why).await
    }

    /// The same for an earlier policy; without one, the policy before the present one.
    ///
    /// # Errors
    /// As [`roll_back`](Self::roll_back); `NothingBefore` also when the network has not had that policy, as far as the node remembers.
    pub async fn roll_back_to(
        &self,
        network: &NetworkName,
        to: Option<&PolicySelector>,
        why: &str,
    ) -> Result<Redefined> {
        self.exchange.roll_back(network, to, why).await
    }

    /// Begins a shadow run; durable when this returns. A policy that runs in the network's shadow already is replaced.
    ///
    /// # Errors
    /// As [`activate`](Self::activate).
    pub async fn shadow(
        &self,
        network: &NetworkName,
        policy: &PolicySelector,
        why: &str,
    ) -> Result<PolicyStamp> {
        self.exchange.shadow(network, policy, why).await
    }

    /// Ends a network's shadow run; durable when this returns. Returns whether there was one.
    ///
    /// # Errors
    /// `UnknownNetwork`, and the checkpoint's.
    pub async fn end_shadow(&self, network: &NetworkName, why: &str) -> Result<bool> {
        self.exchange.end_shadow(network, why).await
    }

    /// The state of a network's shadow run; `None` if there is none.
    #[must_use]
    pub fn shadow_report(&self, network: &NetworkName) -> Option<ShadowReport> {
        self.exchange.shadow_report(network)
    }

    /// Does what is due, and returns how long to wait before the next call, unless [`due`](Self::due) ends sooner; `None` while no policy
    /// is watched or shadows another.
    pub async fn tend(&self) -> Option<Duration> {
        self.exchange.tend().await
    }

    /// Waits until there may be something to do.
    pub async fn due(&self) {
        self.exchange.due().await;
    }

    /// Makes the next check that waits; returns whether there was one.
    pub async fn make_check(&self) -> bool {
        self.exchange.make_check().await
    }

    /// Checks again what has not passed, and what is activated: what policies may use has changed.
    pub fn check_again(&self) {
        self.exchange.check_again();
    }

    /// Waits until there may be a check to make.
    pub async fn check_due(&self) {
        self.exchange.check_due().await;
    }
}
