//! IPAMClaims: leases as of any claim, and the status that their standard has. They get no finalizer: their owner decides when they go.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use tenure_cluster::{IPAMClaim, IPAMClaimStatus};

use super::super::conditions::{WantedCondition, condition};
use super::{ADDRESS_CLOSED, ClaimLeasing, FoundLease, MAX_WRITES, WaitReason, beginning_at};
use crate::view::{BlockView, IpamClaimView, ObjectAge, age};
use crate::writes::{OperatorWrite, WriteTime};

/// Decides about the IPAMClaims of networks that pools name, the one that was left out first. Returns the writes, and the first claim that is left out
/// now.
pub(super) fn claims(
    leasing: &mut ClaimLeasing<'_>,
    first: Option<&ObjectAge>,
    now: WriteTime,
) -> (Vec<OperatorWrite>, Option<ObjectAge>) {
    let (claims, mut writes) = (leasing.view.ipam_claims.as_deref().unwrap_or_default(), Vec::new());
    let age = |claim: &IpamClaimView| age(&claim.object.metadata);
    let position = first.map_or(0, |first| claims.partition_point(|claim| age(claim) < *first));
    for claim in beginning_at(claims, position).filter(|claim| !claim.wishes.is_empty()) {
        if writes.len() >= MAX_WRITES {
            return (writes, Some(age(claim)));
        }
        let is_leaving = claim.object.metadata.deletion_timestamp.is_some();
        let (mut blocks, mut waits, mut begins) = (Vec::new(), None, false);
        for wish in &claim.wishes {
            match leasing.find(wish, is_leaving) {
                FoundLease::Leased(block) => blocks.push(block),
                FoundLease::Begins(lease) => {
                    writes.push(OperatorWrite::GrantClaim(lease));
                    begins = true;
                }
                FoundLease::Waits(why) => waits = waits.or(Some(why)),
                FoundLease::Ends => {}
            }
        }
        if !is_leaving && !begins {
            writes.extend(status(leasing, claim, &blocks, waits, now));
        }
    }
    (writes, None)
}

/// Writes the status where it differs.
fn status(
    leasing: &ClaimLeasing<'_>,
    claim: &IpamClaimView,
    blocks: &[&BlockView],
    waits: Option<WaitReason>,
    now: WriteTime,
) -> Option<OperatorWrite> {
    let object = &claim.object;
    let old = object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let had = object.status.as_ref().map(|status| status.ips.clone()).unwrap_or_default();
    let is_whole = waits.is_none();
    let ips: Vec<String> = blocks.iter().map(|block| cidr(leasing, block)).collect();
    let closed = blocks.iter().find_map(|block| leasing.view.closed(block));
    let closed = closed.map(|message| WaitReason { reason: ADDRESS_CLOSED, message });
    let wanted = match waits.or(closed) {
        None => WantedCondition {
            name: "IPsAllocated",
            is_true: true,
            reason: "Leased",
            message: format!("{} leased to the claim", ips.join(" and ")),
        },
        Some(why) => {
            WantedCondition { name: "IPsAllocated", is_true: false, reason: why.reason, message: why.message }
        }
    };
    let condition: Condition = condition(old, wanted, object.metadata.generation.unwrap_or_default(), now);
    let pods = blocks.iter().flat_map(|block| &block.claimed).filter_map(|claimed| claimed.active.as_ref());
    // What the definition lacks, the API server would drop again.
    let pods = pods.filter(|_| leasing.names_pods);
    let mut pods = pods.filter_map(|active| active.pod.split_once('/').map(|(_, name)| name.to_owned()));
    let status = IPAMClaimStatus {
        // The claim of a lost lease gets the same addresses again, if it can.
        ips: if is_whole { ips } else { had },
        owner_pod: pods.next().unwrap_or_default(),
        conditions: vec![condition],
    };
    (object.status.as_ref() != Some(&status)).then(|| {
        let object = IPAMClaim { status: Some(status), ..object.as_ref().clone() };
        OperatorWrite::IpamClaimStatus(Box::new(object))
    })
}

/// The address of a block with the prefix length of the pool's CIDR, as the standard has it.
fn cidr(leasing: &ClaimLeasing<'_>, block: &BlockView) -> String {
    let address = block.block.cidr.addr();
    let pool = leasing.view.pool(block.block.pool.uid);
    let around = pool.and_then(|pool| pool.ranges.iter().find(|range| range.cidr.contains(&address)));
    let length = around.map_or(block.block.cidr.prefix_len(), |range| range.cidr.prefix_len());
    format!("{address}/{length}")
}
