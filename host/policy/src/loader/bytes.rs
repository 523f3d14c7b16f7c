//! The bytes behind a stamp: a catalogued source, or the node's own copy.

use std::borrow::Cow;
use std::collections::BTreeMap;

use tenure_types::{Error, ErrorCode, PolicyName, PolicyStamp};

use super::kept::KeptComponents;
use super::source::CatalogueSource;

/// Where components are found.
#[derive(Debug)]
pub(crate) struct Bytes {
    /// With each source the stamp that it promises; hashing an embedded one is not for every request.
    pub(crate) sources: BTreeMap<PolicyName, (PolicyStamp, CatalogueSource)>,
    pub(crate) kept: KeptComponents,
    /// The most bytes of a component.
    pub(crate) most: usize,
}

impl Bytes {
    /// The stamp that a name's source promises, and the source.
    pub(crate) fn named(&self, name: &PolicyName) -> Result<(&PolicyStamp, &CatalogueSource), Error> {
        let (stamp, source) = self.sources.get(name).ok_or_else(|| {
            let known: Vec<_> = self.sources.keys().map(PolicyName::as_str).collect();
            let known = known.join(", ");
            Error::new(ErrorCode::UnknownPolicy, format_args!("no policy {name}; there are {known}"))
        })?;
        Ok((stamp, source))
    }

    /// A stamp's component, wherever it is. A file that is gone is replaced by the node's copy; one that is another is not.
    pub(crate) fn find(&self, stamp: &PolicyStamp) -> Result<Cow<'static, [u8]>, Error> {
        let unloadable = |cause: &dyn std::fmt::Display| {
            Error::new(ErrorCode::PolicyUnloadable, format_args!("policy {stamp}: {cause}"))
        };
        let catalogued = self.named(&stamp.name).ok().filter(|(now, _)| *now == stamp);
        let Some((_, source)) = catalogued else {
            let gone = &"it is not kept on this node, and the catalogue has another";
            return self.kept.get(&stamp.digest).map(Cow::Owned).ok_or_else(|| unloadable(gone));
        };
        match source.read(self.most) {
            Ok(bytes) => Ok(bytes),
            Err(cause) => self.kept.get(&stamp.digest).map(Cow::Owned).ok_or_else(|| unloadable(&cause)),
        }
    }
}
