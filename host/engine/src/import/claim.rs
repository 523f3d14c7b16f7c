//! One claim of another IPAM, and its outcome.
//!
//! ```text
//!                a later import of the source names the owner
//!            ┌─────────────────────────────────────────────┐
//!            ▼                                             │
//!   claim ─▶ taken: its owner has the addresses            │
//!     │                                                    │
//!     ├────▶ unknown: refused, or no known owner ──────────┘   never free until an operator or a reboot ends it
//!     ├────▶ held: its owner already has the addresses
//!     ├────▶ refused: the host has yet to supply the ranges; a later import judges it
//!     └────▶ released: it was taken over earlier, and has ended since; or a DEL that began after it was made was answered
//! ```

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use tenure_ledger::{Book, LedgerFact, RangeView};
use tenure_types::{
    Allocation, AssignedAddress, End, Error, ErrorCode, Generation, Moment, Network, Origin, Owner,
    PodIdentity, PolicyStamp, Pool, Proposal, Request, RequestContext, Result, Sandbox, Supply,
};

/// An owner and the addresses that it uses, according to another IPAM.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The owner, or why it is unknown.
    pub owner: Result<Owner, String>,
    /// The claimed addresses, in any order.
    pub places: Vec<Place>,
    /// The pod, if known.
    pub pod: Option<PodIdentity>,
    /// The IPAM and the location of its state.
    pub source: String,
    /// Time of the assignment by the other IPAM, in milliseconds since the Unix epoch; `None` if unknown.
    pub claimed_at_ms: Option<u64>,
}

/// A claimed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The address.
    pub address: IpAddr,
    /// Distinguishes this claim of the address from a later one; empty if nothing does.
    pub claim: String,
}

/// The outcome of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Imported {
    /// The claim was taken over into the ledger.
    Taken,
    /// The owner already has exactly these addresses.
    Held,
    /// The claim was taken over earlier and its allocation has ended since, or its owner was deleted, so it does not show who uses
    /// the addresses now.
    Released,
    /// The owner does not get the addresses, for this reason; an unknown owner holds them.
    Unknown(String),
}

/// The rules by which claims are judged.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    /// Whether a claim ends an earlier claim of the same source.
    pub(super) exclusive: bool,
    /// Allocations from this generation on are never ended: this import made them.
    pub(super) since: Generation,
    /// The policy that serves the network.
    pub(super) policy: &'a Arc<PolicyStamp>,
    /// Time of the import.
    pub(super) now: Moment,
    /// The reason, in words, if the host has not supplied enough addresses yet.
    pub(super) awaited: Option<&'a str>,
    /// Whether an owner was deleted after this time.
    pub(super) is_over: &'a (dyn Fn(&Owner, Option<u64>) -> bool + Sync),
}

/// Stages facts that must become durable together, and applies them to the book.
type Commit<'a, B> = &'a mut dyn FnMut(&mut B, Vec<LedgerFact>) -> Result<()>;

