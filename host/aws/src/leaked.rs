//! Interfaces that this node created and that are attached to nothing.
//!
//! Only its own, by their tag; only what was seen twice, so long apart that no call under way can be about it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_ledger::Intent;

use crate::names::{INSTANCE_TAG, INTENT_TAG, INTERFACE, UNMANAGED_TAG};
use crate::port::{Ec2Interface, Status};

/// For how long an interface must have been attached to nothing before it is deleted.
const AGE: Duration = Duration::from_secs(300);

/// The interfaces that are attached to nothing, and since when they have been seen so.
#[derive(Debug, Clone, Default)]
pub struct Leaked(BTreeMap<String, Duration>);

impl Leaked {
    /// Takes in a full answer about the interfaces with this instance's tag; returns those to delete.
    pub fn described(
        &mut self,
        answer: &[Ec2Interface],
        instance: &str,
        open: &[Arc<Intent>],
        now: Duration,
    ) -> Vec<String> {
        let is_leaked = |interface: &&Ec2Interface| {
            let tag = |name: &str| interface.tags.get(name).map(String::as_str);
            interface.status == Status::Available
                && interface.attachment.is_none()
                && tag(INSTANCE_TAG) == Some(instance)
                && tag(UNMANAGED_TAG) != Some("true")
                && !is_meant(interface, open)
        };
        let leaked: Vec<&str> =
            answer.iter().filter(is_leaked).map(|interface| interface.id.as_str()).collect();
        self.0.retain(|id, _| leaked.contains(&id.as_str()));
        let mut due = Vec::new();
        for id in leaked {
            let since = *self.0.entry(id.to_owned()).or_insert(now);
            if now.saturating_sub(since) >= AGE {
                due.push(id.to_owned());
            }
        }
        due
    }

    /// Lists the interfaces that are not attached to any instance, and since when.
    pub fn all(&self) -> impl Iterator<Item = (&str, Duration)> {
        self.0.iter().map(|(id, since)| (id.as_str(), *since))
    }
}

/// Whether an open intent made an interface, or is about to detach and delete it.
fn is_meant(interface: &Ec2Interface, open: &[Arc<Intent>]) -> bool {
    let id = Some(interface.id.as_str());
    open.iter().any(|intent| {
        intent.attributes.get(INTERFACE) == id
            || intent.reached.get(INTERFACE) == id
            || interface.tags.get(INTENT_TAG).is_some_and(|tag| tag == intent.id.as_str())
    })
}

#[cfg(test)]
mod tests {
    use tenure_types::EffectKind;

    use super::*;
    use crate::samples::{intent, interface, seconds};

    fn leaked(id: &str) -> Ec2Interface {
        let tags = [(INSTANCE_TAG.to_owned(), "i-1".to_owned())].into();
        Ec2Interface { status: Status::Available, attachment: None, tags, ..interface(id, 1, &[]) }
    }

    #[test]
    fn only_own_interfaces_that_are_attached_to_nothing_for_long_are_deleted() {
        let tagged = |name: &str, value: &str| {
            let mut of = leaked("eni-x");
            of.tags.insert(name.to_owned(), value.to_owned());
            of
        };
        let others = [
            Ec2Interface { status: Status::InUse, ..leaked("eni-used") },
            interface("eni-untagged", 1, &[]),
            tagged(INSTANCE_TAG, "i-2"),
            tagged(UNMANAGED_TAG, "true"),
            tagged(INTENT_TAG, "intent-1"),
            leaked("eni-created"),
        ];
        let open = [intent(EffectKind::AttachInterface, &[], &[("interface", "eni-created")])];
        let mut all = others.to_vec();
        all.push(leaked("eni-1"));
        let mut sweep = Leaked::default();
        assert_eq!(sweep.described(&all, "i-1", &open, seconds(0)), [""; 0]);
        assert_eq!(sweep.described(&all, "i-1", &open, seconds(299)), [""; 0]);
        assert_eq!(sweep.described(&all, "i-1", &open, seconds(300)), ["eni-1"]);
        assert_eq!(sweep.all().count(), 1);
    }

    #[test]
    fn what_was_attached_in_between_is_young_again() {
        let mut sweep = Leaked::default();
        sweep.described(&[leaked("eni-1")], "i-1", &[], seconds(0));
        sweep.described(&[], "i-1", &[], seconds(100));
        assert_eq!(sweep.described(&[leaked("eni-1")], "i-1", &[], seconds(300)), [""; 0]);
    }
}
