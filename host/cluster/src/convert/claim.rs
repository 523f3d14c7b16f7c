//! Reads what AddressClaims ask for.

use std::net::IpAddr;

use super::{ConversionError, object_name};
use crate::objects::claim::AddressClaim;
use crate::objects::reference::ClaimReference;

/// The address that a claim asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimWish {
    /// The claim.
    pub claim: ClaimReference,
    /// The AddressPool.
    pub pool: String,
    /// The only address that will do.
    pub address: Option<IpAddr>,
    /// The address that the claim had before its lease was lost.
    pub before: Option<IpAddr>,
    /// Whether it must be one of IPv6 (`true`) or of IPv4 (`false`).
    pub is_ipv6: Option<bool>,
}

impl TryFrom<&AddressClaim> for ClaimWish {
    type Error = ConversionError;

    fn try_from(object: &AddressClaim) -> Result<Self, ConversionError> {
        let metadata = &object.metadata;
        let claim = ClaimReference {
            namespace: metadata.namespace.clone().ok_or(ConversionError::Missing("namespace"))?,
            name: object_name(metadata)?.to_owned(),
            uid: metadata.uid.clone().ok_or(ConversionError::Missing("uid"))?,
        };
        let address = |text: &String| text.parse().map_err(|_| ConversionError::Cidr(text.clone()));
        let had = object.status.as_ref().and_then(|status| status.address.as_ref());
        let wanted = object.spec.address.as_ref().map(address).transpose()?;
        Ok(Self {
            claim,
            pool: object.spec.pool.clone(),
            address: wanted,
            before: had.map(address).transpose()?,
            is_ipv6: match (wanted, object.spec.family.as_deref()) {
                (Some(address), _) => Some(address.is_ipv6()),
                (None, family) => family.map(|family| family == "IPv6"),
            },
        })
    }
}