impl Claim {
    /// Judges the claim and commits the resulting facts.
    ///
    /// # Errors
    /// `NotReady` if the addresses cannot be in any range yet, since the host supplies these and has supplied none: the claim can be judged later.
    pub(super) fn take<B: Borrow<Book>>(
        &self,
        held: &mut B,
        rules: Rules<'_>,
        commit: Commit<'_, B>,
    ) -> Result<Imported> {
        let book: &Book = (*held).borrow();
        let over = |place: &&Place| !place.claim.is_empty() && book.is_settled(place.address, &place.claim);
        let living: Vec<&Place> = self.places.iter().filter(|place| !over(place)).collect();
        if living.is_empty() {
            return match self.places.is_empty() {
                true => Err(Error::new(ErrorCode::AddressUnavailable, "the claim has no address")),
                false => Ok(Imported::Released),
            };
        }
        let owner = match &self.owner {
            Ok(owner) => owner,
            Err(why) => return self.hold(held, &living, why, rules, commit),
        };
        let is_over = (rules.is_over)(owner, self.claimed_at_ms);
        if !is_over && book.owned_by(owner).is_some_and(|held| has_exactly(held, &living)) {
            return Ok(Imported::Held);
        }
        let has_no_range = |place: &&&Place| is_without_ranges(book, place.address);
        if let Some((place, why)) = living.iter().find(has_no_range).zip(rules.awaited).filter(|_| !is_over) {
            let (network, address) = (book.name(), place.address);
            let cause = format_args!(
                "network {network} has no range that could have {address} yet ({why}); import again once it has"
            );
            return Err(Error::new(ErrorCode::NotReady, cause));
        }
        let ends = |place: &&Place| {
            let (place, holders) = (*place, [book.holder(place.address), book.waiting_for(place.address)]);
            holders.map(|holder| holder.filter(|holder| self.supersedes(holder, place, rules)).cloned())
        };
        let ending: Vec<_> = match is_over {
            true => Vec::new(),
            false => living.iter().flat_map(ends).flatten().collect(),
        };
        match self.admit(book, owner, &living, &ending, rules) {
            Ok(allocation) if is_over => {
                // The book remembers the claim as ended, and the address cools down. One without the other would have no end.
                let ended = LedgerFact::Released {
                    network: book.name().clone(),
                    generation: allocation.generation,
                    at: rules.now,
                    reason: End::Del.reason().into(),
                };
                commit(held, vec![LedgerFact::Allocated(Arc::new(allocation)), ended])?;
                Ok(Imported::Released)
            }
            Err(_) if is_over => {
                let is_left =
                    |held: &Arc<Allocation>| self.origin_of(held).is_some() && has_exactly(held, &living);
                let owned = book.owned_by(owner).filter(|held| is_left(held));
                let unknown = living.iter().filter_map(|place| self.unknown_owner(book, place, rules));
                let ends = |ended: &Arc<Allocation>| book.release(&ended.owner, rules.now, End::Del.reason());
                let facts: Vec<LedgerFact> = owned.into_iter().chain(unknown).filter_map(ends).collect();
                if !facts.is_empty() {
                    commit(held, facts)?;
                }
                Ok(Imported::Released)
            }
            Ok(allocation) => {
                let end =
                    |ended: &Arc<Allocation>| book.release(&ended.owner, rules.now, End::Import.reason());
                let mut facts: Vec<LedgerFact> = ending.iter().filter_map(end).collect();
                facts.push(LedgerFact::Allocated(Arc::new(allocation)));
                commit(held, facts)?;
                Ok(Imported::Taken)
            }
            Err(why) => self.hold(held, &living, &why, rules, commit),
        }
    }

