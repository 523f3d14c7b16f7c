//! JSON of the fields that are not printed as they are; the build script names them.

use serde::{Serialize, Serializer};

use crate::v1::Family;

/// Nothing: the value is printed elsewhere.
pub(crate) fn none<T, S: Serializer>(_: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_none()
}

/// The number of bytes of a state.
pub(crate) fn length<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    bytes.len().serialize(serializer)
}

/// The name of an address family.
pub(crate) fn family<S: Serializer>(family: &i32, serializer: S) -> Result<S::Ok, S::Error> {
    let name = match Family::try_from(*family) {
        Ok(Family::Ipv4) => "ipv4",
        Ok(Family::Ipv6) => "ipv6",
        Ok(Family::Unspecified) | Err(_) => "unknown",
    };
    name.serialize(serializer)
}
