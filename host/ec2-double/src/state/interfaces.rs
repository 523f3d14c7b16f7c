//! All interfaces, with their past: Describe and IMDS lag, so they are answered from what was true earlier.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::interface::Interface;
use super::time::Time;

/// An interface's state from a moment on; `None` once it is deleted.
type Version = (Time, Option<Arc<Interface>>);

/// The interfaces by their identifiers, each with at least one version.
#[derive(Debug, Default)]
pub struct Interfaces {
    versions: BTreeMap<String, Vec<Version>>,
}

impl Interfaces {
    /// An interface as it is.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Arc<Interface>> {
        self.versions.get(id)?.last()?.1.as_ref()
    }

    /// All interfaces as they are, in the order of their identifiers.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Interface>> {
        self.versions.values().filter_map(|versions| versions.last()?.1.as_ref())
    }

    /// The interface with an attachment.
    #[must_use]
    pub fn attached_by(&self, attachment: &str) -> Option<&Arc<Interface>> {
        let has_it = |interface: &&Arc<Interface>| {
            interface.attachment.as_ref().is_some_and(|known| known.id == attachment)
        };
        self.all().find(has_it)
    }

    /// An interface as it was.
    #[must_use]
    pub fn get_at(&self, id: &str, time: Time) -> Option<&Arc<Interface>> {
        then(self.versions.get(id)?, time)
    }

    /// All interfaces as they were.
    pub fn all_at(&self, time: Time) -> impl Iterator<Item = &Arc<Interface>> {
        self.versions.values().filter_map(move |versions| then(versions, time))
    }

    /// Sets what is true of an interface from now on; `None` deletes it.
    pub(super) fn set(&mut self, id: &str, interface: Option<Interface>, now: Time) {
        let versions = self.versions.entry(id.to_owned()).or_default();
        versions.push((now, interface.map(Arc::new)));
    }

    /// Changes an interface; does nothing if there is none.
    pub(super) fn change(&mut self, id: &str, now: Time, change: impl FnOnce(&mut Interface)) {
        if let Some(known) = self.get(id) {
            let mut changed = Interface::clone(known);
            change(&mut changed);
            self.set(id, Some(changed), now);
        }
    }

    /// Forgets versions that were replaced before `oldest`, and interfaces deleted by then.
    pub(super) fn forget(&mut self, oldest: Time) {
        self.versions.retain(|_, versions| {
            let replaced = versions.iter().skip(1).take_while(|(at, _)| *at <= oldest).count();
            versions.drain(..replaced);
            versions.iter().any(|(at, interface)| interface.is_some() || *at > oldest)
        });
    }
}

fn then(versions: &[Version], time: Time) -> Option<&Arc<Interface>> {
    versions.iter().rev().find(|(at, _)| *at <= time)?.1.as_ref()
}
