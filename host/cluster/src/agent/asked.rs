//! The claims that pods of this node ask for, and the answers.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use tenure_leases::{BlockName, TurnId, Uid};
use tokio::sync::watch;

/// The pause after each of the first looks at a claim in the API server.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause between two looks.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// The looks before the pauses become longer: an operator that works answers within that time.
const FIRST_LOOKS: u32 = 3;

/// The address of a claim, which this node may hand to a pod that names the claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimAddress {
    /// The address.
    pub address: IpAddr,
    /// The AddressPool.
    pub pool: String,
}

/// The reason for which a pod does not have the address of its claim, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimWait {
    /// Another node has it.
    #[error("{0}")]
    PreviousOwner(String),
    /// The claim has no address, or the API server has not said yet that it is this node's.
    #[error("{0}")]
    Pending(String),
}

/// A pod that names a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimingPod {
    /// The pod's name, as `namespace/name`.
    pub name: String,
    /// The uid of the virtual machine in it, if it is one's.
    pub guest: Option<Uid>,
}

/// The blocks that a claim has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClaimBlocks {
    /// The claim's uid: one that is made again has other blocks.
    pub(crate) uid: String,
    /// The names of the blocks.
    pub(crate) names: Vec<BlockName>,
}

/// A claim as the API server showed it last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShownClaim {
    /// The uid.
    pub(crate) uid: Uid,
    /// The number of its addresses.
    pub(crate) addresses: usize,
}

/// A claim that a pod of this node asks for.
#[derive(Debug, Clone)]
pub(crate) struct AskedClaim {
    /// The pod.
    pub(crate) pod: ClaimingPod,
    /// The last time that it asked, by the boot clock.
    pub(crate) at: Duration,
    /// The node's turn with each of the claim's blocks.
    pub(crate) turns: BTreeMap<BlockName, TurnId>,
    /// The claim's blocks, as they were read last.
    pub(crate) blocks: Option<ClaimBlocks>,
    /// The looks at the claim in the API server.
    pub(crate) looks: ClaimLooks,
    /// The answer so far.
    pub(crate) wait: Option<ClaimWait>,
    /// Tells the ADDs that wait of another answer; the last one is that the claim is asked for no more.
    pub(crate) answered: watch::Sender<()>,
    /// The record of the turn is being written: it is not forgotten now.
    pub(crate) is_taking: bool,
}

impl AskedClaim {
    /// A claim that a pod begins to ask for.
    pub(crate) fn new(pod: ClaimingPod, at: Duration) -> Self {
        Self {
            pod,
            at,
            turns: BTreeMap::new(),
            blocks: None,
            looks: ClaimLooks::default(),
            wait: None,
            answered: watch::Sender::new(()),
            is_taking: false,
        }
    }

    /// Notes what the claim waits for.
    pub(crate) fn answer(&mut self, wait: ClaimWait) {
        if self.wait.as_ref() != Some(&wait) {
            self.wait = Some(wait);
            self.answered.send_replace(());
        }
    }
}

/// The looks at one claim in the API server. A runtime repeats the ADD of a pod that waits for as long as the pod is there, so that each look that changed
/// nothing makes the pause before the next one longer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ClaimLooks {
    /// The time of the next one, by the boot clock.
    pub(crate) next: Duration,
    /// The looks since the last change.
    count: u32,
}

impl ClaimLooks {
    /// Notes a look at the claim, which changed nothing.
    pub(crate) fn looked(&mut self, now: Duration) {
        let doublings = self.count.saturating_sub(FIRST_LOOKS.saturating_sub(1)).min(u32::BITS - 1);
        let pause = FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE);
        (self.next, self.count) = (now.saturating_add(pause), self.count.saturating_add(1));
    }

    /// Notes that the operator has answered something: the next pass looks, unless the claim waits for long already.
    pub(crate) fn hurry(&mut self) {
        if self.count <= FIRST_LOOKS {
            self.next = Duration::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_between_looks_at_a_claim_grow_to_fifteen_seconds() {
        let (mut looks, mut now, mut pauses) = (ClaimLooks::default(), Duration::from_secs(100), Vec::new());
        for _ in 0..9 {
            looks.looked(now);
            pauses.push((looks.next - now).as_secs());
            now = looks.next;
        }
        assert_eq!(pauses, [1, 1, 1, 2, 4, 8, 15, 15, 15]);
        looks.hurry();
        assert_eq!(looks.next, now, "it waits for long already");
        let mut looks = ClaimLooks::default();
        (0..1000).for_each(|_| looks.looked(now));
        assert_eq!(looks.next - now, LONGEST_PAUSE);
        let mut looks = ClaimLooks::default();
        looks.looked(now);
        looks.hurry();
        assert_eq!(looks.next, Duration::ZERO);
    }
}
