//! Reads the settings and ranges of AddressPools.

use ipnet::IpNet;
use tenure_leases::{LeasePool, PoolKey};

use super::{ConversionError, cidr, count, object_name, object_uid};
use crate::objects::pool::{AddressPool, PoolQuota};

/// A CIDR of a pool, and the prefix length of the blocks that it is cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PoolRange {
    /// The addresses.
    pub cidr: IpNet,
    /// The prefix length of a block.
    pub unit: u8,
}

impl TryFrom<&AddressPool> for LeasePool {
    type Error = ConversionError;

    fn try_from(object: &AddressPool) -> Result<Self, ConversionError> {
        let (spec, none) = (&object.spec, PoolQuota::default());
        let quota = spec.quota.as_ref().unwrap_or(&none);
        let limit = |field, limit: Option<i64>| limit.map(|limit| count(field, limit)).transpose();
        Ok(Self {
            key: PoolKey { name: object_name(&object.metadata)?.into(), uid: object_uid(&object.metadata)? },
            disabled: spec.disabled,
            deleting: object.metadata.deletion_timestamp.is_some(),
            max_blocks_per_node: limit("maxBlocksPerNode", quota.max_blocks_per_node)?,
            max_blocks: limit("maxBlocks", quota.max_blocks)?,
            node_gone_quarantine_seconds: match spec.node_gone_quarantine_seconds {
                -1 => None,
                seconds => Some(count("nodeGoneQuarantineSeconds", seconds)?),
            },
            cooldown_seconds: count("cooldownSeconds", spec.cooldown_seconds)?,
            release_excess: spec.release_excess,
        })
    }
}

impl AddressPool {
    /// The CIDRs of both families, each with the size of its blocks.
    ///
    /// # Errors
    /// If one of them is not a CIDR.
    pub fn ranges(&self) -> Result<Vec<PoolRange>, ConversionError> {
        let ipv4 = self.spec.ipv4.iter().map(|family| (&family.cidrs, family.block_prefix));
        let ipv6 = self.spec.ipv6.iter().map(|family| (&family.cidrs, family.block_prefix));
        let all = ipv4.chain(ipv6);
        all.flat_map(|(cidrs, unit)| cidrs.iter().map(move |text| (text, unit)))
            .map(|(text, unit)| Ok(PoolRange { cidr: cidr(text)?, unit }))
            .collect()
    }

    /// The ranges of which something else hands out addresses, each as one cell.
    ///
    /// # Errors
    /// If one of them is not a CIDR.
    pub fn taken_ranges(&self) -> Result<Vec<PoolRange>, ConversionError> {
        let mut taken = Vec::new();
        for entry in &self.spec.taken {
            let cidr = cidr(&entry.cidr)?;
            let range = PoolRange { cidr, unit: cidr.prefix_len() };
            if !taken.contains(&range) {
                taken.push(range);
            }
        }
        Ok(taken)
    }
}
