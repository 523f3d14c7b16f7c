//! From a proposal to an allocation: the rules that every proposal must pass, whichever policy made it.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use smallvec::SmallVec;
use tenure_types::{
    Allocation, AssignedAddress, Assignment, Cooling, Generation, Moment, Need, Owner, PolicyStamp, Proposal,
    Range, Request,
};

use super::counts;
use super::stock::Shelf;
use super::{Book, Standing, Violation};

const PARTLY_USED: &str =
    "the first address of a prefix of which others are in use, cooling down or in quarantine";

/// Exceptions for an owner: addresses that it may have and others may not, and pools that it can do without.
#[derive(Debug, Clone, Copy, Default)]
struct AdmissionTerms<'a> {
    /// The allocations that are about to end, for addresses that their owner already uses.
    living: Option<&'a [Generation]>,
    /// The pools that it can do without an address of.
    without: &'a [usize],
}

impl Book {
    /// Checks a proposal against the book and turns it into an allocation, to be applied as a fact.
    ///
    /// # Errors
    /// [`Violation`] with the first rule that the proposal breaks.
    pub fn admit(
        &self,
        request: &Request,
        proposal: &Proposal,
        policy: &Arc<PolicyStamp>,
        now: Moment,
    ) -> Result<Allocation, Violation> {
        self.admit_without(request, proposal, policy, now, &[])
    }

    /// As [`admit`](Self::admit), for an owner that can do without an address of these pools, given by their indices.
    ///
    /// # Errors
    /// As [`admit`](Self::admit).
    pub fn admit_without(
        &self,
        request: &Request,
        proposal: &Proposal,
        policy: &Arc<PolicyStamp>,
        now: Moment,
        without: &[usize],
    ) -> Result<Allocation, Violation> {
        self.admitted(request, proposal, policy, now, AdmissionTerms { living: None, without })
    }

    /// As [`admit`](Self::admit), for addresses that their owner already uses according to another IPAM: cooldowns,
    /// quarantine and draining do not apply. The allocations in `ending` are about to end, so their addresses count as not held.
    ///
    /// # Errors
    /// As [`admit`](Self::admit).
    pub fn admit_living(
        &self,
        request: &Request,
        proposal: &Proposal,
        policy: &Arc<PolicyStamp>,
        now: Moment,
        ending: &[Generation],
    ) -> Result<Allocation, Violation> {
        self.admitted(request, proposal, policy, now, AdmissionTerms { living: Some(ending), without: &[] })
    }

    fn admitted(
        &self,
        request: &Request,
        proposal: &Proposal,
        policy: &Arc<PolicyStamp>,
        now: Moment,
        terms: AdmissionTerms<'_>,
    ) -> Result<Allocation, Violation> {
        if let Some(held) = self.owned_by(&request.owner) {
            return Err(Violation::OwnerHolds(request.owner.clone(), held.generation));
        }
        Ok(Allocation {
            network: self.name().clone(),
            generation: self.next_generation(),
            owner: request.owner.clone(),
            addresses: self.assigned_to(request, proposal, terms)?,
            sandbox: request.sandbox.clone(),
            tags: proposal.tags.clone(),
            policy: Arc::clone(policy),
            origin: None,
            requested_at: request.requested_at,
            allocated_at: now,
        })
    }

    /// Checks a proposal as [`admit`](Self::admit) does, but as if the owner had no addresses yet. For policies whose
    /// answer nothing is made of.
    ///
    /// # Errors
    /// As [`admit`](Self::admit).
    pub fn check(&self, request: &Request, proposal: &Proposal) -> Result<(), Violation> {
        self.assigned_to(request, proposal, AdmissionTerms::default()).map(drop)
    }

    fn assigned_to(
        &self,
        request: &Request,
        proposal: &Proposal,
        AdmissionTerms { living, without }: AdmissionTerms<'_>,
    ) -> Result<SmallVec<[AssignedAddress; 1]>, Violation> {
        self.check_pools(proposal, without)?;
        if let Some((name, _)) = proposal.tags.iter().find(|(name, _)| counts::is_hosts(name)) {
            return Err(Violation::HostsName(name.to_owned()));
        }
        let mut assignments: Vec<&Assignment> = proposal.assignments.iter().collect();
        assignments.sort_by_key(|assignment| assignment.pool);
        let addresses = assignments
            .into_iter()
            .map(|assignment| self.assigned(request, assignment, living))
            .collect::<Result<SmallVec<[_; 1]>, _>>()?;
        let missed = |wanted: &&IpAddr| addresses.iter().all(|address| address.ip() != **wanted);
        if let Some(wanted) = request.requested.iter().find(missed) {
            return Err(Violation::RequestIgnored(*wanted));
        }
        Ok(addresses)
    }

