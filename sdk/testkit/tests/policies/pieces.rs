//! Lists that the host gives in pieces arrive whole, however they are cut.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use tenure_sdk::ledger::Shelf;
use tenure_sdk::{
    Attributes, Config, ConfigError, Cooling, Definition, Policy, PoolDefinition, Proposal, Range, RangeSet,
    Refusal, Request,
};

/// The most ranges, and values of a label, in one piece.
const PIECE: u32 = 256;

/// Answers each request with what it counts.
struct Counting;

impl Policy for Counting {
    fn define(config: &Config) -> Result<Definition, ConfigError> {
        let count: u32 = config
            .ipam
            .parse()
            .map_err(|_| ConfigError { path: "ipam".into(), message: "is not a number".into() })?;
        let ranges = RangeSet((0..count).map(range).collect());
        let pool = PoolDefinition::new("pool", ranges);
        Ok(Definition::of(vec![pool], Cooling::Strict))
    }

    fn propose(_: &Request) -> Result<Proposal, Refusal> {
        let shelf = Shelf::of(0);
        let names: BTreeSet<_> = shelf.ranges().map(|view| view.range.name).collect();
        let racks: BTreeSet<_> = shelf.usage_by("rack").map(|(rack, _)| rack).collect();
        let (ranges, values) = (shelf.ranges().count(), shelf.usage_by("rack").count());
        Err(Refusal::Denied(format!("{ranges} of {} and {values} of {}", names.len(), racks.len())))
    }
}

/// A range of one address, in a rack of its own.
fn range(number: u32) -> Range {
    let address = IpAddr::V4(Ipv4Addr::from_bits(Ipv4Addr::new(10, 1, 0, 1).to_bits() + number));
    Range {
        name: format!("range-{number}"),
        subnet: "10.1.0.0/16".parse().unwrap(),
        first: address,
        last: address,
        gateway: None,
        prefix_length: 32,
        attributes: Attributes::new().with("rack", number.to_string()),
    }
}

#[test]
fn lists_arrive_whole() {
    for count in [1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 600] {
        let mut node = tenure_testkit::define::<Counting>(&count.to_string()).unwrap();
        let error = node.add("shop/web-0").unwrap_err().to_string();
        assert!(error.contains(&format!("{count} of {count} and {count} of {count}")), "{error}");
    }
}
