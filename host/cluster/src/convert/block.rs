//! Reads IPBlocks, and makes the object of a lease.

use ipnet::IpNet;
use kube::api::ObjectMeta;
use tenure_leases::{
    BlockMark, BlockName, BlockNameError, BlockPhase, HolderIdentity, IpBlock, PoolKey, RangeId,
};

use super::{ConversionError, cidr, count, object_uid, object_version, range_id};
use crate::BLOCK_FINALIZER;
use crate::objects::block::{IPBlock, IPBlockSpec, IPBlockStatus};

/// A lease that is about to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockLease {
    /// The overlap group.
    pub group: String,
    /// The addresses.
    pub cidr: IpNet,
    /// The range that it is a cell of.
    pub range: RangeId,
    /// The pool.
    pub pool: PoolKey,
    /// The holder.
    pub holder: HolderIdentity,
}

impl BlockLease {
    /// The object to create. Its name is the mutex.
    ///
    /// # Errors
    /// If the group or the CIDR cannot be part of a name.
    pub fn object(&self) -> Result<IPBlock, BlockNameError> {
        let name = BlockName::new(&self.group, self.cidr)?;
        let spec = IPBlockSpec {
            group: self.group.clone(),
            cidr: self.cidr.to_string(),
            range_id: self.range.to_string(),
            pool: (&self.pool).into(),
            node_name: self.holder.name.to_string(),
            node_uid: self.holder.uid.to_string(),
            machine: self.holder.machine.to_string(),
            boot_id: self.holder.boot.to_string(),
        };
        let metadata = ObjectMeta {
            name: Some(name.to_string()),
            finalizers: Some(vec![BLOCK_FINALIZER.to_owned()]),
            ..ObjectMeta::default()
        };
        Ok(IPBlock { metadata, spec, status: None })
    }
}

impl IPBlock {
    /// The range that the block is a cell of.
    ///
    /// # Errors
    /// If it is not the id of a range.
    pub fn range(&self) -> Result<RangeId, ConversionError> {
        range_id(&self.spec.range_id)
    }
}

impl TryFrom<&IPBlock> for IpBlock {
    type Error = ConversionError;

    fn try_from(object: &IPBlock) -> Result<Self, ConversionError> {
        let spec = &object.spec;
        let holder = HolderIdentity {
            name: spec.node_name.as_str().into(),
            uid: spec.node_uid.parse()?,
            machine: spec.machine.parse()?,
            boot: spec.boot_id.parse()?,
        };
        let none = IPBlockStatus::default();
        let status = object.status.as_ref().unwrap_or(&none);
        Ok(Self {
            uid: object_uid(&object.metadata)?,
            version: object_version(&object.metadata)?,
            cidr: cidr(&spec.cidr)?,
            range: range_id(&spec.range_id)?,
            pool: (&spec.pool).try_into()?,
            holder,
            adopted_node_uid: status.adopted_node_uid.as_deref().map(str::parse).transpose()?,
            phase: status.phase.parse::<BlockPhase>()?,
            mark: status.mark.as_ref().map(BlockMark::try_from).transpose()?,
            cleared: status.cleared.as_deref().map(str::parse).transpose()?,
            deleting: object.metadata.deletion_timestamp.is_some(),
            elapsed_seconds: count::<u64>("elapsedSeconds", status.elapsed_seconds)?,
        })
    }
}
