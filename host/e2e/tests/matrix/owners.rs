//! The contents of the ledger, by the names of the owners.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use tenure_e2e::matrix::Effect;

/// The owner of the address that the verb imports, if it is not known.
pub(crate) const DOUBTED: &str = "unknown 10.93.0.200";

/// The owners with their addresses. An owner that the table expects, and whose address is the node's choice, has none here.
#[derive(Debug, Clone, Default)]
pub(crate) struct Owners(BTreeMap<String, Option<String>>);

impl PartialEq for Owners {
    /// The same owners, and the same addresses where both know them.
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().zip(&other.0).all(|((name, address), (others, theirs))| {
                name == others && (address.is_none() || theirs.is_none() || address == theirs)
            })
    }
}

impl Owners {
    /// Reads `tenurectl allocations`.
    pub(crate) fn read(listed: &Value) -> Self {
        let all = listed.get("allocations").and_then(Value::as_array).into_iter().flatten();
        let text =
            |one: &Value, pointer: &str| one.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        Self(
            all.filter_map(|one| {
                let name = text(one, "/claim/name").or_else(|| text(one, "/container_id"))?;
                let address = text(one, "/addresses/0");
                let bare = || address.as_deref().and_then(|address| address.split('/').next());
                let name = if name.is_empty() { format!("unknown {}", bare()?) } else { name };
                Some((name, address))
            })
            .collect(),
        )
    }

    /// Changes them as a verb does.
    pub(crate) fn apply(&mut self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::Gains(owner) => drop(self.0.insert((*owner).to_owned(), None)),
                Effect::Loses(owner) => drop(self.0.remove(*owner)),
            }
        }
    }

    /// Gives an address to those of them that have none.
    pub(crate) fn complete(&mut self, owners: &[&str]) {
        for owner in owners {
            self.0.entry((*owner).to_owned()).or_default();
        }
    }

    /// Notes whom a verb concerns.
    pub(crate) fn note(&mut self, effects: &[Effect]) {
        for Effect::Gains(owner) | Effect::Loses(owner) in effects {
            self.0.insert((*owner).to_owned(), None);
        }
    }

    /// Removes these owners.
    pub(crate) fn remove(&mut self, others: &Self) {
        self.0.retain(|owner, _| !others.0.contains_key(owner));
    }

    /// The bare address of an owner.
    pub(crate) fn address(&self, owner: &str) -> Option<&str> {
        self.0.get(owner)?.as_deref()?.split('/').next()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl fmt::Display for Owners {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |(name, address): (&String, &Option<String>)| match address {
            Some(address) => format!("{name}={address}"),
            None => name.clone(),
        };
        write!(formatter, "[{}]", self.0.iter().map(shown).collect::<Vec<_>>().join(" "))
    }
}
