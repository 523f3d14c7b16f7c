//! The index of the allocations by owner.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use tenure_types::{Allocation, Generation, Owner};

use crate::books::shared_map::{SharedMap, SharedSet};

/// The live allocations, by generation.
pub(super) type Allocations = SharedMap<Generation, Arc<Allocation>>;

/// The generation of each owner's allocation, by the owner's hash, so that an owner is stored only once and found with few
/// comparisons.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnerIndex {
    /// Of a random key, because agents choose the names of their claims. Copies have the same one.
    hasher: RandomState,
    generations: SharedSet<HashedOwner>,
}

/// An owner's hash above its allocation's generation: one number, which is compared faster than a pair.
type HashedOwner = u128;

/// The first entry that an owner with this hash can have.
fn first_of(hash: u64) -> HashedOwner {
    HashedOwner::from(hash) << u64::BITS
}

fn entry(hash: u64, generation: Generation) -> HashedOwner {
    first_of(hash) | HashedOwner::from(generation.0)
}

impl OwnerIndex {
    /// The index of these allocations.
    ///
    /// # Errors
    /// An allocation whose owner has another one already.
    pub(super) fn of(allocations: &[Arc<Allocation>]) -> Result<Self, &Arc<Allocation>> {
        let hasher = RandomState::new();
        let mut hashed: Vec<(u64, &Arc<Allocation>)> =
            allocations.iter().map(|one| (hasher.hash_one(&one.owner), one)).collect();
        hashed.sort_unstable_by_key(|(hash, one)| (*hash, one.generation));
        for same_hash in hashed.chunk_by(|(one, _), (next, _)| one == next) {
            for (index, (_, one)) in same_hash.iter().enumerate() {
                if same_hash.iter().take(index).any(|(_, earlier)| earlier.owner == one.owner) {
                    return Err(one);
                }
            }
        }
        let generations = hashed.iter().map(|(hash, one)| (entry(*hash, one.generation), ())).collect();
        Ok(Self { hasher, generations })
    }

    /// An owner's allocation.
    pub(super) fn find<'a>(
        &self,
        owner: &Owner,
        allocations: &'a Allocations,
    ) -> Option<&'a Arc<Allocation>> {
        let first = first_of(self.hasher.hash_one(owner));
        // Less than the first of the next hash. Without an end, the range needs one search only.
        let same_hash =
            self.generations.range(first..).map_while(|(entry, ())| u64::try_from(entry - first).ok());
        same_hash
            .filter_map(|generation| allocations.get(&Generation(generation)))
            .find(|allocation| allocation.owner == *owner)
    }

    pub(super) fn insert(&mut self, allocation: &Allocation) {
        self.generations.insert(self.key(allocation), ());
    }

    pub(super) fn remove(&mut self, allocation: &Allocation) {
        self.generations.remove(&self.key(allocation));
    }

    fn key(&self, allocation: &Allocation) -> HashedOwner {
        entry(self.hasher.hash_one(&allocation.owner), allocation.generation)
    }
}

#[cfg(test)]
mod tests {
    use tenure_types::{Attributes, Moment, NetworkName, PolicyName, PolicyStamp, Sandbox};

    use super::*;

    fn allocation(generation: u64) -> Allocation {
        let policy = PolicyStamp { name: PolicyName::new("test").unwrap(), digest: "00".into() };
        Allocation {
            network: NetworkName::new("net").unwrap(),
            generation: Generation(generation),
            owner: Owner::Unknown { address: [10, 0, 0, 1].into() },
            addresses: Vec::new().into(),
            sandbox: Sandbox::default(),
            tags: Attributes::default(),
            policy: Arc::new(policy),
            origin: None,
            requested_at: Moment::default(),
            allocated_at: Moment::default(),
        }
    }

    /// Owners come and go as long as the daemon runs.
    #[test]
    fn nothing_is_kept_of_an_owner_that_has_gone() {
        let mut index = OwnerIndex::default();
        for allocation in (1..=3).map(allocation) {
            index.insert(&allocation);
            index.remove(&allocation);
        }
        assert_eq!(index.generations.range(0..).count(), 0);
    }
}