    /// The origin of an allocation that was imported from this claim's source.
    fn origin_of<'h>(&self, held: &'h Allocation) -> Option<&'h Origin> {
        held.origin.as_deref().filter(|origin| origin.source == self.source)
    }

    /// The unknown owner that an earlier import of exactly this claim of an address has made.
    fn unknown_owner<'b>(
        &self,
        book: &'b Book,
        place: &Place,
        rules: Rules<'_>,
    ) -> Option<&'b Arc<Allocation>> {
        let held = book.owned_by(&Owner::Unknown { address: place.address })?;
        // Without a claim, nothing distinguishes the address from a later one.
        let is_same = self.origin_of(held)?.claim(0)? == place.claim;
        Some(held).filter(|held| is_same && held.generation < rules.since)
    }

    /// Whether this claim shows that an allocation imported earlier from the same source is over.
    fn supersedes(&self, holder: &Allocation, place: &Place, rules: Rules<'_>) -> bool {
        let Some(origin) = self.origin_of(holder) else { return false };
        let index = holder.addresses.iter().position(|held| held.ip() == place.address);
        let claimed_anew = || {
            let before = index.and_then(|index| origin.claim(index));
            before.is_some_and(|before| !place.claim.is_empty() && before != place.claim)
        };
        holder.generation < rules.since
            && match holder.owner {
                Owner::Unknown { .. } => true,
                Owner::Attachment { .. } => rules.exclusive && claimed_anew(),
                Owner::Claim { .. } => false,
            }
    }

    fn admit(
        &self,
        book: &Book,
        owner: &Owner,
        living: &[&Place],
        ending: &[Arc<Allocation>],
        rules: Rules<'_>,
    ) -> Result<Allocation, String> {
        let network = book.network();
        let (named, pools) = (living.len(), network.pools.len());
        if named > pools {
            return Err(format!(
                "the claim has {named} addresses, but the network assigns at most {pools}, one from each pool"
            ));
        }
        let locate = |place: &&Place| match book.locate(place.address) {
            Some((pool, _)) => Ok((pool, place.address)),
            None => Err(outside(network, place.address)),
        };
        let proposal = Proposal::of(living.iter().map(locate).collect::<Result<Vec<_>, _>>()?);
        let request = Request {
            network: network.name.clone(),
            owner: owner.clone(),
            requested: living.iter().map(|place| place.address).collect(),
            sandbox: Sandbox { pod: self.pod.clone(), ..Sandbox::default() },
            supply_full: false,
            context: RequestContext::default(),
            requested_at: self.requested_at(rules.now),
        };
        let ending: Vec<Generation> = ending.iter().map(|ending| ending.generation).collect();
        let mut allocation = book
            .admit_living(&request, &proposal, rules.policy, rules.now, &ending)
            .map_err(|violation| violation.to_string())?;
        // In the order of the allocation's addresses, which is that of the pools.
        let claim = |address: IpAddr| living.iter().find(|place| place.address == address);
        let claims = allocation.addresses.iter().map(|held| claim(held.ip()));
        allocation.origin = Some(Box::new(Origin {
            source: self.source.clone(),
            claims: claims.map(|place| place.map_or_else(String::new, |place| place.claim.clone())).collect(),
            why: String::new(),
        }));
        Ok(allocation)
    }

    /// Returns the time of the owner's request, so that a DEL or a GC that began later ends the allocation although it came first.
    fn requested_at(&self, now: Moment) -> Moment {
        let Some(wall_ms) = self.claimed_at_ms.filter(|claimed| *claimed <= now.wall_ms) else { return now };
        let ago = (now.wall_ms - wall_ms).saturating_mul(1_000_000);
        Moment { boot_ns: now.boot_ns.saturating_sub(ago), wall_ms }
    }

    /// Lets an unknown owner hold the addresses that the claim's owner does not get: somebody may be using them.
    fn hold<B: Borrow<Book>>(
        &self,
        held: &mut B,
        living: &[&Place],
        why: &str,
        rules: Rules<'_>,
        commit: Commit<'_, B>,
    ) -> Result<Imported> {
        for place in living {
            let own = |holder: &Arc<Allocation>| Ok(&holder.owner) == self.owner.as_ref();
            let book: &Book = (*held).borrow();
            if book.holder(place.address).is_some_and(own) {
                continue;
            }
            let origin = Origin {
                source: self.source.clone(),
                claims: vec![place.claim.clone()],
                why: self.owner.as_ref().map_or_else(|_| why.to_owned(), |owner| format!("{owner}: {why}")),
            };
            if let Some(allocation) = book.hold(place.address, origin, rules.policy, rules.now) {
                commit(held, vec![LedgerFact::Allocated(Arc::new(allocation))])?;
            }
        }
        Ok(Imported::Unknown(why.to_owned()))
    }
}

/// Whether the host supplies the addresses of a family, and has supplied no range of it.
fn is_without_ranges(book: &Book, address: IpAddr) -> bool {
    let is_host = |(_, pool): &(usize, &Pool)| pool.supply == Supply::Host;
    let mut hosts = book.pools().iter().enumerate().filter(is_host).peekable();
    let is_family = |view: RangeView<'_>| view.range.first().is_ipv4() == address.is_ipv4();
    hosts.peek().is_some() && !hosts.any(|(index, _)| book.ranges(index).any(is_family))
}

/// Why an address cannot be assigned that no range has.
fn outside(network: &Network, address: IpAddr) -> String {
    let outside = format!("{address} is not in any range of network {}", network.name);
    match network.pools.iter().any(|pool| pool.supply == Supply::Host) {
        true => format!("{outside}; if one with it comes, import again"),
        false => outside,
    }
}

/// Whether an allocation has exactly these addresses.
fn has_exactly(held: &Allocation, living: &[&Place]) -> bool {
    let has: BTreeSet<IpAddr> = held.addresses.iter().map(AssignedAddress::ip).collect();
    has == living.iter().map(|place| place.address).collect()
}
