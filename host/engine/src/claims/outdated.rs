//! Ending what a state has that was lost and is confirmed, although it is over: an older copy lacks each end since it was made.
//!
//! The witness names every acknowledged claim of this boot, so a claim that it lacks is over. So is another owner of an address that it names:
//! the claim would not have been given it otherwise.

use tenure_ledger::{Book, Claim, ClaimKey, DelegationFact, Fact};
use tenure_types::{AssignedAddress, Moment, NetworkName, Owner, Result};

use super::AgentClaims;
use super::witnessed::{AwaitedClaim, AwaitedClaims};

/// The reason of these ends in the log.
const LOST: &str = "lost";

impl AgentClaims {
    /// Serves [`Engine::end_unwitnessed`](crate::Engine::end_unwitnessed).
    pub(crate) async fn end_unwitnessed(&self) -> Result<()> {
        let witnessed = self.witnessed.any().map(|all| all.clone()).unwrap_or_default();
        for (network, slot) in self.core.networks.all() {
            let now = self.core.now();
            if let Some(served) = slot.lock().await.as_mut() {
                let facts = self.outdated(&network, &served.book, &witnessed, now);
                if !facts.is_empty() {
                    tracing::warn!(%network, facts = facts.len(), "ending what a later state had no more");
                    drop(self.core.committer.commit(&mut served.book, &facts)?);
                }
            }
        }
        self.core.ports.journal.barrier().durable().await
    }

    /// The facts that end what a network has and the witness contradicts.
    fn outdated(
        &self,
        network: &NetworkName,
        book: &Book,
        witnessed: &AwaitedClaims,
        now: Moment,
    ) -> Vec<Fact> {
        let claims: Vec<ClaimKey> = {
            let node = self.core.committer.node();
            let own = node.claims.all().filter(|claim| claim.key.network == *network);
            own.map(|Claim { key, .. }| key.clone()).collect()
        };
        let is_delegated = self.core.delegate_of(network).is_some();
        let mut facts = Vec::new();
        for key in claims {
            let known = witnessed.get(&key);
            if known.is_some_and(|known| has_all(book, &key, known)) {
                continue;
            }
            facts.extend(self.ending(book, &key, now, LOST));
            if known.is_some() && is_delegated {
                // Its agent uses what the delegate gave since; told a DEL, that would give it to others.
                let (network, owner) = (network.clone(), key.owner());
                facts.push(DelegationFact::Ended { network, owner, at: now }.into());
            }
        }
        if !is_delegated {
            let pods = pods_with(book, network, witnessed);
            facts.extend(pods.iter().filter_map(|pod| book.release(pod, now, LOST)).map(Fact::from));
        }
        facts
    }
}

fn has_all(book: &Book, key: &ClaimKey, AwaitedClaim { addresses, .. }: &AwaitedClaim) -> bool {
    let Some(held) = book.owned_by(&key.owner()) else { return false };
    let held: Vec<_> = held.addresses.iter().map(AssignedAddress::ip).collect();
    addresses.iter().all(|address| held.contains(address))
}

/// The pods that hold addresses of a network's witnessed claims; not those of an import, whose source may know better.
fn pods_with(book: &Book, network: &NetworkName, witnessed: &AwaitedClaims) -> Vec<Owner> {
    let of_network = witnessed.iter().filter(|(key, _)| key.network == *network);
    let holders =
        of_network.flat_map(|(_, claim)| &claim.addresses).filter_map(|address| book.holder(*address));
    let pods = holders.filter(|held| held.owner.attachment().is_some() && held.origin.is_none());
    let mut pods: Vec<Owner> = pods.map(|held| held.owner.clone()).collect();
    pods.sort_unstable();
    pods.dedup();
    pods
}
