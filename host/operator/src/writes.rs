//! The writes of an operator, one call each. A write that changes or ends an object carries the uid and the resourceVersion that were read, so that
//! the late write of a deposed leader fails.

mod block;
mod claim;
mod objects;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, Client, Resource};
use tenure_cluster::client::{ApiCallError, call};
use tenure_cluster::convert::{BlockLease, ClaimLease};
use tenure_cluster::objects::reference::ActiveEntry;
use tenure_cluster::{AddressClaim, AddressPool, IPAMClaim, NodeIPAMStatus};
use tenure_leases::operator::fence::FenceReason;
use tenure_leases::{AddressSpace as LeaseSpace, BlockMark, IpBlock, MarkId, ObjectVersion, RangeId, Uid};

use crate::memory::OperatorMemory;
use crate::reports::{Notice, Reports, WriteCause};
use crate::view::{BlockView, SaidView};

/// An object as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectTarget {
    /// The name.
    pub name: String,
    /// The uid.
    pub uid: String,
    /// The version that was read.
    pub version: String,
}

impl ObjectTarget {
    /// An object by what was read of it.
    #[must_use]
    pub fn new(name: &str, uid: Uid, version: ObjectVersion) -> Self {
        Self { name: name.to_owned(), uid: uid.to_string(), version: version.0.to_string() }
    }
}

/// A change of an IPBlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockChange {
    /// Order it back.
    Mark(BlockMark),
    /// Take a mark back.
    Clear(MarkId),
    /// Delete it: its holder is ready, or its quarantine is over.
    Delete,
    /// Let it go.
    RemoveFinalizer,
    /// Note that its pool is gone.
    Orphan,
    /// Put it in quarantine.
    Quarantine(FenceReason),
    /// Add up its time in quarantine.
    Elapse(u64),
    /// Give it back to its holder.
    Return,
    /// Note the uid of its holder's new Node.
    Adopt(Uid),
    /// End the turn of the node that has a claim's address: it was fenced, or it no longer says the turn.
    EndTurn,
    /// End the alternate turn, for the same reasons.
    EndAlternate,
}

/// A write.
#[derive(Debug, Clone, PartialEq)]
pub enum OperatorWrite {
    /// Create a space, or write its ranges at a version.
    Space {
        /// The overlap group.
        group: String,
        /// The version that was read.
        version: Option<ObjectVersion>,
        /// The ranges.
        space: LeaseSpace,
    },
    /// Remove closed ranges, if a quorum LIST shows no block of them.
    RemoveRanges {
        /// The overlap group.
        group: String,
        /// The version at which the ranges were read as closed.
        version: ObjectVersion,
        /// The space as it was read.
        space: LeaseSpace,
        /// The ranges.
        ranges: Vec<RangeId>,
    },
    /// Create an IPBlock.
    Grant(BlockLease),
    /// Create the IPBlock of a lost lease again.
    Reclaim(BlockLease),
    /// Create the IPBlock of a claim.
    GrantClaim(ClaimLease),
    /// Begin a node's turn with a claim's address.
    BeginTurn(Box<BlockView>, Box<ActiveEntry>),
    /// Begin the turn of the node that a virtual machine with a claim's address moves to.
    BeginAlternate(Box<BlockView>, Box<ActiveEntry>),
    /// Let the turns of a claim's block change places.
    SwitchTurns(Box<BlockView>),
    /// End the turn of a claim's block, unless the node says it by now.
    EndTurn(Box<BlockView>),
    /// End the alternate turn of a claim's block, unless its node says it by now.
    EndAlternate(Box<BlockView>),
    /// Delete the IPBlock of a claim, unless the claim is there by now, and has this address.
    ReleaseClaim(Box<BlockView>),
    /// Write a claim's status.
    ClaimStatus(Box<AddressClaim>),
    /// Write an IPAMClaim's status.
    IpamClaimStatus(Box<IPAMClaim>),
    /// Add or remove a claim's finalizer.
    ClaimFinalizer(Box<AddressClaim>, Vec<String>),
    /// Change an IPBlock.
    Block(Box<IpBlock>, String, String, BlockChange),
    /// Write the operator's half of a NodeIPAM.
    Hints(Arc<SaidView>, Box<NodeIPAMStatus>),
    /// Delete the NodeIPAM of a Node that is gone, and whose blocks are settled.
    Forget(ObjectTarget),
    /// Write a pool's status.
    PoolStatus(Box<AddressPool>),
    /// Add or remove a pool's finalizer.
    PoolFinalizer(ObjectTarget, Vec<String>),
    /// Write the taints of a Node.
    Taints(ObjectTarget, Vec<Taint>),
}

