//! Events scheduled for later, each at its own moment.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::State;
use super::instance::Phase;
use super::interface::Status;
use super::time::Time;

/// Something that happens later.
#[derive(Debug, Clone)]
pub(super) enum Event {
    /// An interface becomes available after its creation.
    Created(String),
    /// An attachment (interface, attachment) completes.
    Attached(String, String),
    /// An attachment (interface, attachment) is gone.
    Detached(String, String),
    /// An address arrives at an interface.
    Moved(Ipv4Addr, String),
    /// An instance arrives at a phase.
    Instance(String, Phase),
}

/// The scheduled events in order of time; events of the same moment in the order in which they were scheduled.
#[derive(Debug, Default)]
pub(super) struct Events {
    waiting: BTreeMap<(Time, u64), Event>,
    set: u64,
    forgotten: Time,
}

/// How often old versions are forgotten, in milliseconds.
const FORGET_MS: u64 = 60_000;

impl Events {
    /// Sets an event.
    pub(super) fn at(&mut self, time: Time, event: Event) {
        self.set += 1;
        self.waiting.insert((time, self.set), event);
    }

    fn next_until(&mut self, now: Time) -> Option<(Time, Event)> {
        let first = self.waiting.first_entry().filter(|entry| entry.key().0 <= now)?;
        let ((time, _), event) = first.remove_entry();
        Some((time, event))
    }
}

impl State {
    /// Lets everything happen that is due, each thing at its own moment.
    pub fn run_until(&mut self, now: Time) {
        while let Some((time, event)) = self.events.next_until(now) {
            self.happen(event, time);
            self.note(time);
        }
        if now.since(self.events.forgotten) > FORGET_MS {
            self.events.forgotten = now;
            self.interfaces.forget(self.consistency.oldest(now));
        }
    }

    /// The moment of the next event.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        self.events.waiting.keys().next().map(|(time, _)| *time)
    }

    /// Notes each subnet's number of free addresses; to be called after each change.
    pub fn note(&mut self, now: Time) {
        let oldest = self.consistency.oldest(now);
        self.subnets.values_mut().for_each(|subnet| subnet.note(now, oldest));
    }

    fn happen(&mut self, event: Event, now: Time) {
        match event {
            Event::Created(id) => {
                if self.interfaces.get(&id).is_some_and(|interface| interface.status == Status::Pending) {
                    self.interfaces.change(&id, now, |interface| interface.status = Status::Available);
                }
            }
            Event::Attached(id, attachment) => {
                if self.is_at(&id, &attachment, Status::Attaching) {
                    self.interfaces.change(&id, now, |interface| interface.status = Status::InUse);
                }
            }
            Event::Detached(id, attachment) => {
                if self.is_at(&id, &attachment, Status::Detaching) {
                    self.set_free(&id, now);
                }
            }
            Event::Moved(address, to) => self.moved(address, &to, now),
            Event::Instance(id, phase) => self.arrived(&id, phase, now),
        }
    }

    /// Whether an attachment still exists and is in a state.
    fn is_at(&self, interface: &str, attachment: &str, status: Status) -> bool {
        let known = self.interfaces.get(interface).filter(|known| known.status == status);
        known.and_then(|known| known.attachment.as_ref()).is_some_and(|known| known.id == attachment)
    }
}
