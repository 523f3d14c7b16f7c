//! The links that something can be done with.

use std::collections::BTreeSet;

use super::operation::Operation;
use crate::numbers::POD_TABLE;
use crate::parts::KernelLink;
use crate::seen::ObservedState;
use crate::wanted::DesiredState;

/// The links that were seen, and those that were missed.
#[derive(Debug)]
pub(super) struct Devices<'a> {
    wanted: &'a DesiredState,
    seen: &'a ObservedState,
    names: BTreeSet<&'a str>,
    absent: BTreeSet<String>,
}

impl<'a> Devices<'a> {
    pub(super) fn of(wanted: &'a DesiredState, seen: &'a ObservedState) -> Self {
        let right = |link: &&KernelLink| wanted.link(&link.name).is_none_or(|own| link.mac == Some(own.mac));
        let names = seen.links.iter().filter(right).map(|link| link.name.as_str()).collect();
        let mut devices = Self { wanted, seen, names, absent: BTreeSet::new() };
        for link in &wanted.links {
            devices.has(&link.name);
        }
        devices
    }

    /// Whether a link is there, and is the one that is meant; notes it if not.
    pub(super) fn has(&mut self, name: &str) -> bool {
        let there = self.is_there(name);
        if !there {
            self.missed(name);
        }
        there
    }

    /// Whether a link is there, and is the one that is meant.
    pub(super) fn is_there(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Notes something that is waited for.
    pub(super) fn missed(&mut self, what: &str) {
        self.absent.insert(what.to_owned());
    }

    /// The links that are down or have another MTU, and the host's ends of pods' links that are down.
    pub(super) fn links(&self) -> Vec<Operation> {
        let wanted = self.wanted.links.iter().filter(|link| self.is_there(&link.name));
        let wrong = wanted
            .filter(|link| self.seen.link(&link.name).is_some_and(|seen| !seen.up || seen.mtu != link.mtu));
        let wrong = wrong.map(|link| Operation::SetLink { name: link.name.clone(), mtu: link.mtu });
        wrong.chain(self.fallen().map(|name| Operation::RaiseLink { name: name.to_owned() })).collect()
    }

    /// The host's ends that are down. The kernel refuses routes to them, and has dropped those that there were.
    fn fallen(&self) -> impl Iterator<Item = &'a str> {
        let routes = self.wanted.routes.iter().filter(|route| route.table == POD_TABLE);
        let ends: BTreeSet<&str> = routes.map(|route| route.device.as_str()).collect();
        let links = self.seen.links.iter().filter(move |link| ends.contains(link.name.as_str()));
        // Somebody else's link of the name is not a veth.
        links.filter(|link| !link.up && link.peer.is_some()).map(|link| link.name.as_str())
    }

    /// The links and sysctls that do not exist.
    pub(super) fn into_absent(self) -> BTreeSet<String> {
        self.absent
    }
}
