//! How many live allocations have a value: a pod's namespace, a kind of owner, an agent, a tag. The counts are
//! maintained incrementally, so that reading one is a look-up.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_types::{Allocation, Owner, agreed};

use super::shared_map::SharedMap;

/// For each name, the number of allocations by value.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts(BTreeMap<Box<str>, SharedMap<Arc<str>, u32>>);

/// The names of the values that the host itself counts.
const POD_NAMESPACE: &str = "pod.namespace";
const OWNER_KIND: &str = "owner.kind";
const OWNER_AGENT: &str = "owner.agent";

/// Whether a name is reserved for the host, so that no tag may have it.
pub(super) fn is_hosts(name: &str) -> bool {
    name == agreed::ASSIGNS || agreed::is_reserved(name)
}

impl Counts {
    pub(super) fn of_all(counts: Vec<(Box<str>, Box<str>, u32)>) -> Self {
        let mut all: BTreeMap<Box<str>, SharedMap<Arc<str>, u32>> = BTreeMap::new();
        for (name, value, count) in counts {
            all.entry(name).or_default().insert(value.into(), count);
        }
        Self(all)
    }

    /// All numbers, with their names and values.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &str, u32)> {
        self.0
            .iter()
            .flat_map(|(name, values)| values.iter().map(move |(value, count)| (&**name, &**value, *count)))
    }

    pub(super) fn of(&self, name: &str, value: &str) -> u32 {
        self.0.get(name).and_then(|values| values.get(value)).copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, allocation: &Allocation) {
        each_of(allocation, |name, value| match self.0.get_mut(name) {
            Some(values) => match values.get_mut(value) {
                Some(count) => *count = count.saturating_add(1),
                None => _ = values.insert(value.into(), 1),
            },
            None => _ = self.0.insert(name.into(), SharedMap::from_iter([(value.into(), 1)])),
        });
    }

    pub(super) fn remove(&mut self, allocation: &Allocation) {
        each_of(allocation, |name, value| {
            let Some(values) = self.0.get_mut(name) else { return };
            let Some(count) = values.get_mut(value) else { return };
            *count = count.saturating_sub(1);
            if *count == 0 {
                values.remove(value);
            }
            if values.is_empty() {
                self.0.remove(name);
            }
        });
    }
}

fn each_of(allocation: &Allocation, mut with: impl FnMut(&str, &str)) {
    with(OWNER_KIND, allocation.owner.kind());
    if let Owner::Claim { agent, .. } = &allocation.owner {
        with(OWNER_AGENT, agent.as_str());
    }
    if let Some(pod) = allocation.pod() {
        with(POD_NAMESPACE, &pod.namespace);
    }
    for (name, value) in allocation.tags.iter() {
        with(name, value);
    }
}
