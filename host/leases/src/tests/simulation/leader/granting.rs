//! Grants: lost leases are made again for their holders, and then each node gets the blocks that it wants.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;

use super::{Leader, Planned, count, is_alive, lease};
use crate::operator::fence::FetchedNode;
use crate::operator::grant::{GrantCandidate, GrantCase, GrantCell, grant, sort_candidates};
use crate::operator::held::{ClaimantState, HeldCase, HeldVerdict, heir, judge_missing};
use crate::tests::simulation::kinds::{KINDS, key, kind_of, pool_of};
use crate::tests::simulation::server::{Store, Write};
use crate::{IpBlock, NodeIpamSpec, RangeState, Uid};

/// A node that lists a block in `held` of which there is no IPBlock.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub(super) name: Arc<str>,
    uid: Uid,
    claimant: ClaimantState,
    pub(super) verdict: HeldVerdict,
}

impl Leader {
    /// The nodes that hold blocks without an IPBlock.
    pub(super) fn claims(&self, cache: &Store) -> BTreeMap<IpNet, Vec<Claim>> {
        let uids: BTreeSet<Uid> = cache.blocks.values().map(|block| block.uid).collect();
        let mut claims: BTreeMap<IpNet, Vec<Claim>> = BTreeMap::new();
        for (name, said) in &cache.said {
            let spec = &said.spec;
            let mut counted = std::array::from_fn::<_, { KINDS.len() }, _>(|kind| {
                let own = |block: &&IpBlock| spec.counts_for(block) && kind_of(block.cidr) == kind;
                count(cache.blocks.values().filter(own))
            });
            let node = cache.hosts.get(name).map_or(FetchedNode::Missing, |node| FetchedNode::Found(*node));
            let claimant = ClaimantState::of(spec, node);
            let missing = spec.held.iter().filter(|held| !uids.contains(&held.uid));
            for held in missing.filter(|held| !cache.blocks.contains_key(&held.cidr)) {
                let pool = &cache.pools[pool_of(held.cidr)];
                let counted = &mut counted[kind_of(held.cidr)];
                let case = HeldCase {
                    space: &cache.space,
                    cidr: held.cidr,
                    said: spec,
                    claimant,
                    pool: Some(&pool.lease),
                    selected: !pool.unmatched.contains(name),
                    ended: self.ended.contains(&(Arc::clone(name), held.cidr)),
                    is_unclear: false,
                    counted: *counted,
                    foreign_cells: 0,
                };
                let verdict = judge_missing(self.rules, &case);
                *counted += u32::from(verdict.is_believed());
                if verdict != HeldVerdict::Free {
                    let claim = Claim { name: Arc::clone(name), uid: held.uid, claimant, verdict };
                    claims.entry(held.cidr).or_default().push(claim);
                }
            }
        }
        claims
    }

    pub(super) fn grants(&mut self, cache: &Store, now: u64) {
        let claims = self.claims(cache);
        let mut believed: BTreeMap<(Arc<str>, usize), u32> = BTreeMap::new();
        for (cidr, claims) in &claims {
            for claim in claims {
                let counts = u32::from(claim.verdict.is_believed());
                *believed.entry((Arc::clone(&claim.name), kind_of(*cidr))).or_default() += counts;
                let is_lost = claim.verdict == HeldVerdict::Reclaim && claim.claimant == ClaimantState::Alive;
                if is_lost && self.signs.lost_lease(&claim.name, claim.uid, Duration::from_secs(now)) {
                    self.suspect_restore();
                }
            }
        }
        self.compare_claims(cache, &claims, now);
        if !self.barrier.may_grant() {
            return;
        }
        let mut taken: BTreeSet<IpNet> = cache.blocks.keys().copied().collect();
        for (cidr, claims) in &claims {
            let verdicts: Vec<_> = claims.iter().map(|claim| (claim.claimant, claim.verdict)).collect();
            if let (Some(heir), Some(range)) = (heir(&verdicts), cache.space.grid(*cidr)) {
                let lease = lease(cache, &cache.said[&claims[heir].name].spec, range.id, *cidr);
                self.plans.push_back(Planned::Write(Write::Create(lease)));
            }
            if verdicts.iter().any(|(_, verdict)| verdict.is_believed()) {
                taken.insert(*cidr);
            }
        }
        for (name, said) in &cache.said {
            for demand in &said.spec.demand {
                let is_kind = |kind: &usize| {
                    key(KINDS[*kind].pool) == demand.pool && KINDS[*kind].is_ipv6 == demand.is_ipv6
                };
                let Some(kind) = (0..KINDS.len()).find(is_kind) else { continue };
                let stays = |block: &&IpBlock| {
                    said.spec.counts_for(block)
                        && kind_of(block.cidr) == kind
                        && !block.deleting
                        && cache.space.admit(block.range, block.cidr).is_ok()
                };
                let mut have = count(cache.blocks.values().filter(stays));
                have += believed.get(&(Arc::clone(name), kind)).copied().unwrap_or_default();
                while let Some(lease) = self.candidate(cache, &said.spec, (kind, &taken), (demand.want, have))
                {
                    taken.insert(lease.cidr);
                    have += 1;
                    self.plans.push_back(Planned::Write(Write::Create(lease)));
                }
            }
        }
    }

    fn compare_claims(&mut self, cache: &Store, claims: &BTreeMap<IpNet, Vec<Claim>>, now: u64) {
        let claimed =
            claims.iter().flat_map(|(cidr, of)| of.iter().map(|claim| (claim.name.to_string(), *cidr)));
        let is_accounted = |name: &str, cidr: IpNet| {
            let says = cache.said.get(name).is_some_and(|said| said.spec.held_uid(cidr).is_some());
            says || cache.blocks.get(&cidr).is_some_and(|block| *block.holder.name == *name)
        };
        let silenced = self.signs.compare_claims(claimed.collect(), is_accounted, Duration::from_secs(now));
        if silenced.is_some() {
            self.suspect_restore();
        }
    }

    fn candidate(
        &self,
        cache: &Store,
        spec: &NodeIpamSpec,
        (kind, taken): (usize, &BTreeSet<IpNet>),
        (want, have): (u32, u32),
    ) -> Option<IpBlock> {
        let open = cache.space.ranges().iter();
        let open = open.filter(|range| range.state == RangeState::Open && kind_of(range.cidr) == kind);
        let cells = open.flat_map(|range| range.cidr.subnets(range.unit).into_iter().flatten());
        let mut candidates: Vec<_> = cells
            .filter(|cell| !taken.contains(cell))
            .map(|cidr| GrantCandidate { cidr, released: self.released.get(&cidr).copied() })
            .collect();
        sort_candidates(&spec.identity.name, &mut candidates);
        let cidr = candidates.first()?.cidr;
        let range = cache.space.cell(cidr)?.id;
        let pool = &cache.pools[KINDS[kind].pool];
        let case = GrantCase {
            barrier_passed: self.barrier.may_grant(),
            pool: &pool.lease,
            node_admitted: is_alive(cache, spec) && !pool.unmatched.contains(&spec.identity.name),
            want,
            node_blocks: have,
            kept_blocks: have,
            node_total: 0,
            pool_blocks: count(cache.blocks.keys().filter(|cidr| kind_of(**cidr) == kind)),
        };
        let cell = GrantCell { space: &cache.space, range, cidr, held: HeldVerdict::Free };
        grant(&case, &cell).ok().map(|()| lease(cache, spec, range, cidr))
    }
}
