//! Looking at EC2, and making the ledger's supply agree with what it shows.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_ledger::Book;
use tenure_types::EffectKind;

use super::core::AwsCore;
use super::questions::LookQuestion;
use super::state::ExecutorState;
use crate::metadata::ShownPart;
use crate::names::{DELETE, INSTANCE_TAG, INTERFACE};
use crate::port::{Failure, Which};
use crate::reconcile::{self, Quarantined, SupplyDifference};
use crate::situation::ledger_by_interface;

/// The call that sets the groups of an interface.
const MODIFY: &str = "ModifyNetworkInterfaceAttribute";

impl AwsCore {
    /// Asks EC2 what is due, and takes it in.
    pub(super) async fn see_and_follow(&self) {
        // Without EC2's answer nothing is planned, and the settings may forbid to ask it.
        if let Some(book) = self.tools.book().await {
            let now = self.now();
            self.state().read(&book, now);
        }
        let of = self.circumstances();
        let due = self.state().questions.due(&of);
        let asks_subnets = due.contains(&LookQuestion::Subnets);
        let (mut news, mut is_broken) = (false, false);
        for question in due {
            match question {
                LookQuestion::Interfaces => {
                    let is_full = self.see().await;
                    (news, is_broken) = (news || is_full, !is_full);
                    let spread = self.spread();
                    let now = self.now();
                    // Whether something is new is known once the ledger's supply agrees.
                    self.state().questions.interfaces_asked(is_full.then_some(false), now, spread);
                    if is_full {
                        self.learn();
                        news |= !asks_subnets && self.learn_new_subnets().await;
                        self.follow_groups().await;
                    }
                }
                LookQuestion::Subnets => news |= self.see_subnets().await,
                LookQuestion::Leaked if is_broken => {}
                LookQuestion::Leaked => self.sweep().await,
            }
        }
        // What a new definition retires must serve no more pods, whether or not EC2 answers.
        if (news && !is_broken || of.redefined) && self.state().seen.last().is_some() {
            self.reconcile().await;
        }
    }

    /// Has the interfaces described now.
    pub(super) fn hint(&self) {
        let is_due = self.state().questions.hint();
        if is_due {
            self.tools.look_again();
        }
    }

    /// Takes in part of what the metadata service shows of the interfaces.
    pub(super) fn hear_of_interfaces(&self, shown: &ShownPart) {
        let (now, is_changing) = (self.now(), !self.tools.open().is_empty());
        let is_news = {
            let mut state = self.state();
            let ExecutorState { agreement, seen, .. } = &mut *state;
            // Before EC2's first word, there is nothing to compare with.
            seen.last().is_some() && agreement.heard(shown, seen, is_changing, now)
        };
        if is_news {
            self.hint();
        }
    }

    /// Takes in the groups of the primary interface, as the metadata service names them.
    pub(super) fn hear_groups(&self, groups: BTreeSet<String>) {
        let now = self.now();
        let is_news = {
            let mut state = self.state();
            let ExecutorState { named_groups, seen, settings, .. } = &mut *state;
            named_groups.heard(groups, seen, now) && !settings.imds_only
        };
        if is_news {
            self.hint();
        }
    }

    /// Gives the interfaces of this node the groups of the primary one.
    async fn follow_groups(&self) {
        let (groups, behind) = {
            let open = self.tools.open();
            let state = self.state();
            let Some(primary) = state.seen.primary() else { return };
            let changes =
                |id: &String| open.iter().any(|intent| intent.attributes.get(INTERFACE) == Some(id.as_str()));
            let mut behind = state.behind_in_groups(&self.config.instance);
            behind.retain(|id| !changes(id));
            (primary.groups.clone(), behind)
        };
        for interface in behind {
            if self.is_refused(MODIFY) {
                return;
            }
            let send = || self.ec2.set_groups(&interface, &groups);
            if self.call(MODIFY, None, send).await.is_ok() {
                tracing::info!(interface, ?groups, "the interface has the primary one's security groups");
                self.state().seen.regrouped(&interface, &groups);
            }
        }
    }

    /// Whether EC2 has refused a call just before.
    fn is_refused(&self, call: &'static str) -> bool {
        let now = self.now();
        self.state().budget.blocked(call, None, now).is_some()
    }

    /// The time at which EC2 is asked again.
    pub(super) fn next_question(&self) -> Duration {
        let of = self.circumstances();
        of.now.saturating_add(self.state().questions.wait(&of))
    }

    /// The jitter of a wait, in thousandths.
    fn spread(&self) -> u32 {
        let second = self.state().budget.around(Duration::from_secs(1));
        u32::try_from(second.as_millis()).unwrap_or(1000)
    }

