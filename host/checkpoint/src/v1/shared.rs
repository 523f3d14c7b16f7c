//! Keeps values that many allocations have in common only once.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use tenure_types::{InterfaceName, NetworkName, PolicyName, PolicyStamp, Source};

/// The values that have been read.
#[derive(Debug, Default)]
pub(super) struct Shared {
    networks: HashSet<NetworkName>,
    interfaces: HashSet<InterfaceName>,
    policies: HashSet<Arc<PolicyStamp>>,
    sources: HashSet<Arc<Source>>,
    namespaces: HashSet<Arc<str>>,
    last_policy: Option<Arc<PolicyStamp>>,
    last_source: Option<Arc<Source>>,
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

    /// The policy of this name and digest. Neighbouring lines mostly have the same, which is not made again.
    pub(super) fn policy(&mut self, name: &str, digest: &str) -> Result<Arc<PolicyStamp>, String> {
        let is_same = |last: &&Arc<PolicyStamp>| last.name.as_str() == name && *last.digest == *digest;
        if let Some(last) = self.last_policy.as_ref().filter(is_same) {
            return Ok(Arc::clone(last));
        }
        let name = PolicyName::new(name).map_err(|error| error.to_string())?;
        let policy = once(&mut self.policies, PolicyStamp { name, digest: digest.into() });
        self.last_policy = Some(Arc::clone(&policy));
        Ok(policy)
    }

    /// The source that a line describes, made only if it is not that of the line before.
    pub(super) fn source(
        &mut self,
        is_same: impl FnOnce(&Source) -> bool,
        make: impl FnOnce() -> Result<Source, String>,
    ) -> Result<Arc<Source>, String> {
        if let Some(last) = self.last_source.as_ref().filter(|last| is_same(last)) {
            return Ok(Arc::clone(last));
        }
        let source = once(&mut self.sources, make()?);
        self.last_source = Some(Arc::clone(&source));
        Ok(source)
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
