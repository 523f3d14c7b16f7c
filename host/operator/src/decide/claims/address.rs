//! Picks the address of a claim.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use tenure_cluster::convert::{ClaimLease, ClaimWish};
use tenure_leases::{RangeId, RangeState, RangeUse, Uid};

use super::super::EXHAUSTED;
use super::super::grants::reasons::unreadable_pool;
use super::{ClaimFacts, WaitReason};
use crate::decide::held::{AddressesByGroup, HeldClaims};
use crate::memory::OperatorMemory;
use crate::view::{ClusterView, PoolView, is_ipv6};

/// The most free addresses of a range that are compared.
const CANDIDATES: usize = 256;

/// The addresses of pools for claims in one pass: those that are leased, by this pass too, and what was found out about the others.
pub(super) struct ClaimAddresses<'a> {
    view: &'a ClusterView,
    facts: &'a ClaimFacts<'a>,
    memory: &'a OperatorMemory,
    held: &'a HeldClaims,
    leased: AddressesByGroup,
    /// The addresses of claims whose lease was lost, by overlap group, each with the uid of the claim.
    lost: BTreeMap<(&'a str, IpNet), &'a str>,
    /// Free addresses of a pool and family, the best one last. They are looked for once, for all claims.
    free: BTreeMap<PoolFamily, Vec<(RangeId, IpNet)>>,
    /// The pools and families of which no address is free, each with the message.
    exhausted: BTreeMap<PoolFamily, String>,
}

/// A pool's uid, and whether its addresses are IPv6; `None` for both families.
type PoolFamily = (Uid, Option<bool>);

fn because(reason: &'static str, message: String) -> WaitReason {
    WaitReason { reason, message }
}

impl<'a> ClaimAddresses<'a> {
    pub(super) fn new(
        view: &'a ClusterView,
        facts: &'a ClaimFacts<'a>,
        memory: &'a OperatorMemory,
        held: &'a HeldClaims,
    ) -> Self {
        let blocks = view.claim_blocks.iter().map(|block| (block.group.clone(), block.block.cidr));
        let mut leased = AddressesByGroup::new();
        for (group, cidr) in blocks.chain(view.unreadable_blocks.iter().cloned()) {
            leased.entry(group).or_default().insert(cidr);
        }
        let lost = lost(view, facts);
        Self { view, facts, memory, held, leased, lost, free: BTreeMap::new(), exhausted: BTreeMap::new() }
    }

    /// Picks the address of a claim, which no other one gets from then on, or says why there is none.
    pub(super) fn pick(&mut self, wish: &ClaimWish) -> Result<ClaimLease, WaitReason> {
        let pool = pool_of(self.view, wish)?;
        let (range, cidr) = self.choose(pool, wish)?;
        self.leased.entry(pool.group.clone()).or_default().insert(cidr);
        Ok(ClaimLease {
            group: pool.group.clone(),
            cidr,
            range,
            pool: pool.lease.key.clone(),
            claim: wish.claim.clone(),
        })
    }

    /// The address of a pool for a claim: the one that it asks for, or had before, or else a free one.
    fn choose(&mut self, pool: &PoolView, wish: &ClaimWish) -> Result<(RangeId, IpNet), WaitReason> {
        let name = &pool.lease.key.name;
        if let Some(address) = wish.address {
            let cidr = IpNet::from(address);
            let found = place(self.view, pool, cidr).filter(|_| !Withheld::of(pool).has(address));
            let range = found.ok_or_else(|| {
                because("AddressOutside", format!("AddressPool {name} gives {address} to no claim"))
            })?;
            // A node that says it has the address says so for this claim: its lease was lost.
            return match self.is_taken(pool, cidr) || self.is_anothers(pool, cidr, wish) {
                false => Ok((range, cidr)),
                true => Err(because(
                    "AddressTaken",
                    format!("{address} is another claim's, or in a node's block"),
                )),
            };
        }
        // A node that says it has the address has it for this claim.
        let had = self.facts.lost.had(wish, &pool.group).into_iter().filter(|cidr| {
            let is_taken = self.is_taken(pool, *cidr) || self.is_anothers(pool, *cidr, wish);
            is_of_family(*cidr, wish.is_ipv6) && !is_taken
        });
        let mut places = had.filter_map(|cidr| Some((place(self.view, pool, cidr)?, cidr)));
        if let Some(found) = places.next() {
            return Ok(found);
        }
        self.next_free(pool, wish.is_ipv6).map_err(|message| because(EXHAUSTED, message))
    }

