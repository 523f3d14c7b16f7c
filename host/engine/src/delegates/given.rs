//! From what a delegate gave to facts: each address becomes a range of its own, supplied by the host.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_ledger::{
    Book, Delegation, DelegationFact, Delegations, Fact, InvalidDefinition, LedgerFact, Violation,
};
use tenure_types::cni::Success;
use tenure_types::{
    Allocation, Assignment, Attributes, DELEGATED, Moment, NetworkName, PolicyStamp, Pool, PoolName,
    Proposal, Range, RangeError, Request, Supply, agreed,
};

/// Why the ledger refuses what a delegate gave.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    /// Somebody has the address.
    #[error("it gave {0}, which somebody else has")]
    Twice(IpAddr),
    /// The network has no pool for it, or another one has it already.
    #[error("it gave {0}, but the network takes one address of each family")]
    NoPool(IpAddr),
    /// The address cannot be a range.
    #[error("it gave {0}: {1}")]
    Range(IpAddr, RangeError),
    /// The range cannot be added to its pool.
    #[error("it gave {0}: {1}")]
    Supply(IpAddr, InvalidDefinition),
    /// The answer breaks another rule of the ledger.
    #[error("{0}")]
    Rule(Violation),
    /// The routes or the DNS settings cannot be stored.
    #[error("its routes or its DNS settings cannot be kept: {0}")]
    Carried(tenure_types::InvalidAttributes),
}

/// An answer that the ledger accepts.
pub(super) struct Accepted {
    pub(super) allocation: Allocation,
    /// The facts of the ranges, which come before the allocation.
    pub(super) ranges: Vec<Fact>,
}

/// Checks an answer against a book.
pub(super) fn accept(
    book: &Book,
    request: &Request,
    given: &Success,
    delegate: &str,
    stamp: &Arc<PolicyStamp>,
    now: Moment,
) -> Result<Accepted, Refused> {
    // A book with these ranges and without owners: whether an address cools down is the delegate's business.
    let mut draft = book.without_owners();
    let mut ranges = Vec::new();
    let mut assignments = Vec::new();
    let carried = given.carried(DELEGATED, delegate).map_err(Refused::Carried)?;
    for assigned in &given.addresses {
        let address = assigned.ip();
        if book.holder(address).is_some() {
            return Err(Refused::Twice(address));
        }
        let pool = pool_of(book, address).ok_or(Refused::NoPool(address))?;
        let name = book.pools().get(pool).map(|pool| pool.name.clone()).ok_or(Refused::NoPool(address))?;
        let length = assigned.address.prefix_len();
        let range = Range::new(assigned.address.trunc(), address, address, assigned.gateway(), length)
            .map_err(|error| Refused::Range(address, error))?;
        for fact in
            supplied(&draft, pool, &name, range, now).map_err(|error| Refused::Supply(address, error))?
        {
            // Facts that the draft itself has made.
            let _ = draft.apply(draft.through() + 1, &fact);
            ranges.push(fact.into());
        }
        assignments.push(Assignment { pool, address, attributes: Attributes::default() });
    }
    // They are read from the first address of the allocation, whose addresses are in the order of the pools.
    if let Some(first) = assignments.iter_mut().min_by_key(|assignment| assignment.pool) {
        first.attributes = carried;
    }
    let proposal = Proposal { assignments, tags: Attributes::default() };
    if let Some(held) = book.owned_by(&request.owner) {
        return Err(Refused::Rule(Violation::OwnerHolds(request.owner.clone(), held.generation)));
    }
    let mut allocation =
        draft.admit(request, &proposal, stamp, now).map_err(|violation| match violation {
            Violation::PoolTwice(_) => Refused::NoPool(
                given.addresses.last().map_or(IpAddr::from([0; 4]), tenure_types::AssignedAddress::ip),
            ),
            other => Refused::Rule(other),
        })?;
    allocation.generation = book.next_generation();
    Ok(Accepted { allocation, ranges })
}

/// The index of the pool for addresses of a family.
fn pool_of(book: &Book, address: IpAddr) -> Option<usize> {
    let name = agreed::pool_of_family(address.is_ipv4());
    let is_it = |pool: &Pool| pool.name.as_str() == name && pool.supply == Supply::Host;
    book.pools().iter().position(is_it)
}

/// The facts that make an address a range; nobody holds it. One that was left from an earlier owner is replaced if it differs.
fn supplied(
    draft: &Book,
    pool: usize,
    name: &PoolName,
    range: Range,
    now: Moment,
) -> Result<Vec<LedgerFact>, InvalidDefinition> {
    let left = draft.ranges(pool).find(|view| view.range.name() == range.name());
    match left {
        Some(view) if *view.range == range => Ok(Vec::new()),
        Some(view) => {
            let network = draft.name().clone();
            let removed = LedgerFact::RangeRemoved {
                network: network.clone(),
                pool: name.clone(),
                range: view.range.name().clone(),
                at: now,
            };
            let added =
                LedgerFact::RangeAdded { network, pool: name.clone(), range: Box::new(range), at: now };
            Ok(vec![removed, added])
        }
        None => Ok(vec![draft.supply(name, range, now)?]),
    }
}

/// The facts that remove the ranges of addresses that a delegate has taken back, unless somebody holds them again.
pub(super) fn withdrawn(book: &Book, addresses: &[IpAddr], now: Moment) -> Vec<Fact> {
    let free = addresses.iter().filter(|address| book.holder(**address).is_none());
    let of = |address: &IpAddr| {
        let pool = pool_of(book, *address)?;
        let name = book.pools().get(pool)?.name.clone();
        let range = book.ranges(pool).find(|view| {
            view.range.first() == *address && view.range.last() == *address && view.range.has_default_name()
        })?;
        book.withdraw(&name, range.range.name(), now).ok()?
    };
    free.filter_map(of).map(Fact::from).collect()
}

/// The facts that reopen what delegates gave in a network that is being removed, where nothing is in use: they have to take it
/// back all the same. The next network of this name counts its allocations from one again, and one of them must not be taken
/// for an allocation of this one.
pub(crate) fn reopened(delegations: &Delegations, network: &NetworkName) -> Vec<Fact> {
    let given = delegations.of(network).filter(|delegation| delegation.given.is_some());
    let open = |delegation: &Arc<Delegation>| Delegation { given: None, ..delegation.as_ref().clone() };
    given.map(open).map(DelegationFact::Asked).map(Fact::from).collect()
}
