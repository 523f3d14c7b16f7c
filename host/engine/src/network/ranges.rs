//! The ranges that a change of a network adds and removes, as text for people.

use std::collections::BTreeSet;

use tenure_ledger::{Book, Fact, LedgerFact};
use tenure_types::{PoolName, Range};

/// A range of a pool.
struct Placed<'a> {
    pool: &'a PoolName,
    range: &'a Range,
}

/// The ranges that facts add and remove, each as `first-last`. A range that is replaced by one with the same addresses is
/// on both lists, with what it had and what it gets.
pub(crate) fn ranges(before: Option<&Book>, facts: &[Fact]) -> (Vec<String>, Vec<String>) {
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    for fact in facts {
        match fact {
            Fact::Ledger(LedgerFact::RangeAdded { pool, range, .. }) => added.push(Placed { pool, range }),
            Fact::Ledger(LedgerFact::RangeRemoved { pool, range, .. }) => {
                let of_pool = placed(before).filter(|placed| placed.pool == pool);
                removed.extend(of_pool.filter(|placed| placed.range.name() == range));
            }
            Fact::Ledger(LedgerFact::Defined(network)) => {
                removed.extend(placed(before).filter(|placed| network.pool_named(placed.pool).is_none()));
            }
            _ => {}
        }
    }
    let texts = |of: &[Placed<'_>], other: &[Placed<'_>]| of.iter().map(|one| text(one, other)).collect();
    (texts(&added, &removed), texts(&removed, &added))
}

/// The ranges of a book.
fn placed(book: Option<&Book>) -> impl Iterator<Item = Placed<'_>> {
    book.into_iter().flat_map(|book| {
        let pools = book.pools().iter().enumerate();
        pools.flat_map(move |(index, pool)| {
            book.ranges(index).map(|view| Placed { pool: &pool.name, range: view.range })
        })
    })
}

/// A range, with what distinguishes it from the one of the same addresses on the other list.
fn text(one: &Placed<'_>, other: &[Placed<'_>]) -> String {
    let addresses = (one.range.first(), one.range.last());
    let same = other.iter().find(|other| (other.range.first(), other.range.last()) == addresses);
    let differences = same.map_or_else(Vec::new, |same| differences(one, same));
    match differences.is_empty() {
        true => one.range.to_string(),
        false => format!("{} ({})", one.range, differences.join(", ")),
    }
}

/// Lists the properties in which one range differs from another.
fn differences(one: &Placed<'_>, other: &Placed<'_>) -> Vec<String> {
    let mut told = Vec::new();
    if one.pool != other.pool {
        told.push(format!("pool {}", one.pool));
    }
    let (one, other) = (one.range, other.range);
    if one.name() != other.name() {
        told.push(format!("name {}", one.name()));
    }
    if one.subnet() != other.subnet() {
        told.push(format!("subnet {}", one.subnet()));
    }
    if one.gateway() != other.gateway() {
        told.push(
            one.gateway().map_or_else(|| "no gateway".to_owned(), |gateway| format!("gateway {gateway}")),
        );
    }
    if one.prefix_length() != other.prefix_length() {
        told.push(format!("prefix length {}", one.prefix_length()));
    }
    let labels: BTreeSet<&str> =
        one.attributes().iter().chain(other.attributes().iter()).map(|(name, _)| name).collect();
    for name in labels {
        match (one.attributes().get(name), other.attributes().get(name)) {
            (ours, theirs) if ours == theirs => {}
            (Some(value), _) => told.push(format!("{name}={value}")),
            (None, _) => told.push(format!("no {name}")),
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use tenure_types::{Attributes, Pool};

    use super::*;

    #[test]
    fn a_range_whose_label_alone_changes_says_so() {
        let (zero, one) = (Pool::numbered(0).name, Pool::numbered(1).name);
        let subnet = "10.0.0.0/24".parse().unwrap();
        let plain =
            Range::new(subnet, "10.0.0.2".parse().unwrap(), "10.0.0.9".parse().unwrap(), None, 24).unwrap();
        let labelled = plain.clone().with(Attributes::new([("shared", "")]).unwrap());
        let (plain, labelled) =
            (Placed { pool: &zero, range: &plain }, Placed { pool: &zero, range: &labelled });
        assert_eq!(text(&labelled, &[Placed { ..plain }]), "10.0.0.2-10.0.0.9 (shared=)");
        assert_eq!(text(&plain, &[Placed { ..labelled }]), "10.0.0.2-10.0.0.9 (no shared)");
        let moved = Placed { pool: &one, range: plain.range };
        assert_eq!(text(&moved, &[Placed { ..plain }]), "10.0.0.2-10.0.0.9 (pool 1)");
        assert_eq!(text(&plain, &[]), "10.0.0.2-10.0.0.9");
        let relabelled =
            |pairs: &[(&str, &str)]| labelled.range.clone().with(Attributes::new(pairs.to_vec()).unwrap());
        let (old, new) =
            (relabelled(&[("shared", ""), ("zone", "a")]), relabelled(&[("shared", ""), ("zone", "b")]));
        let (old, new) = (Placed { pool: &zero, range: &old }, Placed { pool: &zero, range: &new });
        assert_eq!(text(&new, &[old]), "10.0.0.2-10.0.0.9 (zone=b)", "what stays is not told");
    }
}
