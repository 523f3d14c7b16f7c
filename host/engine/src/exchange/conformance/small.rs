//! A definition cut down to a few addresses, so that its book can be filled.

use tenure_types::{Definition, Range};

/// How many addresses of each range are left on the small book, which is filled.
const LEFT: u32 = 3;

/// How many ranges the small book has at most.
const MOST_RANGES: usize = 16;

/// The definition with only the first addresses of each range.
pub(super) fn small(definition: &Definition) -> Definition {
    let mut small = definition.clone();
    for pool in &mut small.pools {
        pool.ranges.truncate(MOST_RANGES);
        for range in &mut pool.ranges {
            if let Some(cut) = cut(range) {
                *range = cut;
            }
        }
    }
    small
}

/// The beginning of a range, with the room for [`LEFT`] addresses beside the network's own and a gateway, or for one more prefix than
/// that; `None` if it is not longer.
fn cut(range: &Range) -> Option<Range> {
    let end_of = |address| range.span(address).1;
    let last = (0..LEFT + 1).try_fold(end_of(range.first()), |last, _| Some(end_of(next(last)?)))?;
    if last >= range.last() {
        return None;
    }
    let cut = Range::new(range.subnet(), range.first(), last, range.gateway(), range.prefix_length()).ok()?;
    let cut = if range.has_default_name() { cut } else { cut.named(range.name().clone()) };
    Some(cut.with(range.attributes().clone()))
}

fn next(address: std::net::IpAddr) -> Option<std::net::IpAddr> {
    match address {
        std::net::IpAddr::V4(four) => {
            four.to_bits().checked_add(1).map(|bits| std::net::Ipv4Addr::from_bits(bits).into())
        }
        std::net::IpAddr::V6(six) => {
            six.to_bits().checked_add(1).map(|bits| std::net::Ipv6Addr::from_bits(bits).into())
        }
    }
}
