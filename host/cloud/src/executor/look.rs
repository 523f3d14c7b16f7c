//! Looking at EC2, and making the ledger's supply agree with what it shows.

use std::time::Duration;

use super::core::Core;
use crate::names::INSTANCE_TAG;
use crate::port::Which;
use crate::reconcile::{self, Difference, Quarantined};

/// How often the subnets are described, and leaked interfaces looked for.
const RARELY: Duration = Duration::from_secs(300);

impl Core {
    /// Asks EC2 what the node has, and takes it in.
    pub(super) async fn look(&self) {
        if self.state().settings.imds_only {
            return;
        }
        let is_full = self.see().await;
        // While requests wait, it matters what subnets have.
        let waits = self.waiting() > 0;
        if waits || self.is_due(|state| state.subnets_at) {
            self.see_subnets().await;
        }
        if !is_full {
            return;
        }
        self.state().learn();
        self.reconcile().await;
        let keeps = self.state().settings.keep_leaked || self.state().settings.fixed;
        if !keeps && self.is_due(|state| state.swept_at) {
            self.sweep().await;
        }
    }

    /// How long until EC2 is asked again: what is in doubt is asked for once the window has passed.
    pub(super) fn until_next_look(&self) -> Duration {
        let mut state = self.state();
        let every = match (state.seen.trouble().is_some(), state.seen.has_doubts()) {
            (true, _) => self.config.look_every / 4,
            (false, true) => self.config.look_every.min(self.config.window),
            (false, false) => self.config.look_every,
        };
        state.budget.around(every)
    }

    fn is_due(&self, last: impl Fn(&super::state::State) -> Option<Duration>) -> bool {
        let now = self.now();
        last(&self.state()).is_none_or(|last| now.saturating_sub(last) >= RARELY)
    }

    async fn see_subnets(&self) {
        let (vpc, zone) = (&self.config.vpc, &self.config.zone);
        let answer = self.call("DescribeSubnets", None, || self.ec2.subnets(vpc, zone)).await;
        // Without an answer, the subnets stay as they were.
        if let Ok(subnets) = answer.map(|subnets| (!subnets.is_empty()).then_some(subnets)) {
            let now = self.now();
            let mut state = self.state();
            if let Some(subnets) = subnets {
                state.subnets = subnets;
                state.subnets_at = Some(now);
            }
        }
    }

    /// Makes the ledger's supply agree with what EC2 shows.
    async fn reconcile(&self) {
        let Some(book) = self.book().await else { return };
        let situation = self.situation(&book);
        let difference = reconcile::difference(&situation, &book, &*self.witness);
        let all: Vec<_> = difference.changes.iter().map(|(change, _)| change.clone()).collect();
        for (change, why) in &difference.changes {
            tracing::info!(?change, why, "the supply follows EC2");
        }
        let network = &self.config.network;
        if !all.is_empty()
            && let Err(error) = self.engine.supply(network, &all).await
        {
            tracing::warn!(%error, "the changes are made one by one");
            for change in all {
                if let Err(error) = self.engine.supply(network, std::slice::from_ref(&change)).await {
                    tracing::error!(?change, %error, "the supply cannot follow EC2");
                }
            }
        }
        self.take_in(difference);
    }

    fn take_in(&self, difference: Difference) {
        let mut state = self.state();
        let mut quarantine = difference.quarantine;
        for now in &mut quarantine {
            let is_it = |before: &&Quarantined| before.interface == now.interface && before.net == now.net;
            let before = state.quarantine.iter().find(is_it);
            if before.is_none_or(|before| before.why != now.why) {
                let (interface, net, why) = (&now.interface, now.net, &now.why);
                tracing::warn!(interface, %net, why, "quarantined");
            }
            now.since = before.map_or(now.since, |before| before.since);
        }
        state.quarantine = quarantine;
        for odd in difference.odd.iter().filter(|odd| !state.odd.contains(odd)) {
            tracing::warn!(odd);
        }
        state.odd = difference.odd;
        for (interface, net) in difference.gone {
            state.seen.forget(&interface, net);
        }
        state.seen.forget_empty();
    }

    /// Deletes interfaces of this node that are attached to nothing.
    async fn sweep(&self) {
        let tag = (INSTANCE_TAG.to_owned(), self.config.instance.clone());
        let Ok((shown, asked)) = self.describe(&Which::Tagged([tag].into())).await else { return };
        let open = self.open();
        let due = {
            let mut state = self.state();
            state.swept_at = Some(asked);
            state.leaked.described(&shown, &self.config.instance, &open, asked)
        };
        for interface in due {
            tracing::warn!(interface, "deleting a leaked interface");
            // What is left is found by the next sweep.
            let _ = self.call("DeleteNetworkInterface", None, || self.ec2.delete(&interface)).await;
        }
    }
}
