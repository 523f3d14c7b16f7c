//! Intents as orders, once what they need is known.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_ledger::Intent;

use super::core::AwsCore;
use crate::names;
use crate::seen::SeenStanding;
use crate::steps::{IntentMemory, IntentOrder, IntentProgress, Making, StepFacts, WrongIntent};

impl AwsCore {
    /// Reads an intent; waits until EC2 has said what the node and its zone have.
    pub(super) async fn order(&self, intent: &Intent) -> Result<IntentOrder, WrongIntent> {
        loop {
            if let Some(book) = self.tools.book().await {
                let situation = self.situation_of(&book);
                // An intent of a time at which EC2 could be called waits until it may be called again.
                let may_call = !situation.settings.imds_only && !situation.subnets.is_empty();
                if let Some(primary) = situation.seen.primary().filter(|_| may_call) {
                    let custom = situation.node.custom.as_ref().filter(|_| situation.settings.custom_network);
                    let own =
                        custom.map(|custom| custom.groups.as_slice()).filter(|groups| !groups.is_empty());
                    let making = Making {
                        instance: &self.config.instance,
                        subnet: Some(custom.map_or(primary.subnet.as_str(), |custom| custom.subnet.as_str())),
                        groups: own.unwrap_or(&primary.groups),
                        settings: &situation.settings,
                    };
                    return IntentOrder::of(intent, &making, &book);
                }
            }
            self.tools.sleep(Duration::from_secs(1)).await;
        }
    }

    /// Collects the facts that an order's next step depends on.
    pub(super) async fn facts(
        &self,
        order: &IntentOrder,
        reached: &IntentProgress,
        memory: &IntentMemory,
    ) -> StepFacts {
        let book = self.tools.book().await;
        let (now, state) = (self.now(), self.state());
        let attached = state.seen.interfaces().filter_map(|(_, known)| known.facts.as_ref());
        let places = attached.filter_map(|facts| facts.attachment.as_ref());
        let mut devices: BTreeSet<u32> =
            places.filter(|attachment| attachment.card == 0).map(|attachment| attachment.device).collect();
        let others = state.devices.iter().filter(|(id, _)| **id != order.id);
        devices.extend(others.map(|(_, device)| *device));
        let interface = order.interface().or(reached.interface.as_deref()).unwrap_or_default();
        let known = state.seen.get(interface);
        let shown = known.and_then(|known| known.facts.as_ref());
        let mac = memory.mac().or(shown.map(|facts| facts.mac.as_str())).map(str::to_owned);
        let is_sure = state.seen.standing(interface) == Some(SeenStanding::Confirmed);
        let attachment = shown.filter(|_| is_sure).and_then(|facts| facts.attachment.as_ref());
        let attachment = attachment.map(|attachment| attachment.id.clone());
        let mut carries: Vec<_> = known.into_iter().flat_map(|known| known.carries.keys().copied()).collect();
        // A describe may still show it, so it is nothing new.
        carries.extend(state.seen.just_taken(interface, now));
        let wait = |call| Some(state.budget.blocked(call, None, now)?.until.saturating_sub(now));
        let [detaches_in, deletes_in] = names::REMOVING.map(wait);
        drop(state);
        if let Some(book) = book {
            carries.extend(self.situation_of(&book).ledger_of(interface, &book));
        }
        carries.sort_unstable();
        carries.dedup();
        let has_link = mac.and_then(|mac| self.witness.has_link(&mac));
        let wall = self.tools.clock.now().wall_ms / 1000;
        let window = self.config.window;
        StepFacts { now, window, devices, carries, wall, has_link, attachment, detaches_in, deletes_in }
    }
}
