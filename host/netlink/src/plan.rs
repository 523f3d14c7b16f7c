//! The difference between the desired and the observed state, as operations in a safe order.
//!
//! Everything is made before anything is removed, and what sends packets somewhere comes after what it sends them to: addresses,
//! routes, marks, then rules. So at each step every pod that had a way still has one, also while ipamd's rules are replaced.

mod addresses;
mod devices;
mod operation;
mod routes;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;

use crate::seen::ObservedState;
use crate::wanted::DesiredState;

use self::devices::Devices;
pub use self::operation::Operation;

/// Operations to do, in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelPlan {
    /// The operations: first all that make something, then all that remove something.
    pub operations: Vec<Operation>,
    /// The links and sysctls that something waits for: they do not exist, or another hardware address has the name.
    pub absent: BTreeSet<String>,
}

impl KernelPlan {
    /// The plan that turns the observed state into the desired one.
    #[must_use]
    pub fn of(wanted: &DesiredState, seen: &ObservedState) -> Self {
        let mut devices = Devices::of(wanted, seen);
        let mut make = Vec::new();
        let mut remove = Vec::new();
        for (key, value) in &wanted.sysctls {
            match seen.sysctls.get(key) {
                Some(present) if present == value => {}
                Some(_) => make.push(Operation::WriteSysctl { key: key.clone(), value: value.clone() }),
                None => devices.missed(key),
            }
        }
        make.extend(devices.links());
        addresses::plan(wanted, seen, &mut devices, &mut make, &mut remove);
        routes::plan(wanted, seen, &mut devices, &mut make, &mut remove);
        match (&wanted.table, &seen.table) {
            (Some(table), present) if present.as_ref() != Some(&table.shape()) => {
                make.push(Operation::ReplaceTable(table.clone()));
            }
            (None, Some(_)) => remove.push(Operation::RemoveTable),
            _ => {}
        }
        rules::plan(wanted, seen, &devices, &mut make, &mut remove);
        // Nothing may point to an object that is already gone.
        remove.sort_by_key(Operation::leads);
        make.extend(remove);
        Self { operations: make, absent: devices.into_absent() }
    }

    /// Leaves out what concerns these pods alone, named by the hosts' ends of their links, and what takes away something that may
    /// still serve one of them.
    pub(crate) fn leave_out(&mut self, pods: &BTreeMap<String, String>, wanted: &DesiredState) {
        let routes = wanted.routes.iter().filter(|route| pods.contains_key(&route.device));
        let nets: BTreeSet<IpNet> = routes.map(|route| route.to).collect();
        self.operations.retain(|operation| {
            let own = operation.pod().is_some_and(|pod| pods.contains_key(pod));
            !(own || operation.removes() && operation.takes_from(&nets))
        });
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }
}
