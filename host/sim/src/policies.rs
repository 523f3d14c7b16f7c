//! The simulation's policies, and the ranges that they and the host supply.

use std::future::ready;
use std::net::IpAddr;
use std::sync::Arc;

use tenure_engine::ports::{Answer, Catalogue, CatalogueEntry, Delegate, Offered, Policy, TakenIn};
use tenure_ledger::{Book, Component, Direction, Shelf};
use tenure_types::{
    Attributes, Cooling, DefinedPool, Definition, DelegateName, Effect, EffectKind, Error, ErrorCode, Need,
    NetworkConfig, NetworkName, Outcome, Owner, PlanState, PolicyName, PolicySelector, PolicyStamp, Pool,
    PoolName, Proposal, Range, RangeName, Request, Supply,
};

use crate::foreign::{FOREIGN, Foreign, GIVES};
use crate::thinking::Thinking;

/// The policies: the next free address in rotation, the highest free address, rotation over half the subnet, two that
/// fail most containers, two that count their accepted proposals, and what stands for a delegate. Configurations name the
/// first.
pub(crate) const POLICIES: [&str; 8] =
    ["rotation", "highest", "narrow", "lame", "limping", "counting", "recounting", FOREIGN];

/// Whether a policy fails most containers, always the same ones.
pub(crate) fn is_faulty(policy: usize) -> bool {
    matches!(POLICIES.get(policy), Some(&("lame" | "limping")))
}

/// The number of blocks that the host may supply.
pub(crate) const BLOCKS: usize = 4;

/// The node's attributes that make the policies plan: a block to give back, and one to request.
pub(crate) const TAKE: &str = "take";
pub(crate) const BRING: &str = "bring";

/// The pool that the host supplies.
pub(crate) const HOST: &str = "host";

/// The range that a policy defines, or that a delegate gives addresses of; it has fewer than there are attachments.
pub(crate) fn pool_of(policy: usize) -> Option<Range> {
    if POLICIES.get(policy) == Some(&FOREIGN) {
        let subnet: ipnet::IpNet = "10.0.2.0/28".parse().ok()?;
        let address = |last| IpAddr::from([10, 0, 2, last]);
        return Range::new(subnet, address(GIVES.0), address(GIVES.1), None, 28).ok();
    }
    let length = if POLICIES.get(policy) == Some(&"narrow") { 29 } else { 28 };
    let subnet: ipnet::IpNet = format!("10.0.0.0/{length}").parse().ok()?;
    let gateway = subnet.hosts().next();
    Range::new(subnet, subnet.network(), subnet.broadcast(), gateway, subnet.prefix_len()).ok()
}

/// A block that the host may supply.
pub(crate) fn block(number: usize) -> Option<Range> {
    let subnet: ipnet::IpNet = format!("10.0.1.{}/29", number * 8).parse().ok()?;
    let range = Range::new(subnet, subnet.network(), subnet.broadcast(), None, 29).ok()?;
    let half = if number.is_multiple_of(2) { "even" } else { "odd" };
    Some(
        range
            .named(RangeName::new(format!("block-{number}")).ok()?)
            .with(Attributes::new([("half", half), ("block", &format!("block-{number}"))]).ok()?),
    )
}

/// One of the policies.
struct Plain {
    number: usize,
    stamp: Arc<PolicyStamp>,
}

impl Policy for Plain {
    fn stamp(&self) -> &Arc<PolicyStamp> {
        &self.stamp
    }