impl OperatorWrite {
    /// The claim that it is about, or the block of one whose lease ends. Nobody but that claim waits for it, and its user decides how large the claim is,
    /// and so how long the API server takes. `None` of any other write.
    #[must_use]
    pub fn claim(&self) -> Option<WrittenClaim<'_>> {
        match self {
            Self::GrantClaim(lease) if lease.claim.is_ipam() => Some(WrittenClaim::Ipam(&lease.claim.uid)),
            Self::GrantClaim(lease) => Some(WrittenClaim::Address(&lease.claim.uid)),
            Self::ClaimStatus(object) | Self::ClaimFinalizer(object, _) => {
                Some(WrittenClaim::Address(object.metadata.uid.as_deref().unwrap_or_default()))
            }
            Self::IpamClaimStatus(object) => {
                Some(WrittenClaim::Ipam(object.metadata.uid.as_deref().unwrap_or_default()))
            }
            Self::ReleaseClaim(view) => Some(WrittenClaim::Ending(&view.name)),
            _ => None,
        }
    }

    /// The change of a block.
    #[must_use]
    pub fn block(view: &BlockView, change: BlockChange) -> Self {
        Self::Block(Box::new(view.block.clone()), view.name.clone(), view.group.clone(), change)
    }
}

/// The claim that a write is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenClaim<'a> {
    /// The uid of an AddressClaim.
    Address(&'a str),
    /// The uid of an IPAMClaim.
    Ipam(&'a str),
    /// The name of a block whose lease ends.
    Ending(&'a str),
}

/// The time of a write.
#[derive(Debug, Clone, Copy)]
pub struct WriteTime {
    /// Since the machine's boot.
    pub elapsed: Duration,
    /// The time of day, for people.
    pub day: Timestamp,
}

/// Everything that a write needs besides itself.
pub struct WriteContext<'a> {
    /// The connection.
    pub client: &'a Client,
    /// The leader's memory, which notes what the API server confirmed.
    pub memory: &'a mut OperatorMemory,
    /// The metrics and events.
    pub reports: &'a Reports,
    /// The time.
    pub now: WriteTime,
}

impl WriteContext<'_> {
    /// All objects of a kind without a namespace.
    fn api<K: Resource<DynamicType = ()>>(&self) -> Api<K> {
        Api::all(self.client.clone())
    }

    /// Makes a call, and counts it.
    async fn call<T>(
        &self,
        verb: &'static str,
        cause: WriteCause,
        made: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, ApiCallError> {
        self.reports.metrics.counted(verb, cause, call(made)).await
    }

    fn tell(&self, notice: Notice) {
        self.reports.events.tell(notice, self.now.elapsed);
    }
}

/// Makes one write, and notes what the API server confirmed.
///
/// # Errors
/// If the API server refuses it or does not answer. A conflict means that the object has changed: the next pass decides from its new state.
pub async fn perform(context: &mut WriteContext<'_>, write: OperatorWrite) -> Result<(), ApiCallError> {
    let now = context.now.elapsed;
    match write {
        OperatorWrite::Grant(lease) => block::grant(context, &lease, WriteCause::Grant).await,
        OperatorWrite::Reclaim(lease) => block::grant(context, &lease, WriteCause::Reclaim).await,
        OperatorWrite::Block(read, name, group, change) => {
            block::change(context, &block::ChangedBlock { read: &read, name, group }, change).await
        }
        OperatorWrite::GrantClaim(lease) => claim::grant(context, &lease).await,
        OperatorWrite::BeginTurn(view, active) => claim::begin(context, &view, *active).await,
        OperatorWrite::BeginAlternate(view, entry) => claim::begin_alternate(context, &view, *entry).await,
        OperatorWrite::SwitchTurns(view) => claim::switch(context, &view).await,
        OperatorWrite::EndTurn(view) => claim::end(context, &view, BlockChange::EndTurn).await,
        OperatorWrite::EndAlternate(view) => claim::end(context, &view, BlockChange::EndAlternate).await,
        OperatorWrite::ReleaseClaim(view) => claim::release(context, &view).await,
        OperatorWrite::ClaimStatus(object) => claim::write_status(context, &object).await,
        OperatorWrite::IpamClaimStatus(object) => claim::write_ipam_status(context, &object).await,
        OperatorWrite::ClaimFinalizer(object, finalizers) => {
            claim::write_finalizers(context, &object, &finalizers).await
        }
        OperatorWrite::Space { group, version, space } => {
            objects::write_space(context, &group, version, &space).await
        }
        OperatorWrite::RemoveRanges { group, version, space, ranges } => {
            objects::remove_ranges(context, &group, version, space, &ranges).await
        }
        OperatorWrite::Hints(said, status) => objects::write_hints(context, &said, &status).await,
        OperatorWrite::Forget(target) => objects::forget(context, &target).await,
        OperatorWrite::PoolStatus(object) => {
            let (api, target) = (context.api(), ObjectTarget::from(&object.metadata));
            let written =
                objects::write_status(context, WriteCause::Pool, &api, &target, &object.status).await?;
            context.memory.pools.wrote(written, now);
            Ok(())
        }
        OperatorWrite::PoolFinalizer(target, finalizers) => {
            objects::write_finalizers(context, &target, &finalizers).await
        }
        OperatorWrite::Taints(target, taints) => objects::write_taints(context, &target, &taints).await,
    }
}
