//! Subnets in the configuration: one that cannot be read is refused with an example.

use ipnet::IpNet;
use serde::{Deserialize, Deserializer};

/// A subnet as it is written.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct WrittenSubnet(IpNet);

impl TryFrom<String> for WrittenSubnet {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self).map_err(|_| "expected a subnet such as 10.1.0.0/16 or fd00::/64")
    }
}

/// Reads a list of subnets.
pub(super) fn subnets<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<IpNet>, D::Error> {
    let subnets = Vec::<WrittenSubnet>::deserialize(from)?;
    Ok(subnets.into_iter().map(|WrittenSubnet(subnet)| subnet).collect())
}
