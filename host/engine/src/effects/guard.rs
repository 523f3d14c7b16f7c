//! The ledger's conditions on an effect of any policy.
//!
//! Nothing is taken from a pool while anybody holds an address of it or one of its addresses cools down, whether or not the
//! pool still has its range; and nothing is done to a target twice at once. An executor adds rules of its
//! own.

use std::sync::Arc;

use tenure_ledger::{Book, Intent, RangeView, Taken};
use tenure_types::agreed::{BLOCK, INTERFACE, RANGE};
use tenure_types::{AssignedAddress, Attributes, Effect, IntentId, Owner, Pool, Range, Supply};

use super::refusal::{EffectTarget, Refusal};

/// The ranges that an effect takes: one by its name, or all with a label.
#[derive(Debug, Clone, Copy)]
struct Target<'a> {
    /// The attribute that names it.
    name: &'static str,
    value: &'a str,
}

/// The attributes that name a target: a range, or a label of ranges.
const TARGETS: [&str; 3] = [RANGE, INTERFACE, BLOCK];

/// The ranges that an effect takes; none if it takes nothing.
///
/// # Errors
/// Why the effect must not begin.
pub(super) fn check(book: &Book, open: &[Arc<Intent>], effect: &Effect) -> Result<Vec<Taken>, Refusal> {
    if !effect.kind.takes() {
        return Ok(Vec::new());
    }
    let Some(target) = Target::of(&effect.attributes) else {
        let kind = effect.kind.name();
        return Err(Refusal::Unknown(format!("{kind} names neither a range nor an interface nor a block")));
    };
    if let Some(other) = open.iter().find(|intent| target.is_of(intent)) {
        let (by, kind) = (other.id.clone(), Some(other.kind));
        return Err(Refusal::UnderWay { by, kind, target: target.named() });
    }
    unheld(book, |address| target.has(address), || target.named())?;
    let ranges: Vec<_> = target.ranges(book).collect();
    if target.name == RANGE && ranges.is_empty() {
        return Err(Refusal::Unknown(format!("there is no range {}", target.value)));
    }
    let mut taken = Vec::new();
    for (pool, view) in ranges {
        let (range, was_open) = (view.range.name().clone(), !view.draining);
        if pool.supply != Supply::Host {
            return Err(Refusal::Configured { range, pool: pool.name.clone() });
        }
        let this = || EffectTarget { label: RANGE, name: range.to_string() };
        if view.held > 0 {
            // An address may be in the range without coming from it, such as one of an import.
            unheld(book, |address| view.range.contains(address.ip()), this)?;
            return Err(Refusal::Quarantined { addresses: view.held, target: this() });
        }
        if view.cooling > 0 {
            return Err(Refusal::Cooling { addresses: view.cooling, target: this() });
        }
        let is_this = |taken: &Taken| (&taken.pool, &taken.range) == (&pool.name, &range);
        if let Some(other) = open.iter().find(|intent| intent.takes.iter().any(is_this)) {
            return Err(Refusal::UnderWay { by: other.id.clone(), kind: None, target: this() });
        }
        taken.push(Taken { pool: pool.name.clone(), range, was_open });
    }
    Ok(taken)
}

/// Checks that nobody holds such an address. Attachments come first: they may end soon, and a claim does not.
fn unheld(
    book: &Book,
    is_such: impl Fn(&AssignedAddress) -> bool,
    target: impl Fn() -> EffectTarget,
) -> Result<(), Refusal> {
    let (mut held, mut claimed) = (0, 0);
    for allocation in book.allocations() {
        let such = allocation.addresses.iter().filter(|address| is_such(address)).count() as u64;
        match allocation.owner {
            Owner::Claim { .. } => claimed += such,
            Owner::Attachment { .. } | Owner::Unknown { .. } => held += such,
        }
    }
    match (held, claimed) {
        (0, 0) => Ok(()),
        (0, addresses) => Err(Refusal::Claimed { addresses, target: target() }),
        (addresses, _) => Err(Refusal::InUse { addresses, target: target() }),
    }
}

/// The open intent that takes a range, so that it must not be handed out.
pub(crate) fn taker<'a>(open: &'a [Arc<Intent>], range: &Range) -> Option<&'a IntentId> {
    let takes = |intent: &&Arc<Intent>| {
        let target = Target::of(&intent.attributes).filter(|_| intent.kind.takes());
        target.is_some_and(|target| target.is(range))
    };
    open.iter().find(takes).map(|intent| &intent.id)
}

impl<'a> Target<'a> {
    fn of(attributes: &'a Attributes) -> Option<Self> {
        TARGETS.into_iter().find_map(|name| Some(Self { name, value: attributes.get(name)? }))
    }

    fn named(self) -> EffectTarget {
        EffectTarget { label: self.name, name: self.value.to_owned() }
    }

    /// Whether an open intent does something to it.
    fn is_of(self, intent: &Intent) -> bool {
        [&intent.attributes, &intent.reached].iter().any(|named| named.get(self.name) == Some(self.value))
    }

    /// Whether an address came from it.
    fn has(self, address: &AssignedAddress) -> bool {
        match self.name {
            RANGE => address.source.range.as_ref().is_some_and(|range| range.as_str() == self.value),
            label => address.source.range_attributes.get(label) == Some(self.value),
        }
    }

    /// Lists the target's ranges, each with its pool.
    fn ranges(self, book: &Book) -> impl Iterator<Item = (&Pool, RangeView<'_>)> {
        let pools = book.pools().iter().enumerate();
        let ranges = pools.flat_map(|(index, pool)| book.ranges(index).map(move |view| (pool, view)));
        ranges.filter(move |(_, view)| self.is(view.range))
    }

    fn is(self, range: &Range) -> bool {
        match self.name {
            RANGE => range.name().as_str() == self.value,
            label => range.attributes().get(label) == Some(self.value),
        }
    }
}
