//! The simulation's policies, and the ranges that they and the host supply.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tenure_engine::ports::{Answer, Catalogue, Policy};
use tenure_fixtures::ports::catalogue::LookUp;
use tenure_ledger::{Book, Direction, Shelf};
use tenure_types::{
    Attributes, Cooling, DefinedPool, Definition, Error, ErrorCode, Need, NetworkConfig, NetworkName, Owner,
    PolicyName, PolicyStamp, Pool, PoolName, Proposal, Range, RangeName, Request, Supply,
};

/// The policies: the next free address in rotation, the highest free address, and rotation over half the subnet.
/// Configurations name the first.
pub(crate) const POLICIES: [&str; 3] = ["rotation", "highest", "narrow"];

/// The number of blocks that the host may supply.
pub(crate) const BLOCKS: usize = 4;

/// The pool that the host supplies.
pub(crate) const HOST: &str = "host";

/// The range that a policy defines; it has fewer addresses than there are attachments.
pub(crate) fn pool_of(policy: usize) -> Option<Range> {
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
            .with(Attributes::new([("half", half)]).ok()?),
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

    fn propose<'a>(&'a self, request: &'a Request, book: Arc<Book>) -> Answer<'a, Proposal> {
        Box::pin(async move {
            Thinking::default().await;
            if let Some(requested) = request.requested.first() {
                return Err(Error::new(ErrorCode::AddressUnavailable, requested));
            }
            self.choose(&request.owner, &book)
        })
    }
}

/// Yields once, so that other tasks run during a policy call.
#[derive(Default)]
struct Thinking(bool);

impl Future for Thinking {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Plain {
    fn choose(&self, owner: &Owner, book: &Book) -> Result<Proposal, Error> {
        let shelf = Shelf::whole(0);
        let free = match POLICIES.get(self.number) {
            Some(&"highest") => book.free(shelf, None, Direction::Descending, 1),
            _ => book.free(shelf, book.last(shelf), Direction::Ascending, 1),
        };
        let choice = free.first().copied().or_else(|| book.cooling(shelf, 1).first().copied());
        let address = choice.ok_or_else(|| Error::new(ErrorCode::PoolExhausted, "nothing is free"))?;
        // A second address from the host's blocks, if the owner's half of them has one free.
        let half = if owner.to_string().len().is_multiple_of(2) { "even" } else { "odd" };
        let shelf = Shelf::labelled(1, "half", half);
        let more = book.free(shelf, book.last(shelf), Direction::Ascending, 1);
        Ok(Proposal::of([(0, address)].into_iter().chain(more.first().map(|more| (1, *more)))))
    }
}

/// The catalogue of these policies.
pub(crate) fn catalogue() -> Arc<dyn Catalogue> {
    Arc::new(LookUp(|name: &PolicyName| {
        let number = POLICIES.iter().position(|known| *known == name.as_str());
        let number = number.ok_or_else(|| Error::new(ErrorCode::UnknownPolicy, name))?;
        let stamp = PolicyStamp { name: name.clone(), digest: "simulated".into() };
        Ok(Arc::new(Plain { number, stamp: Arc::new(stamp) }) as Arc<dyn Policy>)
    }))
}
