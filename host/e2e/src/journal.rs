//! The outside journal: what pods were told, kept where no crash of the daemon reaches it.
//!
//! Each pod's name is used once. What is about to be asked is written down before it is sent, so that the journal never
//! believes less than may be true.
//!
//! ```text
//! add_sent ──▶ Asked ──added──▶ Held ──del_sent──▶ Leaving ──deleted──▶ Gone
//!                └──────────────del_sent──────────────▲
//! ```
//!
//! One mutex guards it all; it is never held across a call.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, ensure};

/// One pod on one network.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pod {
    /// The network's name.
    pub network: String,
    /// The container's id.
    pub container: String,
}

impl fmt::Display for Pod {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.network, self.container)
    }
}

/// What the daemon says that pods own.
pub type Owners = BTreeMap<Pod, String>;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Fate {
    /// An ADD was sent, and no address heard of: it may or may not have one.
    Asked,
    /// An address was heard of: it has that one.
    Held(String),
    /// A DEL was sent, and no success heard of: it may still have the address that it was told of, or any.
    Leaving(Option<String>),
    /// The DEL succeeded: it has none.
    Gone,
}

/// What pods were told.
#[derive(Debug, Default)]
pub struct Journal {
    fates: Mutex<BTreeMap<Pod, Fate>>,
}

impl Journal {
    fn fates(&self) -> MutexGuard<'_, BTreeMap<Pod, Fate>> {
        self.fates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An ADD of a pod that is not known yet is about to be sent.
    pub fn add_sent(&self, pod: &Pod) {
        self.fates().insert(pod.clone(), Fate::Asked);
    }

    /// An ADD was answered with an address.
    ///
    /// # Errors
    /// When a pod was told another address before, or another pod was told this one.
    pub fn added(&self, pod: &Pod, address: &str) -> anyhow::Result<()> {
        let mut fates = self.fates();
        for (other, fate) in fates.iter() {
            let theirs = matches!(fate, Fate::Held(held) if held == address);
            let same_network = other.network == pod.network;
            ensure!(!theirs || !same_network || other == pod, "I1: {address} was given to {other} and {pod}");
        }
        let before = fates.insert(pod.clone(), Fate::Held(address.to_owned()));
        match before.context("an answer that nobody asked for")? {
            Fate::Asked => Ok(()),
            Fate::Held(held) => {
                ensure!(held == address, "{pod} was told {held}, and then {address}");
                Ok(())
            }
            before => anyhow::bail!("{pod} was told {address} after {before:?}"),
        }
    }

    /// A DEL is about to be sent.
    pub fn del_sent(&self, pod: &Pod) {
        let mut fates = self.fates();
        let fate = match fates.remove(pod) {
            Some(Fate::Held(address)) => Fate::Leaving(Some(address)),
            Some(leaving @ Fate::Leaving(_)) => leaving,
            _ => Fate::Leaving(None),
        };
        fates.insert(pod.clone(), fate);
    }

    /// A DEL succeeded.
    pub fn deleted(&self, pod: &Pod) {
        self.fates().insert(pod.clone(), Fate::Gone);
    }

    /// Holds what the daemon says against what pods were told: I1 and I2.
    ///
    /// # Errors
    /// The promise that is broken, and by what.
    pub fn check(&self, owners: &Owners) -> anyhow::Result<()> {
        let mut taken = BTreeMap::new();
        for (pod, address) in owners {
            if let Some(other) = taken.insert((&pod.network, address), pod) {
                anyhow::bail!("I1: {address} has two owners, {other} and {pod}");
            }
        }
        let fates = self.fates();
        for (pod, fate) in fates.iter() {
            let owned = owners.get(pod);
            match fate {
                Fate::Held(address) => {
                    ensure!(owned == Some(address), "I2: {pod} was told {address}, and owns {owned:?}");
                }
                Fate::Leaving(Some(address)) => {
                    ensure!(owned.is_none_or(|owned| owned == address), "I2: {pod} owns {owned:?}");
                }
                Fate::Gone => ensure!(owned.is_none(), "I2: {pod} is deleted, and owns {owned:?}"),
                Fate::Asked | Fate::Leaving(None) => {}
            }
        }
        for pod in owners.keys() {
            ensure!(fates.contains_key(pod), "{pod} was never asked for");
        }
        Ok(())
    }

    /// As [`check`](Self::check), and nothing else is owned: I3. For a daemon that has nothing under way.
    ///
    /// # Errors
    /// The promise that is broken, and by what.
    pub fn check_exactly(&self, owners: &Owners) -> anyhow::Result<()> {
        self.check(owners)?;
        let fates = self.fates();
        let leaked: Vec<_> =
            owners.keys().filter(|pod| !matches!(fates.get(pod), Some(Fate::Held(_)))).collect();
        ensure!(leaked.is_empty(), "I3: {} leaked: {leaked:?}", leaked.len());
        Ok(())
    }

    /// The pods that have an address for certain.
    #[must_use]
    pub fn held(&self) -> Vec<Pod> {
        self.pods(|fate| matches!(fate, Fate::Held(_)))
    }

    /// The pods whose last request had no answer: their runtime sends DEL until it succeeds.
    #[must_use]
    pub fn unanswered(&self) -> Vec<Pod> {
        self.pods(|fate| matches!(fate, Fate::Asked | Fate::Leaving(_)))
    }

    /// Forgets the pods that are gone, once that was checked.
    pub fn forget_gone(&self) {
        self.fates().retain(|_, fate| *fate != Fate::Gone);
    }

    fn pods(&self, wanted: impl Fn(&Fate) -> bool) -> Vec<Pod> {
        let fates = self.fates();
        fates.iter().filter(|(_, fate)| wanted(fate)).map(|(pod, _)| pod.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str) -> Pod {
        Pod { network: "net".to_owned(), container: name.to_owned() }
    }

    fn told() -> Journal {
        let journal = Journal::default();
        for name in ["asked", "held", "leaving", "gone"] {
            journal.add_sent(&pod(name));
        }
        for (name, address) in [("held", "1"), ("leaving", "2"), ("gone", "3")] {
            journal.added(&pod(name), address).unwrap();
        }
        journal.del_sent(&pod("leaving"));
        journal.del_sent(&pod("gone"));
        journal.deleted(&pod("gone"));
        journal
    }

    fn owners(list: &[(&str, &str)]) -> Owners {
        list.iter().map(|(name, address)| (pod(name), (*address).to_owned())).collect()
    }

    #[test]
    fn what_may_be_passes() {
        let journal = told();
        for list in [&[("held", "1")][..], &[("held", "1"), ("leaving", "2"), ("asked", "9")]] {
            journal.check(&owners(list)).unwrap();
        }
        journal.check_exactly(&owners(&[("held", "1")])).unwrap();
        assert_eq!(journal.unanswered(), [pod("asked"), pod("leaving")]);
    }

    #[test]
    fn what_must_not_be_is_found() {
        let journal = told();
        for list in [
            &[][..],
            &[("held", "7")],
            &[("held", "1"), ("gone", "3")],
            &[("held", "1"), ("asked", "1")],
            &[("held", "1"), ("leaving", "7")],
            &[("held", "1"), ("stranger", "4")],
        ] {
            journal.check(&owners(list)).unwrap_err();
        }
        journal.check_exactly(&owners(&[("held", "1"), ("leaving", "2")])).unwrap_err();
        journal.add_sent(&pod("other"));
        journal.added(&pod("other"), "1").unwrap_err();
        journal.added(&pod("held"), "8").unwrap_err();
    }
}
