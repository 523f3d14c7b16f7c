//! Keeps values that many allocations have in common only once.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use tenure_types::{InterfaceName, NetworkName, PolicyStamp, Source};

/// The values that have been read.
#[derive(Debug, Default)]
pub(super) struct Shared {
    networks: HashSet<NetworkName>,
    interfaces: HashSet<InterfaceName>,
    policies: HashSet<Arc<PolicyStamp>>,
    sources: HashSet<Arc<Source>>,
    namespaces: HashSet<Arc<str>>,
}

impl Shared {
    pub(super) fn network(&mut self, text: &str) -> Result<NetworkName, String> {
        named(&mut self.networks, text, |text| NetworkName::new(text))
    }

    pub(super) fn interface(&mut self, text: &str) -> Result<InterfaceName, String> {
        named(&mut self.interfaces, text, |text| InterfaceName::new(text))
    }

    pub(super) fn namespace(&mut self, text: &str) -> Arc<str> {
        match self.namespaces.get(text) {
            Some(known) => Arc::clone(known),
            None => {
                let namespace: Arc<str> = text.into();
                self.namespaces.insert(Arc::clone(&namespace));
                namespace
            }
        }
    }

    pub(super) fn policy(&mut self, stamp: PolicyStamp) -> Arc<PolicyStamp> {
        once(&mut self.policies, stamp)
    }

    pub(super) fn source(&mut self, source: Source) -> Arc<Source> {
        once(&mut self.sources, source)
    }
}

fn named<T, E>(known: &mut HashSet<T>, text: &str, new: impl Fn(&str) -> Result<T, E>) -> Result<T, String>
where
    T: Hash + Eq + Clone + std::borrow::Borrow<str>,
    E: std::fmt::Display,
{
    if let Some(name) = known.get(text) {
        return Ok(name.clone());
    }
    let name = new(text).map_err(|error| error.to_string())?;
    known.insert(name.clone());
    Ok(name)
}

fn once<T: Hash + Eq>(known: &mut HashSet<Arc<T>>, value: T) -> Arc<T> {
    match known.get(&value) {
        Some(known) => Arc::clone(known),
        None => {
            let value = Arc::new(value);
            known.insert(Arc::clone(&value));
            value
        }
    }
}
