//! The security groups of the node's interfaces: those that were created for this node have the groups of the primary one, also when these
//! change.
//!
//! ```text
//! the metadata service names groups ─▶ other than EC2 showed? ─▶ EC2 is asked ─▶ an interface differs? ─▶ its groups are set
//! ```
//!
//! EC2's word decides; the metadata service is a reason to ask it again, for a while, because EC2's answers may lag. Interfaces of custom
//! networking have groups of their own, and so may those that somebody else has attached.

use std::collections::BTreeSet;
use std::time::Duration;

use super::core::AwsCore;
use super::state::ExecutorState;
use crate::names::INSTANCE_TAG;
use crate::port::{Ec2Interface, Status};
use crate::seen::{Duty, SeenStanding};

/// The call that sets them.
const ACTION: &str = "ModifyNetworkInterfaceAttribute";

/// The groups that the metadata service has named, and that EC2 has not shown yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedGroups {
    groups: BTreeSet<String>,
    since: Duration,
}

impl AwsCore {
    /// Takes in the groups of the primary interface, as the metadata service names them.
    pub(super) fn hear_groups(&self, groups: BTreeSet<String>) {
        let now = self.now();
        if self.state().groups_named(groups, now) {
            self.hint();
        }
    }

    /// Gives the interfaces of this node the groups of the primary one.
    pub(super) async fn follow_groups(&self) {
        let (groups, behind) = {
            let (now, open) = (self.now(), self.tools.open());
            let state = self.state();
            if state.budget.grudge(ACTION, None, now).is_some() {
                return;
            }
            let Some(primary) = state.seen.primary() else { return };
            let changes = |id: &str| open.iter().any(|intent| intent.attributes.get("interface") == Some(id));
            let behind = state.behind_in_groups(&self.config.instance);
            let behind: Vec<String> = behind.filter(|id| !changes(id)).map(str::to_owned).collect();
            (primary.groups.clone(), behind)
        };
        for interface in behind {
            let send = || self.ec2.set_groups(&interface, &groups);
            if self.call(ACTION, None, send).await.is_ok() {
                tracing::info!(interface, ?groups, "the interface has the primary one's security groups");
                self.state().seen.regrouped(&interface, &groups);
            }
        }
    }
}

impl ExecutorState {
    /// Notes the groups that the metadata service names; returns whether EC2 should be asked because of them.
    fn groups_named(&mut self, groups: BTreeSet<String>, now: Duration) -> bool {
        let shown = self.seen.primary().map(group_set);
        if shown.is_none_or(|shown| shown == groups) {
            self.named_groups = None;
            return false;
        }
        if self.named_groups.as_ref().is_some_and(|named| named.groups == groups) {
            return false;
        }
        self.named_groups = Some(NamedGroups { groups, since: now });
        !self.settings.imds_only
    }

    /// Whether EC2 may be about to show other groups, because the metadata service named them less than two windows ago.
    pub(super) fn awaits_groups(&self, now: Duration) -> bool {
        let shown = self.seen.primary().map(group_set);
        let awaited = |named: &&NamedGroups| {
            shown.as_ref() != Some(&named.groups)
                && now.saturating_sub(named.since) < self.seen.window().saturating_mul(2)
        };
        self.named_groups.as_ref().filter(awaited).is_some()
    }

    /// The interfaces that were created for this instance, and have other groups than the primary one.
    pub(super) fn behind_in_groups(&self, instance: &str) -> impl Iterator<Item = &str> {
        let may_change = !self.settings.fixed && !self.settings.custom_network && !self.node.terminating;
        let wanted = self.seen.primary().filter(|_| may_change).map(group_set);
        let own = self.seen.interfaces().filter_map(|(id, known)| Some((id, known.facts.as_ref()?)));
        own.filter(move |(id, facts)| {
            let is_own = facts.tags.get(INSTANCE_TAG).is_some_and(|of| of == instance)
                && self.seen.duty(facts) == Duty::Managed;
            let is_there =
                facts.status == Status::InUse && self.seen.standing(id) == Some(SeenStanding::Confirmed);
            is_own && is_there && wanted.as_ref().is_some_and(|wanted| *wanted != group_set(facts))
        })
        .map(|(id, _)| id)
    }
}

fn group_set(interface: &Ec2Interface) -> BTreeSet<String> {
    interface.groups.iter().cloned().collect()
}
