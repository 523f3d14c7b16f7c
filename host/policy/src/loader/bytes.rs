//! The bytes behind a stamp: a catalogued source, or the node's own copy.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use tenure_types::{Error, ErrorCode, PolicyName, PolicyStamp, hold_exclusive, hold_shared};

use super::kept::KeptComponents;
use super::source::CatalogueSource;

/// A source and the stamp that it must match. The stamp is stored, as hashing an embedded component on each request
/// would be too slow.
#[derive(Debug)]
pub(crate) struct Catalogued {
    pub(crate) stamp: PolicyStamp,
    pub(crate) source: CatalogueSource,
}

impl Catalogued {
    /// Whether it is a watched file that has not been read, so that its name stands for nothing yet.
    pub(crate) fn is_unread(&self) -> bool {
        self.stamp.digest.is_empty()
    }

    /// Whether the node's own copy comes before the file, which may have changed.
    fn is_copied(&self) -> bool {
        matches!(self.source, CatalogueSource::Watched { .. })
    }
}

/// The component that each name stands for.
pub(crate) type Sources = BTreeMap<PolicyName, Arc<Catalogued>>;

/// The places from which components are read.
#[derive(Debug)]
pub(crate) struct ComponentStore {
    /// Held to look up a name, and to replace the sources when the configuration is reloaded.
    sources: RwLock<Sources>,
    pub(crate) kept: KeptComponents,
    /// The largest component that is read, in bytes.
    most: usize,
}

impl ComponentStore {
    pub(crate) fn new(sources: Sources, kept: KeptComponents, most: usize) -> Self {
        Self { sources: RwLock::new(sources), kept, most }
    }

    /// A copy of the current sources.
    pub(crate) fn sources(&self) -> Sources {
        hold_shared(&self.sources).clone()
    }

    /// Replaces the sources and returns the old ones.
    pub(crate) fn replace(&self, sources: Sources) -> Sources {
        std::mem::replace(&mut *hold_exclusive(&self.sources), sources)
    }

    /// The component that a name stands for.
    pub(crate) fn named(&self, name: &PolicyName) -> Result<Arc<Catalogued>, Error> {
        let sources = hold_shared(&self.sources);
        sources.get(name).cloned().ok_or_else(|| {
            let known: Vec<_> = sources.keys().map(PolicyName::as_str).collect();
            let known = known.join(", ");
            Error::new(
                ErrorCode::UnknownPolicy,
                format_args!("no policy {name} on this node; it has {known}"),
            )
        })
    }

    /// The signatures of a stamp's component: the node's own copy, and the one beside its file. Either may be the good one: the same
    /// component has another signature once it is signed again.
    pub(crate) fn signatures(&self, stamp: &PolicyStamp) -> Vec<String> {
        let catalogued = self.named(&stamp.name).ok().filter(|now| now.stamp == *stamp);
        let beside = catalogued.and_then(|catalogued| catalogued.source.signature());
        let kept = self.kept.signature(stamp).filter(|kept| beside.as_ref() != Some(kept));
        kept.into_iter().chain(beside).collect()
    }

    /// Reads a stamp's component. The node's own copy replaces a file that is missing or unreadable. The file's
    /// digest is checked by the caller.
    pub(crate) fn find(&self, stamp: &PolicyStamp) -> Result<Cow<'static, [u8]>, Error> {
        let unloadable = |cause: &dyn std::fmt::Display| {
            Error::new(ErrorCode::PolicyUnloadable, format_args!("policy {stamp}: {cause}"))
        };
        let catalogued = self.named(&stamp.name).ok().filter(|now| now.stamp == *stamp);
        let Some(catalogued) = catalogued else {
            let gone = &"this node has no copy of it, and the catalogue does not list it";
            return self.kept.get(&stamp.digest).map(Cow::Owned).ok_or_else(|| unloadable(gone));
        };
        let kept = catalogued.is_copied().then(|| self.kept.get(&stamp.digest)).flatten();
        if let Some(kept) = kept {
            return Ok(Cow::Owned(kept));
        }
        match catalogued.source.read(self.most) {
            Ok(bytes) => Ok(bytes),
            Err(cause) => self.kept.get(&stamp.digest).map(Cow::Owned).ok_or_else(|| unloadable(&cause)),
        }
    }
}
