//! From-rules where there are many: buckets, so that a packet is not compared with all of them.
//!
//! The kernel walks rules one by one. Few from-rules stand side by side. Many are divided by their sources into blocks that do not
//! overlap; one rule for each block goes on at its bucket, which has the rules of that block only:
//!
//! ```text
//! 1536: from 10.0.1.0/25   goto 1602      1602: from 10.0.1.4/32 lookup 9002, from 10.0.1.9/32 lookup 9004, ...
//! 1536: from 10.0.1.128/25 goto 1858      1603: from all goto 2048
//! 1537: from all           goto 2048      2048: from all lookup 9999, which is empty
//! ```
//!
//! A bucket's priority follows from its block. Two blocks may share one: then both blocks' rules are walked, and the right one is
//! found all the same. Rules of others are not skipped as long as they keep out of the range from 1537 to 2048, which is ours.

use std::collections::BTreeSet;

use ipnet::IpNet;

use crate::numbers::{BUCKETS, BUCKETS_END, EMPTY_TABLE, FROM_PODS, NO_BUCKET};
use crate::parts::{IpFamily, RoutingRule};

/// Up to how many from-rules stand side by side.
const FEW: usize = 32;
/// How many rules a bucket has at most.
const FULL: usize = 24;

/// The rules that lead each source to its table. The networks do not overlap.
pub(super) fn rules(family: IpFamily, mut nets: Vec<(IpNet, u32)>) -> BTreeSet<RoutingRule> {
    nets.sort_unstable();
    let leaf = |priority, (net, table): (IpNet, u32)| RoutingRule::new(family, priority, table).from(net);
    if nets.len() <= FEW {
        return nets.into_iter().map(|net| leaf(FROM_PODS, net)).collect();
    }
    let mut rules = BTreeSet::from([
        RoutingRule::jump(family, NO_BUCKET, BUCKETS_END),
        RoutingRule::new(family, BUCKETS_END, EMPTY_TABLE),
    ]);
    let mut undivided = vec![nets];
    while let Some(mut nets) = undivided.pop() {
        let Some(block) = common(&nets) else { continue };
        // The networks are sorted: those of the block's upper half come last. The block is the smallest, so both halves have some.
        let upper = nets.partition_point(|(net, _)| !is_upper(*net, block));
        if nets.len() <= 2 {
            // The way to a bucket would cost as much.
            rules.extend(nets.into_iter().map(|net| leaf(FROM_PODS, net)));
        } else if nets.len() <= FULL || upper == 0 || upper == nets.len() {
            let priority = priority(block);
            rules.insert(RoutingRule::jump(family, FROM_PODS, priority).from(block));
            rules.insert(RoutingRule::jump(family, priority + 1, BUCKETS_END));
            rules.extend(nets.into_iter().map(|net| leaf(priority, net)));
        } else {
            undivided.push(nets.split_off(upper));
            undivided.push(nets);
        }
    }
    rules
}

/// The smallest network that contains all of these.
fn common(nets: &[(IpNet, u32)]) -> Option<IpNet> {
    let (first, last) = (nets.first()?.0, nets.last()?.0);
    let mut block = first;
    while !block.contains(&last) {
        block = block.supernet()?;
    }
    Some(block)
}

/// Whether a network is in the upper half of a block.
fn is_upper(net: IpNet, block: IpNet) -> bool {
    let half = block.prefix_len().saturating_add(1);
    IpNet::new(block.network(), half).is_ok_and(|lower| !lower.contains(&net))
}

/// A bucket's priority: the first of two, by the block's first address (FNV-1a).
fn priority(block: IpNet) -> u32 {
    let bytes = match block {
        IpNet::V4(net) => net.network().octets().to_vec(),
        IpNet::V6(net) => net.network().octets().to_vec(),
    };
    let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = bytes.into_iter().fold(0x811c_9dc5, mix);
    let places = (BUCKETS.end() - BUCKETS.start()).div_ceil(2);
    BUCKETS.start() + 2 * (hash % places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rules_stand_side_by_side() {
        let nets = (0..FEW).map(|at| (format!("10.0.0.{}/32", 2 * at).parse().unwrap(), 9002)).collect();
        let rules = rules(IpFamily::V4, nets);
        assert_eq!(rules.len(), FEW);
        assert!(rules.iter().all(|rule| rule.priority == FROM_PODS && rule.goto.is_none()));
    }

    #[test]
    fn each_bucket_has_a_way_out_in_the_range_that_is_ours() {
        let nets = (0..200).map(|at| (format!("10.0.{}.{}/32", at % 7, at).parse().unwrap(), 9002)).collect();
        let rules = rules(IpFamily::V4, nets);
        let targets: Vec<u32> =
            rules.iter().filter(|rule| rule.from.is_some()).filter_map(|rule| rule.goto).collect();
        assert!(targets.len() > 7);
        for target in targets {
            assert!(BUCKETS.contains(&target) && BUCKETS.contains(&(target + 1)), "{target}");
            assert!(rules.contains(&RoutingRule::jump(IpFamily::V4, target + 1, BUCKETS_END)), "{target}");
        }
        assert!(rules.iter().all(crate::ours::is_rule));
    }
}
