//! Changing what is known of an interface or an instance: attributes and tags.

use std::collections::BTreeMap;

use super::State;
use super::interface::ConnectionTracking;
use super::refusal::Refusal;
use super::time::Time;

/// One attribute of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Whether an attachment ends with its instance.
    DeleteOnTermination(String, bool),
    /// The security groups.
    Groups(Vec<String>),
    /// Whether foreign packets are dropped.
    SourceDestCheck(bool),
    /// The description.
    Description(String),
    /// Connection tracking.
    Tracking(ConnectionTracking),
}

/// The tags that a resource can have.
const TAGS: usize = 50;

impl State {
    /// Changes an attribute of an interface.
    ///
    /// # Errors
    /// EC2's refusals.
    pub fn modify(&mut self, id: &str, change: Change, now: Time) -> Result<(), Refusal> {
        let interface = self.found(id, now)?;
        if let Change::DeleteOnTermination(attachment, _) = &change
            && interface.attachment.as_ref().is_none_or(|known| known.id != *attachment)
        {
            return Err(Refusal::no_attachment(attachment));
        }
        if let Change::Groups(groups) = &change
            && let Some(unknown) = groups.iter().find(|group| !self.account.groups.contains(group))
        {
            return Err(Refusal::no_group(unknown));
        }
        self.interfaces.change(id, now, |interface| match change {
            Change::DeleteOnTermination(_, value) => {
                if let Some(attachment) = &mut interface.attachment {
                    attachment.delete_on_termination = value;
                }
            }
            Change::Groups(groups) => interface.groups = groups,
            Change::SourceDestCheck(value) => interface.source_dest_check = value,
            Change::Description(text) => interface.description = text,
            Change::Tracking(tracking) => interface.tracking = Some(tracking),
        });
        Ok(())
    }

    /// Sets tags of interfaces, instances and subnets.
    ///
    /// # Errors
    /// EC2's refusals; then no resource is changed.
    pub fn tag(
        &mut self,
        resources: &[String],
        tags: &BTreeMap<String, String>,
        now: Time,
    ) -> Result<(), Refusal> {
        for id in resources {
            let known = self.tags_of(id, now)?;
            let mut merged = known.clone();
            merged.extend(tags.clone());
            if merged.len() > TAGS {
                return Err(Refusal::new("TagLimitExceeded", "You have reached the maximum of 50 tags."));
            }
        }
        for id in resources {
            let of_instance = self.instances.get_mut(id).map(|instance| &mut instance.tags);
            let of_subnet = self.subnets.get_mut(id).map(|subnet| &mut subnet.tags);
            of_instance.into_iter().chain(of_subnet).for_each(|known| known.extend(tags.clone()));
            self.interfaces.change(id, now, |interface| interface.tags.extend(tags.clone()));
        }
        Ok(())
    }

    fn tags_of(&self, id: &str, now: Time) -> Result<&BTreeMap<String, String>, Refusal> {
        if id.starts_with("eni-") {
            return Ok(&self.found(id, now)?.tags);
        }
        if id.starts_with("i-") {
            return self.instances.get(id).map(|known| &known.tags).ok_or_else(|| Refusal::no_instance(id));
        }
        if id.starts_with("subnet-") {
            return self.subnets.get(id).map(|known| &known.tags).ok_or_else(|| Refusal::no_subnet(id));
        }
        Err(Refusal::new("InvalidID", format!("The ID '{id}' is not valid")))
    }
}