    /// The best free address of a pool and family, or why there is none. Once none is left, the cells are not looked at again.
    fn next_free(&mut self, pool: &PoolView, family: Option<bool>) -> Result<(RangeId, IpNet), String> {
        let key = (pool.lease.key.uid, family);
        if let Some(message) = self.exhausted.get(&key) {
            return Err(message.clone());
        }
        let mut free = self.free.remove(&key).unwrap_or_default();
        // Another claim asked for one of them, or got it of both families.
        free.retain(|(_, cidr)| !self.is_taken(pool, *cidr));
        if free.is_empty() {
            free = self.find_free(pool, family);
        }
        let Some(best) = free.pop() else {
            let message = exhausted(pool, &self.leased, self.held);
            self.exhausted.insert(key, message.clone());
            return Err(message);
        };
        self.free.insert(key, free);
        Ok(best)
    }

    /// Looks for free addresses of a pool and family, the best one last.
    fn find_free(&self, pool: &PoolView, family: Option<bool>) -> Vec<(RangeId, IpNet)> {
        let (mut free, withheld) = (Vec::<(RangeId, IpNet)>::new(), Withheld::of(pool));
        let Some(space) = self.view.spaces.get(&*pool.group).map(|space| &space.space) else { return free };
        let turns = self.held.turns.get(&pool.group);
        for range in space.ranges() {
            let is_open = range.state == RangeState::Open && range.usage == RangeUse::Claims;
            let Ok(cells) = range.cidr.subnets(range.unit) else { continue };
            if !is_open || range.pool != pool.lease.key || !is_of_family(range.cidr, family) {
                continue;
            }
            let usable = cells.filter(|cell| {
                let is_lost = self.lost.contains_key(&(&*pool.group, *cell));
                let is_free = !is_lost
                    && !self.is_taken(pool, *cell)
                    && !turns.is_some_and(|turns| turns.contains(cell));
                is_free && space.admit_claim(range.id, *cell).is_ok() && !withheld.has(cell.addr())
            });
            free.extend(usable.take(CANDIDATES).map(|cell| (range.id, cell)));
        }
        // IPv4 first, and an address that was in use lately last.
        let order = |(_, cidr): &(RangeId, IpNet)| {
            (is_ipv6(*cidr), self.memory.release_of(&pool.group, *cidr), *cidr)
        };
        free.sort_by_cached_key(|found| Reverse(order(found)));
        free
    }

    /// Whether an address is leased, or in a node's block, which is never a claim's, whichever it asks for.
    fn is_taken(&self, pool: &PoolView, cidr: IpNet) -> bool {
        let is_leased = self.leased.get(&pool.group).is_some_and(|leased| leased.contains(&cidr));
        is_leased || self.held.is_foreign(&pool.group, cidr)
    }

    /// Whether an address was leased to another claim until that lease was lost.
    fn is_anothers(&self, pool: &PoolView, cidr: IpNet, wish: &ClaimWish) -> bool {
        self.lost.get(&(&*pool.group, cidr)).is_some_and(|uid| *uid != wish.claim.uid)
    }
}

