//! The life of instances: launched, stopped, started, terminated.

use std::collections::BTreeMap;

use super::State;
use super::create::Creation;
use super::events::Event;
use super::instance::{Instance, Phase};
use super::interface::{Attachment, Status};
use super::limits::InstanceType;
use super::refusal::Refusal;
use super::time::Time;

impl State {
    /// Launches an instance with its primary interface in a subnet. Launched at 0, it is running at once.
    ///
    /// # Errors
    /// An unknown type or subnet, or a full subnet.
    pub fn launch(
        &mut self,
        kind: &str,
        subnet: &str,
        tags: BTreeMap<String, String>,
        now: Time,
    ) -> Result<String, Refusal> {
        let kind = find(kind)?;
        let primary =
            self.create_unchecked(&Creation { subnet: subnet.to_owned(), ..Creation::default() }, now)?;
        let id = self.names.id("i");
        let attachment = Attachment {
            id: self.names.id("eni-attach"),
            instance: id.clone(),
            device: 0,
            card: 0,
            since: now,
            delete_on_termination: true,
        };
        let mut zone = String::new();
        self.interfaces.change(&primary, now, |interface| {
            interface.status = Status::InUse;
            interface.attachment = Some(attachment);
            interface.idle_since = None;
            zone.clone_from(&interface.zone);
        });
        let phase = if now == Time::default() { Phase::Running } else { Phase::Pending };
        if phase == Phase::Pending {
            let started = now.after(self.timing.start_ms);
            self.events.at(started, Event::Instance(id.clone(), Phase::Running));
        }
        let instance = Instance { id: id.clone(), kind, zone, primary, tags, phase, launched: now };
        self.instances.insert(id.clone(), instance);
        Ok(id)
    }

    /// Begins to stop an instance.
    ///
    /// # Errors
    /// An unknown instance, or one that is not running.
    pub fn stop(&mut self, id: &str, now: Time) -> Result<(), Refusal> {
        self.leave(id, &[Phase::Running], Phase::Stopping)?;
        self.events.at(now.after(self.timing.stop_ms), Event::Instance(id.to_owned(), Phase::Stopped));
        Ok(())
    }

    /// Begins to start a stopped instance.
    ///
    /// # Errors
    /// An unknown instance, or one that is not stopped.
    pub fn start(&mut self, id: &str, now: Time) -> Result<(), Refusal> {
        self.leave(id, &[Phase::Stopped], Phase::Pending)?;
        self.events.at(now.after(self.timing.start_ms), Event::Instance(id.to_owned(), Phase::Running));
        Ok(())
    }

    /// Begins to terminate an instance.
    ///
    /// # Errors
    /// An unknown instance, or one that is ending.
    pub fn terminate(&mut self, id: &str, now: Time) -> Result<(), Refusal> {
        let living = [Phase::Pending, Phase::Running, Phase::Stopping, Phase::Stopped];
        self.leave(id, &living, Phase::ShuttingDown)?;
        self.events
            .at(now.after(self.timing.terminate_ms), Event::Instance(id.to_owned(), Phase::Terminated));
        Ok(())
    }

    /// Makes an instance one of another type, as if it had been stopped and started again meanwhile.
    ///
    /// # Errors
    /// An unknown instance or type.
    pub fn retype(&mut self, id: &str, kind: &str) -> Result<(), Refusal> {
        let instance = self.instances.get_mut(id).ok_or_else(|| Refusal::no_instance(id))?;
        instance.kind = find(kind)?;
        Ok(())
    }

    fn leave(&mut self, id: &str, from: &[Phase], to: Phase) -> Result<(), Refusal> {
        let instance = self.instances.get_mut(id).ok_or_else(|| Refusal::no_instance(id))?;
        if !from.contains(&instance.phase) {
            let (word, _) = instance.phase.word();
            return Err(Refusal::new("IncorrectInstanceState", format!("The instance '{id}' is {word}.")));
        }
        instance.phase = to;
        Ok(())
    }

    /// Lets an instance arrive at a phase that it is on its way to.
    pub(super) fn arrived(&mut self, id: &str, phase: Phase, now: Time) {
        let Some(instance) = self.instances.get_mut(id) else { return };
        let is_on_its_way = matches!(
            (instance.phase, phase),
            (Phase::Pending, Phase::Running)
                | (Phase::Stopping, Phase::Stopped)
                | (Phase::ShuttingDown, Phase::Terminated)
        );
        if !is_on_its_way {
            return;
        }
        instance.phase = phase;
        if phase != Phase::Terminated {
            return;
        }
        let attached: Vec<(String, bool)> = self
            .interfaces
            .all()
            .filter_map(|interface| Some((interface, interface.attachment.as_ref()?)))
            .filter(|(_, attachment)| attachment.instance == id)
            .map(|(interface, attachment)| (interface.id.clone(), attachment.delete_on_termination))
            .collect();
        for (interface, ends) in attached {
            if ends {
                self.delete_unchecked(&interface, now);
            } else {
                self.set_free(&interface, now);
            }
        }
    }
}

fn find(kind: &str) -> Result<&'static InstanceType, Refusal> {
    InstanceType::find(kind).ok_or_else(|| {
        Refusal::new(
            "InvalidInstanceType",
            format!("The following supplied instance types do not exist: [{kind}]"),
        )
    })
}
