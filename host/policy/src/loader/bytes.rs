//! The bytes behind a stamp: a catalogued source, or the node's own copy.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use tenure_types::{Error, ErrorCode, PolicyName, PolicyStamp};

use super::kept::KeptComponents;
use super::source::CatalogueSource;

/// A source and the stamp that it promises; hashing an embedded one is not for every request.
#[derive(Debug)]
pub(crate) struct Catalogued {
    pub(crate) stamp: PolicyStamp,
    pub(crate) source: CatalogueSource,
}

/// What each name means.
pub(crate) type Sources = BTreeMap<PolicyName, Arc<Catalogued>>;

/// Where components are found.
#[derive(Debug)]
pub(crate) struct Bytes {
    /// Held to look a name up, and to put others in their place when the configuration is read again.
    sources: RwLock<Sources>,
    pub(crate) kept: KeptComponents,
    /// The most bytes of a component.
    most: usize,
}

impl Bytes {
    pub(crate) fn new(sources: Sources, kept: KeptComponents, most: usize) -> Self {
        Self { sources: RwLock::new(sources), kept, most }
    }

    /// What each name means now.
    pub(crate) fn sources(&self) -> Sources {
        self.sources.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts other sources in the place of these, which it returns.
    pub(crate) fn replace(&self, sources: Sources) -> Sources {
        std::mem::replace(&mut *self.sources.write().unwrap_or_else(PoisonError::into_inner), sources)
    }

    /// What a name means.
    pub(crate) fn named(&self, name: &PolicyName) -> Result<Arc<Catalogued>, Error> {
        let sources = self.sources.read().unwrap_or_else(PoisonError::into_inner);
        sources.get(name).cloned().ok_or_else(|| {
            let known: Vec<_> = sources.keys().map(PolicyName::as_str).collect();
            let known = known.join(", ");
            Error::new(ErrorCode::UnknownPolicy, format_args!("no policy {name}; there are {known}"))
        })
    }

    /// A stamp's component, wherever it is. A file that is gone is replaced by the node's copy; one that is another is not.
    pub(crate) fn find(&self, stamp: &PolicyStamp) -> Result<Cow<'static, [u8]>, Error> {
        let unloadable = |cause: &dyn std::fmt::Display| {
            Error::new(ErrorCode::PolicyUnloadable, format_args!("policy {stamp}: {cause}"))
        };
        let catalogued = self.named(&stamp.name).ok().filter(|now| now.stamp == *stamp);
        let Some(catalogued) = catalogued else {
            let gone = &"it is not kept on this node, and the catalogue has another";
            return self.kept.get(&stamp.digest).map(Cow::Owned).ok_or_else(|| unloadable(gone));
        };
        match catalogued.source.read(self.most) {
            Ok(bytes) => Ok(bytes),
            Err(cause) => self.kept.get(&stamp.digest).map(Cow::Owned).ok_or_else(|| unloadable(&cause)),
        }
    }
}
