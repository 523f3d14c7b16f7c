//! The ranges that a plan gives back.

use std::collections::BTreeSet;

use crate::supply::{InterfaceDuty, NodeInterface, PoolSupply, RangeRun};

/// Ranges to give back, of a supply.
#[derive(Debug)]
pub(super) struct Victims<'a> {
    supply: &'a PoolSupply,
    names: BTreeSet<&'a str>,
}

impl<'a> Victims<'a> {
    pub(super) fn new(supply: &'a PoolSupply) -> Self {
        Self { supply, names: BTreeSet::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub(super) fn take(&mut self, run: &'a RangeRun) {
        self.names.insert(&run.name);
    }

    /// Takes every range that may be given back and fulfils a condition.
    pub(super) fn take_all(&mut self, condition: impl Fn(&NodeInterface, &RangeRun) -> bool) {
        for (index, interface) in self.supply.interfaces.iter().enumerate() {
            let taken: Vec<&'a RangeRun> = self.left(index).filter(|run| condition(interface, run)).collect();
            taken.into_iter().for_each(|run| self.take(run));
        }
    }

    /// The ranges of an interface that may be given back and have not been taken.
    pub(super) fn left(&self, interface: usize) -> impl Iterator<Item = &'a RangeRun> + use<'a> {
        let ours =
            |interface: &&NodeInterface| interface.duty != InterfaceDuty::Foreign && !interface.is_leaving;
        let interface = self.supply.interfaces.get(interface).filter(ours);
        let runs = interface.into_iter().flat_map(|interface| &interface.runs);
        let names = self.names.clone();
        runs.filter(move |run| !run.is_leaving && !names.contains(run.name.as_str()))
    }

    /// The taken ranges of an interface.
    pub(super) fn of(&self, interface: usize) -> impl Iterator<Item = &'a RangeRun> + '_ {
        let runs = self.supply.interfaces.get(interface).into_iter().flat_map(|interface| &interface.runs);
        runs.filter(|run| self.names.contains(run.name.as_str()))
    }

    /// Whether every range of an interface is taken, so that nothing is left on it.
    pub(super) fn has_all(&self, interface: usize) -> bool {
        let runs = self.supply.interfaces.get(interface).into_iter().flat_map(|interface| &interface.runs);
        runs.into_iter().all(|run| self.names.contains(run.name.as_str()))
    }
}
