//! Attaching interfaces to instances, and detaching them.

use super::State;
use super::events::Event;
use super::instance::Instance;
use super::interface::{Attachment, Interface, Status};
use super::refusal::Refusal;
use super::time::Time;

/// A place on an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The instance.
    pub instance: String,
    /// The device index.
    pub device: u32,
    /// The network card; `None` if the caller does not say.
    pub card: Option<u32>,
}

impl State {
    /// Attaches an interface, and returns the attachment's identifier. It ends with the instance only if that is set later.
    ///
    /// # Errors
    /// EC2's refusals.
    pub fn attach(&mut self, id: &str, place: &Place, now: Time) -> Result<String, Refusal> {
        let instance = self.instances.get(&place.instance);
        let instance = instance.ok_or_else(|| Refusal::no_instance(&place.instance))?;
        let interface = self.found(id, now)?;
        if !instance.phase.takes_interfaces() {
            let message = format!("Instance '{}' is not in the 'running' or 'stopped' state.", instance.id);
            return Err(Refusal::state(message));
        }
        if !matches!(interface.status, Status::Pending | Status::Available) {
            return Err(Refusal::new("InvalidNetworkInterface.InUse", format!("Interface: [{id}] in use.")));
        }
        if interface.zone != instance.zone {
            let message = "You may not attach a network interface to an instance if they are not in the same availability zone";
            return Err(Refusal::new("InvalidParameterCombination", message));
        }
        fits(instance, interface)?;
        self.has_room(instance, place)?;
        let attachment = Attachment {
            id: self.names.id("eni-attach"),
            instance: place.instance.clone(),
            device: place.device,
            card: place.card.unwrap_or(0),
            since: now,
            delete_on_termination: false,
        };
        let attachment_id = attachment.id.clone();
        self.interfaces.change(id, now, |interface| {
            interface.status = Status::Attaching;
            interface.attachment = Some(attachment);
            interface.idle_since = None;
        });
        let done = now.after(self.timing.attach_ms);
        self.events.at(done, Event::Attached(id.to_owned(), attachment_id.clone()));
        Ok(attachment_id)
    }

    /// Begins to detach an interface.
    ///
    /// # Errors
    /// EC2's refusals; the primary interface cannot be detached.
    pub fn detach(&mut self, attachment: &str, now: Time) -> Result<(), Refusal> {
        let interface =
            self.interfaces.attached_by(attachment).ok_or_else(|| Refusal::no_attachment(attachment))?;
        let id = interface.id.clone();
        if self.host_of(interface).is_some_and(|instance| instance.primary == id) {
            let message = "The network interface at device index 0 cannot be detached.";
            return Err(Refusal::new("OperationNotPermitted", message));
        }
        if self.host_of(interface).is_some_and(|instance| !instance.phase.takes_interfaces()) {
            let message = "The instance is not in the 'running' or 'stopped' state.";
            return Err(Refusal::state(message));
        }
        if interface.status == Status::Detaching {
            return Err(Refusal::state(format!("The attachment '{attachment}' is being detached.")));
        }
        self.interfaces.change(&id, now, |interface| interface.status = Status::Detaching);
        self.events.at(now.after(self.timing.detach_ms), Event::Detached(id, attachment.to_owned()));
        Ok(())
    }

    /// Takes an interface from its instance at once.
    pub(super) fn set_free(&mut self, id: &str, now: Time) {
        self.interfaces.change(id, now, |interface| {
            interface.status = Status::Available;
            interface.attachment = None;
            interface.idle_since = Some(now);
        });
    }

    /// Checks the device index and the number of interfaces.
    fn has_room(&self, instance: &Instance, place: &Place) -> Result<(), Refusal> {
        let limits = instance.kind;
        if let Some(card) = place.card.filter(|card| *card >= limits.cards) {
            let message = format!("Network card index {card} exceeds the limit for {}", limits.name);
            return Err(Refusal::value(message));
        }
        let attached: Vec<&Attachment> = self
            .interfaces
            .all()
            .filter_map(|interface| interface.attachment.as_ref())
            .filter(|attachment| attachment.instance == instance.id)
            .collect();
        // A caller who names no card is refused for an index that is used on any card.
        let is_used = |known: &&Attachment| {
            known.device == place.device && place.card.is_none_or(|card| known.card == card)
        };
        if attached.iter().copied().any(|known| is_used(&known)) {
            let message = format!(
                "Instance '{}' already has an interface attached at device index '{}'.",
                instance.id, place.device
            );
            return Err(Refusal::value(message));
        }
        let card = place.card.unwrap_or(0);
        let count = attached.iter().filter(|known| known.card == card).count() + 1;
        if count > limits.interfaces as usize {
            let message = format!("Interface count {count} exceeds the limit for {}", limits.name);
            return Err(Refusal::new("AttachmentLimitExceeded", message));
        }
        Ok(())
    }
}

/// Checks what an interface carries against the limits of an instance.
pub(super) fn fits(instance: &Instance, interface: &Interface) -> Result<(), Refusal> {
    let limits = instance.kind;
    if interface.slots() > limits.ipv4 as usize || interface.slots_six() > limits.ipv6 as usize {
        let message = "Number of private addresses will exceed limit.";
        return Err(Refusal::new("PrivateIpAddressLimitExceeded", message));
    }
    let has_prefixes = !interface.ipv4_prefixes.is_empty() || !interface.ipv6_prefixes.is_empty();
    if has_prefixes && !limits.takes_prefixes() {
        return Err(no_prefixes(limits.name));
    }
    Ok(())
}

/// Xen's instances take no prefixes.
pub(super) fn no_prefixes(kind: &str) -> Refusal {
    Refusal::new(
        "UnsupportedOperation",
        format!("The instance type '{kind}' does not support prefix delegation"),
    )
}
