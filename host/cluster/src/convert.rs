//! Conversion between the objects and the types of `tenure-leases`, whose tables decide.
//!
//! From an object it is strict: a word, a number or a CIDR that this version does not understand is an error about that object.

mod block;
mod claim;
mod exclusions;
mod node;
mod pool;
mod space;

use ipnet::IpNet;
use kube::api::{ListMeta, ObjectMeta};
use tenure_leases::{
    BlockMark, BlockNameError, ObjectVersion, PoolKey, RangeId, SpaceError, Uid, UnknownWord,
};

use crate::objects::reference::{MarkEntry, PoolReference};

pub use self::block::{BlockLease, ClaimLease};
pub use self::claim::ClaimWish;
pub use self::exclusions::{AddressRun, PoolExclusions};
pub(crate) use self::exclusions::{address, number};
pub use self::node::ReadStatus;
pub use self::pool::PoolRange;

/// The reason for which an object cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConversionError {
    /// The API server sets the field on every object that it stores.
    #[error("the object has no {0}")]
    Missing(&'static str),
    /// A word, an id or a uid.
    #[error(transparent)]
    Word(#[from] UnknownWord),
    /// A CIDR.
    #[error("{0:?} is not a CIDR")]
    Cidr(String),
    /// A number that is out of bounds.
    #[error("{0} is out of bounds")]
    Number(&'static str),
    /// The name of a block.
    #[error(transparent)]
    BlockName(#[from] BlockNameError),
    /// The ranges of a space contradict each other.
    #[error(transparent)]
    Space(#[from] SpaceError),
}

/// Reads the uid of a stored object.
fn object_uid(metadata: &ObjectMeta) -> Result<Uid, ConversionError> {
    Ok(metadata.uid.as_deref().ok_or(ConversionError::Missing("uid"))?.parse()?)
}

/// Reads the resourceVersion of a stored object.
///
/// # Errors
/// If it has none, or one that is not a number.
pub fn object_version(metadata: &ObjectMeta) -> Result<ObjectVersion, ConversionError> {
    let version = metadata.resource_version.as_deref().ok_or(ConversionError::Missing("resourceVersion"))?;
    version.parse().map(ObjectVersion).map_err(|_| ConversionError::Number("resourceVersion"))
}

/// Reads the version at which a list was served: the store's, when it was a quorum read. `None` if it is not a number.
#[must_use]
pub fn list_version(metadata: &ListMeta) -> Option<ObjectVersion> {
    metadata.resource_version.as_deref()?.parse().ok().map(ObjectVersion)
}

/// Reads the name of a stored object.
fn object_name(metadata: &ObjectMeta) -> Result<&str, ConversionError> {
    metadata.name.as_deref().ok_or(ConversionError::Missing("name"))
}

/// Reads a CIDR.
fn cidr(text: &str) -> Result<IpNet, ConversionError> {
    text.parse().map_err(|_| ConversionError::Cidr(text.to_owned()))
}

/// Reads a number that is not negative.
fn count<T: TryFrom<i64>>(field: &'static str, number: i64) -> Result<T, ConversionError> {
    T::try_from(number).map_err(|_| ConversionError::Number(field))
}

/// Reads the id of a range, which has sixteen digits.
fn range_id(text: &str) -> Result<RangeId, ConversionError> {
    let read = u64::from_str_radix(text, 16).map(RangeId);
    match read {
        Ok(id) if id.to_string() == text => Ok(id),
        _ => Err(UnknownWord { kind: "range id", word: text.to_owned() }.into()),
    }
}

impl TryFrom<&PoolReference> for PoolKey {
    type Error = ConversionError;

    fn try_from(pool: &PoolReference) -> Result<Self, ConversionError> {
        Ok(Self { name: pool.name.as_str().into(), uid: pool.uid.parse()? })
    }
}

impl From<&PoolKey> for PoolReference {
    fn from(pool: &PoolKey) -> Self {
        Self { name: pool.name.to_string(), uid: pool.uid.to_string() }
    }
}

impl TryFrom<&MarkEntry> for BlockMark {
    type Error = ConversionError;

    fn try_from(mark: &MarkEntry) -> Result<Self, ConversionError> {
        Ok(Self { id: mark.id.parse()?, why: mark.why.parse()? })
    }
}

impl From<BlockMark> for MarkEntry {
    fn from(mark: BlockMark) -> Self {
        Self { id: mark.id.to_string(), why: mark.why.to_string() }
    }
}

#[cfg(test)]
mod tests;