/// The pool of a wish, or the reason for which it has no address for it.
fn pool_of<'a>(view: &'a ClusterView, wish: &ClaimWish) -> Result<&'a PoolView, WaitReason> {
    let name = &wish.pool;
    let pool = view.pools.iter().find(|pool| *pool.lease.key.name == **name);
    let is_unreadable = || view.unreadable_pools.values().any(|unreadable| **unreadable == **name);
    let pool = pool.ok_or_else(|| match is_unreadable() {
        true => unreadable_pool(name),
        false => because("PoolUnknown", format!("there is no AddressPool {name}")),
    })?;
    if pool.usage != RangeUse::Claims {
        let message = format!("AddressPool {name} has blocks for nodes; a pool for claims has usage: Claims");
        return Err(because("PoolNotForClaims", message));
    }
    if pool.lease.disabled || pool.lease.deleting {
        return Err(because("PoolClosed", format!("AddressPool {name} is disabled or being deleted")));
    }
    let namespace = &wish.claim.namespace;
    if !pool.serves_namespace(namespace) {
        let message = format!("AddressPool {name} has addresses for other namespaces than {namespace}");
        return Err(because("PoolNotForNamespace", message));
    }
    Ok(pool)
}

/// The addresses that claims without a lease had before, each of the oldest claim that can have it again.
fn lost<'a>(view: &'a ClusterView, facts: &ClaimFacts<'a>) -> BTreeMap<(&'a str, IpNet), &'a str> {
    let mut lost = BTreeMap::new();
    for wish in facts.unleased(view) {
        let Ok(pool) = pool_of(view, wish) else { continue };
        let had = facts.lost.had(wish, &pool.group).into_iter();
        for cidr in had.filter(|cidr| wish.address.is_none_or(|address| IpNet::from(address) == *cidr)) {
            lost.entry((&*pool.group, cidr)).or_insert(wish.claim.uid.as_str());
        }
    }
    lost
}

fn is_of_family(cidr: IpNet, wanted: Option<bool>) -> bool {
    wanted.is_none_or(|ipv6| is_ipv6(cidr) == ipv6)
}

/// Says why no address of a pool is free, for people. Nodes that say that they have addresses which are leased to no claim may be wrong.
fn exhausted(pool: &PoolView, leased: &AddressesByGroup, held: &HeldClaims) -> String {
    let name = &pool.lease.key.name;
    let leased = |cidr: &IpNet| leased.get(&pool.group).is_some_and(|leased| leased.contains(cidr));
    let is_pools = |cidr: &IpNet| pool.ranges.iter().any(|range| range.cidr.contains(cidr));
    let turns = held.turns.get(&pool.group).into_iter().flatten();
    match turns.filter(|cidr| is_pools(cidr) && !leased(cidr)).count() {
        0 => format!("no address of AddressPool {name} is free"),
        count => format!(
            "no address of AddressPool {name} is free; {count} are leased to no claim, and in the `claims` of NodeIPAMs as `Held`"
        ),
    }
}

/// The open range of a pool that gives an address to claims.
fn place(view: &ClusterView, pool: &PoolView, cidr: IpNet) -> Option<RangeId> {
    let space = &view.spaces.get(&*pool.group)?.space;
    let own = space.ranges().iter().filter(|range| range.pool == pool.lease.key);
    own.map(|range| range.id).find(|id| space.admit_claim(*id, cidr).is_ok())
}

/// The addresses that a pool gives to nobody: exclusions, gateways, and the first and the last one of each CIDR.
struct Withheld<'a> {
    pool: &'a PoolView,
    gateways: Vec<IpAddr>,
}

impl<'a> Withheld<'a> {
    fn of(pool: &'a PoolView) -> Self {
        let gateways = pool.object.spec.gateway.iter();
        let gateways = gateways.flat_map(|gateway| [&gateway.ipv4, &gateway.ipv6]).flatten();
        Self { pool, gateways: gateways.filter_map(|gateway| gateway.parse().ok()).collect() }
    }

    fn has(&self, address: IpAddr) -> bool {
        let is_end = self.pool.ranges.iter().map(|range| range.cidr).any(|cidr| {
            let has_ends = cidr.prefix_len() + 1 < cidr.max_prefix_len();
            let is_last = address == cidr.broadcast() && address.is_ipv4();
            has_ends && (address == cidr.network() || is_last)
        });
        self.gateways.contains(&address) || is_end || self.pool.excluded.has(address)
    }
}
