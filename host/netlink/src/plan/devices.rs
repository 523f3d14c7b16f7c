//! The links that something can be done with.

use std::collections::BTreeSet;

use super::operation::Operation;
use crate::parts::Link;
use crate::seen::Seen;
use crate::wanted::Wanted;

/// The links that were seen, and those that were missed.
#[derive(Debug)]
pub(super) struct Devices<'a> {
    wanted: &'a Wanted,
    seen: &'a Seen,
    names: BTreeSet<&'a str>,
    absent: BTreeSet<String>,
}

impl<'a> Devices<'a> {
    pub(super) fn of(wanted: &'a Wanted, seen: &'a Seen) -> Self {
        let right = |link: &&Link| wanted.link(&link.name).is_none_or(|own| link.mac == Some(own.mac));
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

    /// The links that are down or have another MTU.
    pub(super) fn links(&self) -> Vec<Operation> {
        let wanted = self.wanted.links.iter().filter(|link| self.is_there(&link.name));
        let wrong = wanted
            .filter(|link| self.seen.link(&link.name).is_some_and(|seen| !seen.up || seen.mtu != link.mtu));
        wrong.map(|link| Operation::SetLink { name: link.name.clone(), mtu: link.mtu }).collect()
    }

    /// What was missed.
    pub(super) fn into_absent(self) -> BTreeSet<String> {
        self.absent
    }
}
