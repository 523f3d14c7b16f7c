//! The allow-list: the delegates of the daemon's configuration, by name.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use tenure_engine::ports::{Answer, Delegate as Port, DelegateFailure, Giving, Policy};
use tenure_types::{DelegateCall, DelegateName, DelegateVerb, hold_exclusive, hold_shared};

use crate::calls::DelegateCalls;
use crate::delegate::DelegateProgram;
use crate::failure::CallFailure;
use crate::proposer::Proposer;
use crate::settings::DelegateSettings;

/// The delegates that may be run. A reload replaces them.
#[derive(Debug)]
pub struct Allowed {
    /// The directory of the lock files, one for each delegate.
    directory: PathBuf,
    /// A `std::sync::RwLock`, held for a look-up.
    table: RwLock<AllowTable>,
}

#[derive(Debug, Default)]
struct AllowTable {
    delegates: BTreeMap<DelegateName, Arc<AllowedDelegate>>,
    /// The calls of every delegate that there has been: they go on when its settings change.
    calls: BTreeMap<DelegateName, Arc<DelegateCalls>>,
}

/// One delegate, with the policy that stands for it.
#[derive(Debug)]
struct AllowedDelegate {
    name: DelegateName,
    delegate: DelegateProgram,
    proposer: Arc<Proposer>,
}

impl Allowed {
    /// No delegates yet. The directory is the daemon's own, lasts until the next boot, and is made when it is needed.
    #[must_use]
    pub fn new(directory: PathBuf) -> Self {
        Self { directory, table: RwLock::default() }
    }

    /// Replaces the delegates. One whose settings are the same stays, with what is known of it.
    pub fn set(&self, settings: BTreeMap<DelegateName, DelegateSettings>) {
        let mut table = hold_exclusive(&self.table);
        let before = std::mem::take(&mut table.delegates);
        for (name, settings) in settings {
            let same = before.get(&name).filter(|entry| *entry.delegate.settings() == settings);
            let entry = same.map(Arc::clone).unwrap_or_else(|| {
                let file = || Arc::new(DelegateCalls::new(self.directory.join(name.as_str())));
                let calls = table.calls.entry(name.clone()).or_insert_with(file);
                Arc::new(AllowedDelegate::new(&name, settings, Arc::clone(calls)))
            });
            table.delegates.insert(name, entry);
        }
    }

    /// A delegate.
    #[must_use]
    pub fn get(&self, name: &DelegateName) -> Option<Arc<dyn Port>> {
        self.entry(name).map(|entry| entry as Arc<dyn Port>)
    }

    /// The policy that stands for a delegate.
    #[must_use]
    pub fn policy(&self, name: &DelegateName) -> Option<Arc<dyn Policy>> {
        self.entry(name).map(|entry| Arc::clone(&entry.proposer) as Arc<dyn Policy>)
    }

    fn entry(&self, name: &DelegateName) -> Option<Arc<AllowedDelegate>> {
        hold_shared(&self.table).delegates.get(name).cloned()
    }
}

impl AllowedDelegate {
    fn new(name: &DelegateName, settings: DelegateSettings, calls: Arc<DelegateCalls>) -> Self {
        let proposer = Arc::new(Proposer::new(name, settings.sha256.as_deref()));
        Self { name: name.clone(), delegate: DelegateProgram::new(settings, calls), proposer }
    }
}

impl Port for AllowedDelegate {
    fn add<'a>(&'a self, call: &'a DelegateCall) -> Giving<'a> {
        Box::pin(async {
            self.delegate.add(call).await.map_err(|failure| DelegateFailure {
                error: failure.told(self.name.as_str()),
                may_have_run: failure.may_have_run(),
                is_refusal: failure.is_refusal(),
            })
        })
    }

    fn tell<'a>(&'a self, call: &'a DelegateCall, verb: &'a DelegateVerb) -> Answer<'a, bool> {
        Box::pin(async move {
            match self.delegate.tell(call, verb).await {
                Ok(()) => Ok(true),
                Err(CallFailure::NoSuchVerb(..)) => Ok(false),
                Err(failure) => Err(failure.told(self.name.as_str())),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reload_keeps_what_stays_the_same() {
        let allowed = Allowed::new("/run/tenure/delegates".into());
        let name = |text: &str| DelegateName::new(text).unwrap();
        let settings = |path: &str| DelegateSettings::new(path.into());
        allowed.set(BTreeMap::from([(name("a"), settings("/a")), (name("b"), settings("/b"))]));
        let before = ["a", "b"].map(|text| allowed.entry(&name(text)).unwrap());
        allowed.set(BTreeMap::from([(name("a"), settings("/a")), (name("b"), settings("/c"))]));
        let after = ["a", "b"].map(|text| allowed.entry(&name(text)).unwrap());
        assert!(Arc::ptr_eq(&before[0], &after[0]) && !Arc::ptr_eq(&before[1], &after[1]));
        allowed.set(BTreeMap::new());
        assert!(allowed.get(&name("a")).is_none() && allowed.policy(&name("a")).is_none());
    }
}