    /// Checks that there is at most one address from each pool, one from each pool that every grant needs except `without`, and
    /// at least one in all.
    fn check_pools(&self, proposal: &Proposal, without: &[usize]) -> Result<(), Violation> {
        let pools = self.pools();
        if pools.is_empty() {
            return Err(Violation::NoPools);
        }
        if let Some(other) = proposal.assignments.iter().find(|assignment| assignment.pool >= pools.len()) {
            return Err(Violation::NoSuchPool(other.pool, pools.len()));
        }
        for (index, pool) in pools.iter().enumerate() {
            let times = proposal.assignments.iter().filter(|assignment| assignment.pool == index).count();
            match (times, pool.need) {
                (0, Need::Always) if !without.contains(&index) => {
                    return Err(Violation::PoolMissing(pool.name.clone()));
                }
                (0 | 1, _) => {}
                _ => return Err(Violation::PoolTwice(pool.name.clone())),
            }
        }
        if proposal.assignments.is_empty() {
            return Err(Violation::NoAddress);
        }
        Ok(())
    }

    fn assigned(
        &self,
        request: &Request,
        assignment: &Assignment,
        living: Option<&[Generation]>,
    ) -> Result<AssignedAddress, Violation> {
        let Assignment { pool, address, attributes } = assignment;
        let outside = || {
            let name = self.pools().get(*pool).map_or_else(String::new, |pool| pool.name.to_string());
            Violation::Outside(*address, name)
        };
        let (_, range, source, draining) =
            self.stock().locate(*address).filter(|(located, ..)| located == pool).ok_or_else(outside)?;
        if draining && living.is_none() {
            return Err(Violation::Draining(*address, range.name().clone()));
        }
        let ends = |holder: &Allocation| living.is_some_and(|ending| ending.contains(&holder.generation));
        // An owner that waits for the address gets it once its holder ends.
        let at_it = [self.holder(*address), self.waiting_for(*address)].into_iter().flatten();
        let mut holders = at_it.chain(self.holders_inside(range.span(*address)));
        if let Some(holder) = holders.find(|holder| !ends(holder)) {
            return Err(Violation::Held(*address, holder.owner.clone()));
        }
        if let Some(reason) = range.reserved(*address) {
            return Err(Violation::Reserved(*address, reason));
        }
        self.check_prefix(request, range, *address)?;
        if let Some(pool) = self.pools().get(*pool).filter(|pool| !request.admits_pool(&pool.name)) {
            return Err(Violation::NotOffered(*address, pool.name.clone()));
        }
        if living.is_none() && self.quarantine_of(*address).is_some() {
            return Err(Violation::Quarantined(*address));
        }
        if living.is_none() && self.cools_for(request, *pool, range, *address) {
            return Err(Violation::Cooling(*address));
        }
        // The range has checked its prefix length, so this holds.
        let address = IpNet::new(*address, range.prefix_length()).map_err(|_| outside())?;
        Ok(AssignedAddress { address, source: Arc::clone(source), attributes: attributes.clone() })
    }

    /// The rules for prefixes: an agent's claim alone can have one, and the whole of it must be unused.
    fn check_prefix(&self, request: &Request, range: &Range, address: IpAddr) -> Result<(), Violation> {
        if !range.assigns_prefixes() {
            return Ok(());
        }
        if !matches!(request.owner, Owner::Claim { .. }) {
            return Err(Violation::PrefixForPod(address, range.prefix_length()));
        }
        match self.standing(address) {
            Standing::Reserved => Err(Violation::Reserved(address, PARTLY_USED)),
            _ => Ok(()),
        }
    }

    /// Whether an address is cooling down and must not go to this request yet.
    fn cools_for(&self, request: &Request, pool: usize, range: &Range, address: IpAddr) -> bool {
        if self.standing(address) != Standing::Cooling {
            return false;
        }
        let is_full = |shelf| !self.stock().has_free(shelf);
        let mut labels = range.attributes().iter();
        let yields = match self.network().cooling {
            Cooling::Strict => false,
            Cooling::Preferred => {
                request.requested.contains(&address)
                    || is_full(Shelf::whole(pool))
                    || labels.any(|(name, value)| is_full(Shelf::labelled(pool, name, value)))
                    || self.had_last(request, address)
            }
        };
        !yields
    }

    /// Whether the request's owner had the address the last time.
    fn had_last(&self, request: &Request, address: IpAddr) -> bool {
        let name = request.lasting_name();
        name.is_some_and(|name| self.last_of(&name).iter().any(|(_, last)| *last == address))
    }
}

#[cfg(test)]
mod tests;