    /// Learns the limits from a full look. With something in doubt or on its way, there may be more than it shows.
    fn learn(&self) {
        let is_changing = |intent: &tenure_ledger::Intent| {
            matches!(intent.kind, EffectKind::AttachInterface | EffectKind::DetachInterface)
        };
        let is_changing = self.tools.open().iter().any(|intent| is_changing(intent));
        let (now, mut state) = (self.now(), self.state());
        let is_sure = !is_changing && !state.seen.has_doubts();
        state.learn(is_sure, now);
    }

    /// Describes the subnets; returns whether EC2 said what there are.
    async fn see_subnets(&self) -> bool {
        let (vpc, zone) = (&self.config.vpc, &self.config.zone);
        let answer = self.call("DescribeSubnets", None, || self.ec2.subnets(vpc, zone)).await;
        let is_denied = answer.as_ref().is_err_and(|error| error.failure == Failure::Denied);
        if is_denied {
            self.learn_subnets().await;
        }
        let (spread, now) = (self.spread(), self.now());
        let mut state = self.state();
        // The node's own subnets are enough to go on.
        let is_known = is_denied && !state.subnets.is_empty();
        state.are_subnets_denied = is_known;
        let is_empty = answer.as_ref().is_ok_and(Vec::is_empty);
        let odd = is_empty.then(|| format!("EC2 shows no subnet of {vpc} in {zone}"));
        state.silences.believed("DescribeSubnets", odd.clone());
        // Without an answer, the subnets stay as they were.
        state.subnets_trouble = match answer {
            Ok(subnets) if !subnets.is_empty() => {
                for subnet in &subnets {
                    state.budget.counted(&subnet.id, subnet.available);
                }
                state.subnets = subnets;
                None
            }
            Ok(_) => odd,
            // The permission is for those who create interfaces elsewhere.
            Err(_) if is_known && !state.settings.discover_subnets => {
                state.budget.forgive("DescribeSubnets");
                None
            }
            Err(error) => Some(error.to_string()),
        };
        let is_answered = state.subnets_trouble.is_none() || is_known;
        state.questions.subnets_asked(is_answered, now, spread);
        is_answered
    }

    /// Learns the subnets of the node's own interfaces from the metadata service.
    async fn learn_subnets(&self) {
        match self.metadata.attached().await {
            Ok(attached) => self.state().know_subnets(attached.subnets),
            Err(error) => tracing::warn!(%error, "the subnets of the node's interfaces are not known"),
        }
    }

    /// Learns the subnets again if EC2 shows an interface of this host in one that is not known; returns whether that was answered.
    async fn learn_new_subnets(&self) -> bool {
        let (is_unknown, are_denied, may_ask) = {
            let state = self.state();
            // What was asked in vain is asked again soon.
            let may_ask = !state.settings.imds_only && state.subnets_trouble.is_none();
            (state.is_in_unknown_subnet(), state.are_subnets_denied, may_ask)
        };
        match (is_unknown, are_denied) {
            (true, true) => {
                self.learn_subnets().await;
                true
            }
            (true, false) if may_ask => self.see_subnets().await,
            _ => false,
        }
    }

    /// Makes the ledger's supply agree with what EC2 shows.
    async fn reconcile(&self) {
        // An intent that ends from here on may open its ranges again.
        let open = self.tools.open();
        let book = self.tools.book().await;
        let situation = book.as_ref().map(|book| self.situation_of(book));
        self.state().is_redefined = false;
        let Some((book, situation)) = book.zip(situation) else { return };
        let mut difference = reconcile::difference(&situation, &book, &*self.witness);
        difference.leave(&open);
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
        let after = self.tools.book().await;
        self.take_in(difference, after.as_deref());
    }

    /// Takes in a difference. What the ledger has `after` it, because it could not be withdrawn, is not forgotten.
    fn take_in(&self, difference: SupplyDifference, after: Option<&Book>) {
        let left = after.map(ledger_by_interface).unwrap_or_default();
        let mut state = self.state();
        state.questions.reconciled(!difference.changes.is_empty());
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
            if !left.get(interface.as_str()).is_some_and(|nets| nets.contains(&net)) {
                state.seen.forget(&interface, net);
            }
        }
        if state.seen.forget_empty() {
            // Who takes an interface off may leave it behind.
            state.questions.may_leak();
        }
    }

    /// Deletes interfaces of this node that are attached to nothing.
    async fn sweep(&self) {
        let tag = (INSTANCE_TAG.to_owned(), self.config.instance.clone());
        let answer = self.describe(&Which::Tagged([tag].into())).await;
        let (open, spread, now) = (self.tools.open(), self.spread(), self.now());
        let due = {
            let mut state = self.state();
            state.questions.leaked_asked(answer.is_ok(), now, spread);
            let Ok((shown, asked)) = answer else { return };
            state.leaked.described(&shown, &self.config.instance, &open, asked)
        };
        for interface in due {
            // What is left is found by the next sweep.
            if self.is_refused(DELETE) {
                return;
            }
            tracing::warn!(interface, "deleting a leaked interface");
            let _ = self.call(DELETE, None, || self.ec2.delete(&interface)).await;
        }
    }
}