    fn define<'a>(&'a self, _: &'a NetworkName, _: &'a NetworkConfig) -> Answer<'a, Definition> {
        Box::pin(async {
            Thinking::default().await;
            let invalid = || Error::new(ErrorCode::InvalidConfig, "no range");
            let host = PoolName::new(HOST).map_err(|error| Error::new(ErrorCode::InvalidConfig, error))?;
            let host = Pool { supply: Supply::Host, need: Need::Optional, ..Pool::new(host) };
            let ranges = vec![pool_of(self.number).ok_or_else(invalid)?];
            let pools = vec![
                DefinedPool { pool: Pool::numbered(0), ranges },
                DefinedPool { pool: host, ranges: Vec::new() },
            ];
            Ok(Definition { pools, cooling: Cooling::Preferred, ..Definition::default() })
        })
    }

    fn propose<'a>(&'a self, request: &'a Request, book: Arc<Book>, state: Arc<[u8]>) -> Answer<'a, Outcome> {
        Box::pin(async move {
            Thinking::default().await;
            if is_faulty(self.number) && is_unlucky(&request.owner) {
                return Err(Error::new(ErrorCode::PolicyFailed, "it trapped: unreachable"));
            }
            if let Some(requested) = request.requested.first() {
                return Err(Error::new(ErrorCode::AddressUnavailable, requested));
            }
            let proposal = self.choose(&request.owner, &book)?;
            let counted = counted(&state, self.stamp.name.as_str()).map(|count| count + 1);
            let state = self.keeps_state().then(|| self.written(counted));
            Ok(Outcome { proposal, state })
        })
    }

    fn plans(&self) -> bool {
        true
    }

    fn plan<'a>(&'a self, state: Arc<PlanState>, book: Arc<Book>) -> Answer<'a, Vec<Effect>> {
        Box::pin(async move {
            Thinking::default().await;
            drop(book);
            let mut effects = Vec::new();
            for (wish, kind) in [(TAKE, EffectKind::GiveBackBlock), (BRING, EffectKind::RequestBlock)] {
                if let Some(block) = state.attributes.get(wish) {
                    let attributes = Attributes::new([("block", block)])
                        .map_err(|error| Error::new(ErrorCode::PolicyFailed, error))?;
                    effects.push(Effect { kind, pool: 1, attributes });
                }
            }
            Ok(effects)
        })
    }

    fn keeps_state(&self) -> bool {
        counts(&self.stamp.name)
    }

    fn migrate<'a>(&'a self, state: Arc<[u8]>, from: &'a PolicyStamp, _: Arc<Book>) -> Answer<'a, Arc<[u8]>> {
        Box::pin(async move {
            Thinking::default().await;
            Ok(self.written(counted(&state, from.name.as_str())))
        })
    }
}

/// A stand-in for the delegate.
struct Standing {
    delegate: DelegateName,
    stamp: Arc<PolicyStamp>,
}

impl Policy for Standing {
    fn stamp(&self) -> &Arc<PolicyStamp> {
        &self.stamp
    }

    fn delegate(&self) -> Option<&DelegateName> {
        Some(&self.delegate)
    }

    fn define<'a>(&'a self, _: &'a NetworkName, _: &'a NetworkConfig) -> Answer<'a, Definition> {
        Box::pin(async {
            Thinking::default().await;
            let pool = |name: &str| {
                let name =
                    PoolName::new(name).map_err(|error| Error::new(ErrorCode::InvalidConfig, error))?;
                let pool = Pool { supply: Supply::Host, need: Need::Optional, ..Pool::new(name) };
                Ok(DefinedPool { pool, ranges: Vec::new() })
            };
            // The first two are those of the other policies, so that the host's blocks stay.
            let numbered = Pool { need: Need::Optional, ..Pool::numbered(0) };
            let pools = vec![DefinedPool { pool: numbered, ranges: Vec::new() }, pool(HOST)?, pool("ipv4")?];
            Ok(Definition { pools, cooling: Cooling::Strict, ..Definition::default() })
        })
    }

    fn propose<'a>(&'a self, _: &'a Request, _: Arc<Book>, _: Arc<[u8]>) -> Answer<'a, Outcome> {
        Box::pin(ready(Err(Error::new(ErrorCode::PolicyRefused, "it does not support dry runs"))))
    }
}

/// Whether a policy counts its accepted proposals in its state.
pub(crate) fn counts(policy: &PolicyName) -> bool {
    policy.as_str().ends_with("counting")
}

/// The count in a policy's state; `None` if it is not a state of this policy.
pub(crate) fn counted(state: &[u8], policy: &str) -> Option<u64> {
    if state.is_empty() {
        return Some(0);
    }
    let (writer, count) = std::str::from_utf8(state).ok()?.split_once(' ')?;
    if writer == policy { count.parse().ok() } else { None }
}

