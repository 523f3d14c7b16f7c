//! The reasons for which a node waits for a block, in words.

use tenure_leases::operator::grant::GrantRefusal;

use crate::decide::{ADDRESSES_HELD, EXHAUSTED, WaitReason};
use crate::view::PoolView;

/// The reason for which a node waits when the pool's selector says nothing about nodes.
const INVALID_SELECTOR: &str = "InvalidSelector";

/// The reason for which a node waits when a quota is used up.
pub(super) const QUOTA: &str = "QuotaReached";

/// The reason for which a node waits that the pool is not for.
pub(in crate::decide) const NOT_ADMITTED: &str = "NotAdmitted";

/// The reason for which a node waits for a pool that is disabled or being deleted.
pub(in crate::decide) const POOL_CLOSED: &str = "PoolClosed";

/// No block of the pool is free.
pub(super) fn no_block(pool: &PoolView) -> WaitReason {
    WaitReason { reason: EXHAUSTED, message: format!("no block of pool {} is free", pool.lease.key.name) }
}

/// The free blocks have addresses that the node has of another overlap group.
pub(super) fn only_own(pool: &PoolView) -> WaitReason {
    let name = &pool.lease.key.name;
    let message =
        format!("the node has addresses of each free block of pool {name} already, of another overlap group");
    WaitReason { reason: ADDRESSES_HELD, message }
}

/// The pool's selector says nothing about nodes.
pub(in crate::decide) fn invalid_selector(pool: &PoolView) -> WaitReason {
    let message = format!("a selector of pool {} is not valid", pool.lease.key.name);
    WaitReason { reason: INVALID_SELECTOR, message }
}

/// The pool is new, or its addresses are still another's.
pub(super) fn no_range(pool: &PoolView) -> WaitReason {
    let message = format!("the addresses of pool {} are not open yet", pool.lease.key.name);
    WaitReason { reason: "OperatorWaits", message }
}

/// The pool cannot be read.
pub(in crate::decide) fn unreadable_pool(name: &str) -> WaitReason {
    let message = format!("this version of the operator cannot read AddressPool {name}");
    WaitReason { reason: "OperatorWaits", message }
}

/// The words of a refusal.
pub(in crate::decide) fn refused(refusal: &GrantRefusal) -> WaitReason {
    let reason = match refusal {
        GrantRefusal::Barrier => "OperatorWaits",
        GrantRefusal::PoolClosed => POOL_CLOSED,
        GrantRefusal::NotAdmitted => NOT_ADMITTED,
        GrantRefusal::NodeQuota(_) | GrantRefusal::PoolQuota(_) | GrantRefusal::NodeFull => QUOTA,
        GrantRefusal::Satisfied | GrantRefusal::Held | GrantRefusal::Space(_) => "BlockTaken",
    };
    WaitReason { reason, message: refusal.to_string() }
}
