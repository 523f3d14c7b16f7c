//! Looking at EC2, and making the ledger's supply agree with what it shows.

use std::time::Duration;

use super::core::AwsCore;
use crate::names::INSTANCE_TAG;
use crate::port::Which;
use crate::reconcile::{self, Quarantined, SupplyDifference};

/// How often the subnets are described while something cannot be had of them, and leaked interfaces are looked for while there may
/// be some.
const RARELY: Duration = Duration::from_secs(300);

/// How often both are done otherwise: no call of a node at rest takes from the account's budget without need.
const HOURLY: Duration = Duration::from_secs(3600);

/// The longest time between two looks, jittered: within the time for which EC2's word about an address counts.
const QUIETEST: Duration = Duration::from_secs(900);

/// The sweeps after a start, and after an interface had to be undone, before they become rare.
const SWEEPS: u32 = 2;

impl AwsCore {
    /// Asks EC2 what the node has, and takes it in.
    pub(super) async fn see_and_follow(&self) {
        if self.state().settings.imds_only {
            return;
        }
        let is_full = self.see().await;
        // While requests wait, it matters what subnets have.
        if self.tools.waiting() > 0 || self.wants_subnets() {
            self.see_subnets().await;
        }
        if !is_full {
            self.state().quiet = 0;
            return;
        }
        self.state().learn();
        self.reconcile().await;
        if self.may_sweep() {
            self.sweep().await;
        }
    }

    /// How long until EC2 is asked again: what is in doubt is asked for once the window has passed, and a node at rest asks less
    /// and less often.
    pub(super) fn until_next_describe(&self) -> Duration {
        let (waits, every) = (self.tools.waiting() > 0, self.config.look_every);
        let mut state = self.state();
        // What is in quarantine may be explained any time.
        let doubts = state.seen.has_doubts() || !state.quarantine.is_empty();
        let every = match (state.seen.trouble().is_some(), doubts) {
            (true, _) => every / 4,
            (false, true) => every.min(self.config.window),
            (false, false) if waits => every,
            (false, false) => every.saturating_mul(1 << state.quiet.min(8)).min(QUIETEST.max(every)),
        };
        state.budget.around(every)
    }

    fn wants_subnets(&self) -> bool {
        let (now, state) = (self.now(), self.state());
        let lacks = state.lacks || state.budget.backoffs(now).next().is_some();
        let every = if lacks { RARELY } else { HOURLY };
        state.subnets_at.is_none_or(|last| now.saturating_sub(last) >= every)
    }

    fn may_sweep(&self) -> bool {
        let (now, state) = (self.now(), self.state());
        let may_be = state.sweeps < SWEEPS || state.leaked.all().next().is_some();
        let every = if may_be { RARELY } else { HOURLY };
        let is_due = state.swept_at.is_none_or(|last| now.saturating_sub(last) >= every);
        is_due && !state.settings.keep_leaked && !state.settings.fixed
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
        let Some(book) = self.tools.book().await else { return };
        let situation = self.situation_of(&book);
        let difference = reconcile::difference(&situation, &book, &*self.witness);
        let all: Vec<_> = difference.changes.iter().map(|(change, _)| change.clone()).collect();
        for (change, why) in &difference.changes {
            tracing::info!(?change, why, "the supply follows EC2");
        }
        let network = &self.tools.network;
        if !all.is_empty()
            && let Err(error) = self.tools.engine.supply(network, &all).await
        {
            tracing::warn!(%error, "the changes are made one by one");
            for change in all {
                if let Err(error) = self.tools.engine.supply(network, std::slice::from_ref(&change)).await {
                    tracing::error!(?change, %error, "the supply cannot follow EC2");
                }
            }
        }
        self.take_in(difference);
    }

    fn take_in(&self, difference: SupplyDifference) {
        let mut state = self.state();
        state.quiet = if difference.changes.is_empty() { state.quiet.saturating_add(1) } else { 0 };
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
        let open = self.tools.open();
        let due = {
            let mut state = self.state();
            state.swept_at = Some(asked);
            state.sweeps = state.sweeps.saturating_add(1);
            state.leaked.described(&shown, &self.config.instance, &open, asked)
        };
        for interface in due {
            tracing::warn!(interface, "deleting a leaked interface");
            // What is left is found by the next sweep.
            let _ = self.call("DeleteNetworkInterface", None, || self.ec2.delete(&interface)).await;
        }
    }
}