/// Whether an owner needs a second address: one of seven containers.
fn insists(owner: &Owner) -> bool {
    number(owner).is_some_and(|number| number.is_multiple_of(7))
}

fn number(owner: &Owner) -> Option<u64> {
    let (container, _) = owner.attachment()?;
    container.as_str().strip_prefix('c')?.parse().ok()
}

/// Whether a faulty policy fails this owner: three of four of those of the runtimes, and none of the conformance suite's.
fn is_unlucky(owner: &Owner) -> bool {
    number(owner).is_some_and(|number| !number.is_multiple_of(4))
}

impl Plain {
    /// A state with this count; without one, a state that the oracle finds.
    fn written(&self, count: Option<u64>) -> Arc<[u8]> {
        let count = count.map_or_else(|| "misread".to_owned(), |count| count.to_string());
        format!("{} {count}", self.stamp.name).into_bytes().into()
    }

    fn choose(&self, owner: &Owner, book: &Book) -> Result<Proposal, Error> {
        let shelf = Shelf::whole(0);
        let free = match POLICIES.get(self.number) {
            Some(&("highest" | "limping")) => book.free(shelf, None, Direction::Descending, 1),
            _ => book.free(shelf, book.last(shelf), Direction::Ascending, 1),
        };
        let choice = free.first().copied().or_else(|| book.cooling(shelf, 1).first().copied());
        let address = choice.ok_or_else(|| Error::new(ErrorCode::PoolExhausted, "nothing is free"))?;
        // A second address from the host's blocks, if the owner's half of them has one free.
        let half = if owner.to_string().len().is_multiple_of(2) { "even" } else { "odd" };
        let shelf = Shelf::labelled(1, "half", half);
        let more = book.free(shelf, book.last(shelf), Direction::Ascending, 1);
        if more.is_empty() && insists(owner) {
            return Err(Error::new(ErrorCode::NotYet, "no block has a free address"));
        }
        Ok(Proposal::of([(0, address)].into_iter().chain(more.first().map(|more| (1, *more)))))
    }
}

fn find(name: &PolicyName) -> Result<Arc<dyn Policy>, Error> {
    let number = POLICIES.iter().position(|known| *known == name.as_str());
    let number = number.ok_or_else(|| Error::new(ErrorCode::UnknownPolicy, name))?;
    let stamp = Arc::new(PolicyStamp { name: name.clone(), digest: name.as_str().into() });
    Ok(match name.delegate() {
        Some(delegate) => Arc::new(Standing { delegate, stamp }),
        None => Arc::new(Plain { number, stamp }),
    })
}

/// The catalogue of these policies, and the delegate.
pub(crate) struct SimCatalogue(pub(crate) Foreign);

impl Catalogue for SimCatalogue {
    fn find(&self, name: &PolicyName) -> Result<Arc<dyn Policy>, Error> {
        find(name)
    }

    fn find_pinned(&self, stamp: &PolicyStamp) -> Result<Arc<dyn Policy>, Error> {
        find(&stamp.name)
    }

    fn resolve(&self, selector: &PolicySelector) -> Result<PolicyStamp, Error> {
        Ok(find(&selector.name)?.stamp().as_ref().clone())
    }

    fn load<'a>(&'a self, stamp: &'a PolicyStamp) -> Answer<'a, Arc<dyn Policy>> {
        Box::pin(ready(find(&stamp.name)))
    }

    fn take_in(&self, offered: Offered) -> Answer<'_, TakenIn> {
        Box::pin(ready(find(&offered.name).map(|policy| TakenIn { policy, signer: String::new() })))
    }

    fn delegate(&self, _: &DelegateName) -> Option<Arc<dyn Delegate>> {
        Some(Arc::new(self.0.clone()))
    }

    fn set_loaded(&self, _: &[Component]) {}

    fn awaited(&self) -> Option<String> {
        None
    }

    fn list(&self) -> Vec<CatalogueEntry> {
        Vec::new()
    }
}
