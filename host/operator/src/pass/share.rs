//! The time that a pass spends on writes about claims. Those that it leaves out are first in the next pass.
//!
//! A write of a claim with as many labels as it can have takes a second, and one that somebody's webhook holds up takes all of the time of a call. So a
//! kind of claims does not wait for the writes of another, and no claim stands behind the same one in each pass.

use std::time::Duration;

use crate::memory::ClaimsLeft;
use crate::view::{ClusterView, age};
use crate::writes::{OperatorWrite, WrittenClaim};

/// The time that a pass spends on AddressClaims, on IPAMClaims, and on leases that end, on each. It is looked at before each write.
const SHARE: Duration = Duration::from_secs(1);

/// The use of the time in one pass.
#[derive(Debug, Default)]
pub(super) struct ClaimShares {
    addresses: ClaimShare,
    ipam: ClaimShare,
    endings: ClaimShare,
}

/// The use of the time by one kind.
#[derive(Debug, Default)]
struct ClaimShare {
    since: Option<Duration>,
    /// The claim, or the block, of the last write that was made.
    last: String,
    /// Whether the claim is known with which the next pass begins.
    is_noted: bool,
}

impl ClaimShares {
    /// Whether a write is made in this pass. The first claim of a kind without a write is noted, and with it those that follow. If a claim has one and
    /// lacks another, it comes after them: it may be the one that took the time.
    pub(super) fn admit(
        &mut self,
        write: &OperatorWrite,
        view: &ClusterView,
        left: &mut ClaimsLeft,
        now: Duration,
    ) -> bool {
        let Some(claim) = write.claim() else { return true };
        let (share, name) = match claim {
            WrittenClaim::Address(uid) => (&mut self.addresses, uid),
            WrittenClaim::Ipam(uid) => (&mut self.ipam, uid),
            WrittenClaim::Ending(block) => (&mut self.endings, block),
        };
        if now.saturating_sub(*share.since.get_or_insert(now)) < SHARE {
            name.clone_into(&mut share.last);
            return true;
        }
        if !share.is_noted {
            note(claim, view, left);
            share.is_noted = share.last != name;
        }
        false
    }
}

/// Lets the next pass begin with a claim. The decisions of this pass have noted one behind it, if they have left any out.
fn note(claim: WrittenClaim<'_>, view: &ClusterView, left: &mut ClaimsLeft) {
    match claim {
        WrittenClaim::Address(uid) => {
            let mut claims = view.claims.iter().map(|claim| &claim.object.metadata);
            left.address = claims.find(|metadata| metadata.uid.as_deref() == Some(uid)).map(age);
        }
        WrittenClaim::Ipam(uid) => {
            let mut claims = view.ipam_claims.iter().flatten().map(|claim| &claim.object.metadata);
            left.ipam = claims.find(|metadata| metadata.uid.as_deref() == Some(uid)).map(age);
        }
        // A turn that was left out may come before it, and a pod may wait for that.
        WrittenClaim::Ending(block) => {
            left.block.get_or_insert_with(|| block.to_owned());
        }
    }
}
