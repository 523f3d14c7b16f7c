//! What the ledger demands of an effect, whatever the policy says.
//!
//! Nothing is taken from a pool while anybody holds an address of it or one of its addresses cools down, whether or not the
//! pool still has its range; and nothing is done to a target twice at once. Whoever carries effects out adds rules of its
//! own.

use std::sync::Arc;

use tenure_ledger::{Book, Intent, RangeView, Taken};
use tenure_types::{AssignedAddress, Attributes, Effect, IntentId, Pool, Range, Supply};

/// What an effect takes: a range by its name, or all ranges with a label.
#[derive(Debug, Clone, Copy)]
struct Target<'a> {
    /// The attribute that names it.
    name: &'static str,
    value: &'a str,
}

/// The attributes that name a target: a range, or a label of ranges.
const RANGE: &str = "range";
const TARGETS: [&str; 3] = [RANGE, "interface", "block"];

/// The ranges that an effect takes; none if it takes nothing.
///
/// # Errors
/// Why the effect must not begin.
pub(super) fn check(book: &Book, open: &[Arc<Intent>], effect: &Effect) -> Result<Vec<Taken>, String> {
    if !effect.kind.takes() {
        return Ok(Vec::new());
    }
    let Some(target) = Target::of(&effect.attributes) else {
        return Err(format!("{} names neither a range nor an interface nor a block", effect.kind.name()));
    };
    if let Some(other) = open.iter().find(|intent| target.is_of(intent)) {
        return Err(format!("{} of {} is under way as {}", other.kind.name(), target.value, other.id));
    }
    let addresses = book.allocations().flat_map(|allocation| &allocation.addresses);
    let held = addresses.filter(|address| target.has(address)).count();
    if held > 0 {
        return Err(format!("{held} addresses of {} {} have owners", target.name, target.value));
    }
    let ranges: Vec<_> = target.ranges(book).collect();
    if target.name == RANGE && ranges.is_empty() {
        return Err(format!("there is no range {}", target.value));
    }
    let mut taken = Vec::new();
    for (pool, view) in ranges {
        let (range, was_open) = (view.range.name().clone(), !view.draining);
        if pool.supply != Supply::Host {
            return Err(format!("range {range} of pool {} is the configuration's", pool.name));
        }
        // An address may be in the range without coming from it, such as one of an import.
        let in_use = [(view.held, "have owners"), (view.cooling, "are cooling")];
        if let Some((count, what)) = in_use.into_iter().find(|(count, _)| *count > 0) {
            return Err(format!("{count} addresses of range {range} {what}"));
        }
        let is_this = |taken: &Taken| (&taken.pool, &taken.range) == (&pool.name, &range);
        if let Some(other) = open.iter().find(|intent| intent.takes.iter().any(is_this)) {
            return Err(format!("range {range} is taken by {} already", other.id));
        }
        taken.push(Taken { pool: pool.name.clone(), range, was_open });
    }
    Ok(taken)
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

    /// Its ranges, each with its pool.
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
