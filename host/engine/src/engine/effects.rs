//! The effects outside the ledger, and the supply that they bring.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_ledger::Intent;
use tenure_types::{Attributes, Effect, Error, IntentId, NetworkName, Object, PoolName, Range, Result};

use super::Engine;
use crate::effects::begin::Begun;
use crate::effects::plan::{Outlook, Planned};
use crate::effects::supply::Supply;
use crate::network::demand::{Attending, Demand};
use crate::ports::Outside;

impl Engine {
    /// Announces an executor of a network's effects: requests of that network that find nothing yet wait from now on. The network need not
    /// exist yet.
    #[must_use]
    pub fn attend(&self, network: &NetworkName) -> Attending {
        self.effects.attend(network)
    }

    /// Frees what has cooled down in a network, and has requests that wait for its supply look again if there is an address to hand out.
    pub async fn wake_for_room(&self, network: &NetworkName) {
        self.effects.wake_for_room(network).await;
    }

    /// Why requests wait for a network's supply, in the words of the policy and of its last plan; `None` if none waits.
    #[must_use]
    pub fn why_waiting(&self, network: &NetworkName) -> Option<Error> {
        self.effects.why_waiting(network)
    }

    /// Notes why a network's supply does not grow, for the requests that wait for it, until the next plan.
    pub fn supply_lacks(&self, network: &NetworkName, why: &str) {
        self.effects.supply_lacks(network, why);
    }

    /// Notes the pools of a network for which its supplier has nothing, such as one of a family that it lacks: other pools serve in their place, and they
    /// do not count as exhausted.
    pub fn supplies_none(&self, network: &NetworkName, pools: BTreeSet<PoolName>) {
        self.effects.demands.supplies_none(network, pools);
    }

    /// The networks for whose supply requests wait.
    #[must_use]
    pub fn demands(&self) -> Vec<Demand> {
        self.effects.demands()
    }

    /// Begins effects that the host wants without a policy's plan. Each is judged by itself, as those of a plan are, and what has begun is
    /// durable when this returns, together with the drain of the ranges that it takes: no address of them is handed out between the
    /// check and the end of the intent.
    ///
    /// # Errors
    /// `UnknownNetwork`, those of an ADD while the ledger may not know of every owner, and those of the journal; nothing has begun then.
    pub async fn begin_effects(
        &self,
        network: &NetworkName,
        effects: Vec<Effect>,
        outside: &dyn Outside,
    ) -> Result<Begun> {
        self.effects.begin_effects(network, effects, outside).await
    }

    /// Has a network's policy plan, and begins what it may: each intent is durable when this returns, together with the
    /// drain of the ranges that it takes.
    ///
    /// # Errors
    /// `UnknownNetwork`, and whatever the policy fails with.
    pub async fn plan_effects(
        &self,
        network: &NetworkName,
        outlook: Outlook,
        outside: &dyn Outside,
    ) -> Result<Planned> {
        self.effects.plan_effects(network, outlook, outside).await
    }

    /// Has a network's policy plan, and begins nothing.
    ///
    /// # Errors
    /// As [`plan_effects`](Self::plan_effects).
    pub async fn explain_effects(
        &self,
        network: &NetworkName,
        outlook: Outlook,
        outside: &dyn Outside,
    ) -> Result<Planned> {
        self.effects.explain_effects(network, outlook, outside).await
    }

    /// Whether a network's policy plans. A policy that is not loaded yet does not.
    pub async fn plans(&self, network: &NetworkName) -> bool {
        self.effects.plans(network).await
    }

    /// The open intents, by id.
    #[must_use]
    pub fn intents(&self) -> Vec<Arc<Intent>> {
        self.effects.intents()
    }

    /// Lists the known objects outside, by kind and name.
    #[must_use]
    pub fn objects(&self) -> Vec<Arc<Object>> {
        self.effects.objects()
    }

    /// Keeps what the outside has answered to a step of an intent; durable when this returns.
    ///
    /// # Errors
    /// `Internal` if no such intent is open.
    pub async fn effect_reached(&self, id: &IntentId, reached: Attributes) -> Result<()> {
        self.effects.effect_reached(id, reached).await
    }

    /// Keeps what has been seen of the outside; durable when this returns. What is known already is not kept again. All is staged before
    /// any of it is waited for, so that one sync serves it.
    ///
    /// # Errors
    /// Those of the journal.
    pub async fn objects_seen(&self, objects: &[Object], gone: &[(String, String)]) -> Result<()> {
        self.effects.objects_seen(objects, gone).await
    }

    /// Ends an intent that was done, together with the ranges that it brought or took: both or neither, and durable when
    /// this returns. Whoever waits for supply looks again.
    ///
    /// # Errors
    /// `Internal` if no such intent is open, `InvalidConfig` if a pool cannot take a range.
    pub async fn effect_done(&self, id: &IntentId, changes: &[Supply]) -> Result<()> {
        self.effects.effect_done(id, changes).await
    }

    /// Ends an intent of which nothing is left outside. The ranges that it was to take are handed out again.
    ///
    /// # Errors
    /// `Internal` if no such intent is open.
    pub async fn effect_undone(&self, id: &IntentId, why: &str) -> Result<()> {
        self.effects.effect_undone(id, why).await
    }

    /// Checks ranges that the host might supply to a network, as [`supply`](Self::supply) would check their bounds then.
    ///
    /// # Errors
    /// `OutOfBounds`.
    pub fn check_bounds(&self, network: &NetworkName, ranges: &[Range]) -> Result<()> {
        self.effects.check_bounds(network, ranges.iter())
    }

    /// Changes the ranges that the host supplies to a network, all changes or none; durable when this returns.
    ///
    /// # Errors
    /// `UnknownNetwork`, `OutOfBounds`, and `InvalidConfig` when a pool cannot take a range, or when an open intent takes it
    /// away.
    pub async fn supply(&self, network: &NetworkName, changes: &[Supply]) -> Result<()> {
        self.effects.supply(network, changes).await
    }
}
