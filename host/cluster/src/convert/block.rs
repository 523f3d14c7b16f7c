//! Reads IPBlocks, and makes the object of a lease.

use ipnet::IpNet;
use kube::api::ObjectMeta;
use tenure_leases::{
    BlockMark, BlockName, BlockNameError, BlockPhase, HolderIdentity, IpBlock, PoolKey, RangeId, TurnId,
};

use super::{ConversionError, cidr, count, object_uid, object_version, range_id};
use crate::BLOCK_FINALIZER;
use crate::objects::block::{IPBlock, IPBlockSpec, IPBlockStatus};
use crate::objects::reference::{ActiveEntry, ClaimReference};

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

/// The lease of one address to a claim, which is about to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimLease {
    /// The overlap group.
    pub group: String,
    /// The address, as a block.
    pub cidr: IpNet,
    /// The range for claims that it is of.
    pub range: RangeId,
    /// The pool.
    pub pool: PoolKey,
    /// The claim.
    pub claim: ClaimReference,
}

impl BlockLease {
    /// The object to create. Its name is the mutex.
    ///
    /// # Errors
    /// If the group or the CIDR cannot be part of a name.
    pub fn object(&self) -> Result<IPBlock, BlockNameError> {
        let spec = IPBlockSpec {
            group: self.group.clone(),
            cidr: self.cidr.to_string(),
            range_id: self.range.to_string(),
            pool: (&self.pool).into(),
            node_name: self.holder.name.to_string(),
            node_uid: self.holder.uid.to_string(),
            machine: self.holder.machine.to_string(),
            boot_id: self.holder.boot.to_string(),
            claim: None,
        };
        named(spec, self.cidr)
    }
}

impl ClaimLease {
    /// The object to create. Its name is the mutex.
    ///
    /// # Errors
    /// If the group or the address cannot be part of a name.
    pub fn object(&self) -> Result<IPBlock, BlockNameError> {
        let spec = IPBlockSpec {
            group: self.group.clone(),
            cidr: self.cidr.to_string(),
            range_id: self.range.to_string(),
            pool: (&self.pool).into(),
            node_name: String::new(),
            node_uid: String::new(),
            machine: String::new(),
            boot_id: String::new(),
            claim: Some(self.claim.clone()),
        };
        named(spec, self.cidr)
    }
}

/// The object of a lease, under the name that follows from its group and addresses.
fn named(spec: IPBlockSpec, cidr: IpNet) -> Result<IPBlock, BlockNameError> {
    let metadata = ObjectMeta {
        name: Some(BlockName::new(&spec.group, cidr)?.to_string()),
        finalizers: Some(vec![BLOCK_FINALIZER.to_owned()]),
        ..ObjectMeta::default()
    };
    Ok(IPBlock { metadata, spec, status: None })
}

impl IPBlock {
    /// The range that the block is a cell of.
    ///
    /// # Errors
    /// If it is not the id of a range.
    pub fn range(&self) -> Result<RangeId, ConversionError> {
        range_id(&self.spec.range_id)
    }

    /// A claim's block as the node of a turn has it: the holder is that node. `None` if the block does not name the turn.
    ///
    /// # Errors
    /// As of the conversion.
    pub fn in_turn(&self, turn: TurnId) -> Result<Option<IpBlock>, ConversionError> {
        let word = turn.to_string();
        let Some(status) = &self.status else { return Ok(None) };
        let is_it = |entry: &&ActiveEntry| entry.turn == word;
        if status.active.as_ref().filter(is_it).is_some() {
            return IpBlock::try_from(self).map(Some);
        }
        let Some(alternate) = status.alternate.as_ref().filter(is_it) else { return Ok(None) };
        // The phase is about the active node.
        let (phase, adopted_node_uid) = (BlockPhase::Leased, None);
        Ok(Some(IpBlock { holder: alternate.try_into()?, adopted_node_uid, phase, ..self.try_into()? }))
    }

    /// The turn that a claim's block names; `None` if no node has the address.
    ///
    /// # Errors
    /// If it is not the id of a turn.
    pub fn turn(&self) -> Result<Option<TurnId>, ConversionError> {
        let active = self.status.as_ref().and_then(|status| status.active.as_ref());
        Ok(active.map(|active| active.turn.parse()).transpose()?)
    }
}

/// The holder of a claim's block is the node whose turn it is.
impl TryFrom<&IPBlock> for IpBlock {
    type Error = ConversionError;

    fn try_from(object: &IPBlock) -> Result<Self, ConversionError> {
        let spec = &object.spec;
        let none = IPBlockStatus::default();
        let status = object.status.as_ref().unwrap_or(&none);
        let holder = match (&spec.claim, &status.active) {
            (None, _) => HolderIdentity {
                name: spec.node_name.as_str().into(),
                uid: spec.node_uid.parse()?,
                machine: spec.machine.parse()?,
                boot: spec.boot_id.parse()?,
            },
            (Some(_), Some(active)) => active.try_into()?,
            (Some(_), None) => HolderIdentity::nobody(),
        };
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

impl TryFrom<&ActiveEntry> for HolderIdentity {
    type Error = ConversionError;

    fn try_from(active: &ActiveEntry) -> Result<Self, ConversionError> {
        Ok(Self {
            name: active.node_name.as_str().into(),
            uid: active.node_uid.parse()?,
            machine: active.machine.parse()?,
            boot: active.boot_id.parse()?,
        })
    }
}
