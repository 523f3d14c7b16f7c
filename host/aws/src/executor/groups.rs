//! The security groups of the node's interfaces: those that were created for this node have the groups of the primary one, also when these
//! change. Pure.
//!
//! ```text
//! the metadata service names groups ─▶ other than EC2 showed? ─▶ EC2 is asked ─▶ an interface differs? ─▶ its groups are set
//! ```
//!
//! EC2's word decides; the metadata service is a reason to ask it again, for a while, because EC2's answers may lag. Interfaces of custom
//! networking have groups of their own, and so may those that somebody else has attached.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::names::INSTANCE_TAG;
use crate::port::{Ec2Interface, Status};
use crate::seen::{Duty, SeenNode, SeenStanding};

/// The groups that the metadata service has named, if EC2 has not shown them yet.
#[derive(Debug, Default)]
pub(super) struct NamedGroups(Option<(BTreeSet<String>, Duration)>);

impl NamedGroups {
    /// Notes the groups that the metadata service names; returns whether EC2 should be asked because of them.
    pub(super) fn heard(&mut self, groups: BTreeSet<String>, seen: &SeenNode, now: Duration) -> bool {
        if seen.primary().is_none_or(|primary| group_set(primary) == groups) {
            self.0 = None;
            return false;
        }
        if self.0.as_ref().is_some_and(|(named, _)| *named == groups) {
            return false;
        }
        self.0 = Some((groups, now));
        true
    }

    /// Whether EC2 may be about to show them, because they were named less than two windows ago.
    pub(super) fn are_awaited(&self, seen: &SeenNode, now: Duration) -> bool {
        self.0.as_ref().is_some_and(|(named, since)| {
            let are_shown = seen.primary().is_some_and(|primary| group_set(primary) == *named);
            !are_shown && now.saturating_sub(*since) < seen.window().saturating_mul(2)
        })
    }
}

/// The interfaces that were created for an instance, and have other groups than the primary one.
pub(super) fn behind<'a>(seen: &'a SeenNode, instance: &'a str) -> impl Iterator<Item = &'a str> {
    let wanted = seen.primary().map(group_set);
    let own = seen.interfaces().filter_map(|(id, known)| Some((id, known.facts.as_ref()?)));
    let differs = move |(id, facts): &(&str, &Ec2Interface)| {
        let is_own = facts.tags.get(INSTANCE_TAG).is_some_and(|of| of == instance)
            && seen.duty(facts) == Duty::Managed;
        let is_there = facts.status == Status::InUse && seen.standing(id) == Some(SeenStanding::Confirmed);
        is_own && is_there && wanted.as_ref().is_some_and(|wanted| *wanted != group_set(facts))
    };
    own.filter(differs).map(|(id, _)| id)
}

fn group_set(interface: &Ec2Interface) -> BTreeSet<String> {
    interface.groups.iter().cloned().collect()
}
