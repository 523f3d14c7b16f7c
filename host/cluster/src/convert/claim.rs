//! Reads what AddressClaims and IPAMClaims ask for.

use std::net::IpAddr;

use ipnet::IpNet;
use kube::api::ObjectMeta;
use tenure_leases::ClaimKind;

use super::{ConversionError, object_name};
use crate::objects::claim::AddressClaim;
use crate::objects::ipam_claim::IPAMClaim;
use crate::objects::reference::ClaimReference;

fn reference(kind: ClaimKind, metadata: &ObjectMeta) -> Result<ClaimReference, ConversionError> {
    Ok(ClaimReference {
        kind: kind.to_string(),
        namespace: metadata.namespace.clone().ok_or(ConversionError::Missing("namespace"))?,
        name: object_name(metadata)?.to_owned(),
        uid: metadata.uid.clone().ok_or(ConversionError::Missing("uid"))?,
    })
}

impl IPAMClaim {
    /// The reference that its blocks have.
    ///
    /// # Errors
    /// If the API server has not stored it yet.
    pub fn reference(&self) -> Result<ClaimReference, ConversionError> {
        reference(ClaimKind::Ipam, &self.metadata)
    }

    /// The claim's wish for an address of one family of a pool.
    ///
    /// # Errors
    /// If an address cannot be read.
    pub fn wish(&self, pool: &str, is_ipv6: bool) -> Result<ClaimWish, ConversionError> {
        let had = self.status.iter().flat_map(|status| &status.ips);
        Ok(ClaimWish {
            claim: self.reference()?,
            pool: pool.to_owned(),
            address: of_family(&self.spec.ip_requests, is_ipv6)?,
            before: of_family(had, is_ipv6)?,
            is_ipv6: Some(is_ipv6),
        })
    }
}

/// The first address of a family.
fn of_family<'a>(
    cidrs: impl IntoIterator<Item = &'a String>,
    is_ipv6: bool,
) -> Result<Option<IpAddr>, ConversionError> {
    for text in cidrs {
        let cidr: IpNet = text.parse().map_err(|_| ConversionError::Cidr(text.clone()))?;
        if cidr.addr().is_ipv6() == is_ipv6 {
            return Ok(Some(cidr.addr()));
        }
    }
    Ok(None)
}

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
        let claim = reference(ClaimKind::Address, &object.metadata)?;
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
