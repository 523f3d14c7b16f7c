//! The claims of a state that was lost, as a witness outside of it knows them, while they wait to be [restored](super::restore).
//!
//! The map is behind a `std::sync::Mutex`, held to read and to change memory, also while a network's state is locked; while it is empty,
//! an atomic avoids the lock.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use tenure_ledger::{ClaimKey, Claimant};
use tenure_types::{Generation, Moment, NetworkName};

use crate::lock::hold;

/// A claim as the witness knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessedClaim {
    /// The claim.
    pub key: ClaimKey,
    /// Addresses of the claim.
    pub addresses: Vec<IpAddr>,
    /// Whether the ledger lacks it, and it is to be restored.
    pub is_awaited: bool,
    /// The part of the agent that asked for it.
    pub claimant: Claimant,
}

/// The claims that a witness knows, so that it can be told what has changed since.
#[derive(Debug, Default)]
pub struct WitnessedClaims {
    /// Each with the generation of its allocation; `None` for those that are to be restored.
    pub(super) known: BTreeMap<ClaimKey, (Option<Generation>, WitnessedClaim)>,
}

impl WitnessedClaims {
    /// The claims, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &WitnessedClaim> {
        self.known.values().map(|(_, claim)| claim)
    }

    /// Makes a change; returns whether it was one.
    pub(super) fn change(&mut self, generation: Option<Generation>, claim: &WitnessedClaim) -> bool {
        let known = (generation, claim.clone());
        self.known.insert(claim.key.clone(), known).is_none_or(|(_, before)| before != *claim)
    }
}

/// A change of the claims that a witness knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WitnessedChange {
    /// The claim is there, or is another one now.
    Present(WitnessedClaim),
    /// The claim has ended.
    Ended(ClaimKey),
}

/// A claim that is to be restored.
#[derive(Debug, Clone)]
pub(super) struct AwaitedClaim {
    pub(super) addresses: Vec<IpAddr>,
    pub(super) claimant: Claimant,
    /// The moment at which its network was first seen with a delegate, of which nothing is restored.
    pub(super) delegated_since: Option<Moment>,
}

/// The claims that are to be restored.
pub(super) type AwaitedClaims = BTreeMap<ClaimKey, AwaitedClaim>;

/// The claims that are to be restored.
#[derive(Default)]
pub(crate) struct Witnessed {
    any: AtomicBool,
    /// Counts the changes.
    changes: AtomicU64,
    awaited: Mutex<AwaitedClaims>,
}

impl Witnessed {
    pub(super) fn change(&self, change: impl FnOnce(&mut AwaitedClaims)) {
        let mut awaited = hold(&self.awaited);
        change(&mut awaited);
        self.any.store(!awaited.is_empty(), Ordering::Release);
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// The claims, if there are any.
    pub(super) fn any(&self) -> Option<MutexGuard<'_, AwaitedClaims>> {
        self.any.load(Ordering::Acquire).then(|| hold(&self.awaited))
    }

    pub(super) fn of(&self, network: &NetworkName) -> Vec<(ClaimKey, AwaitedClaim)> {
        let all = self.any();
        let of = |(key, claim): (&ClaimKey, &AwaitedClaim)| {
            (key.network == *network).then(|| (key.clone(), claim.clone()))
        };
        all.iter().flat_map(|all| all.iter().filter_map(of)).collect()
    }

    /// Differs from before whenever the claims do.
    pub(super) fn version(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Gives up those claims that are no longer to be restored.
    pub(super) fn retain(&self, stays: impl Fn(&ClaimKey, &AwaitedClaim) -> bool) {
        if self.any().is_some_and(|awaited| awaited.iter().any(|(key, claim)| !stays(key, claim))) {
            self.change(|awaited| awaited.retain(|key, claim| stays(key, claim)));
        }
    }
}
