//! The numbers by which what is ours is known: priorities of rules, tables, and the protocol of both.
//!
//! The priorities are ipamd's, so that a node that moves over looks the same to its other tools. The tables are not: a range of
//! their own makes it certain whose a route is.

use std::ops::RangeInclusive;

/// Pods' addresses go to their links: one rule for all pods.
pub const TO_PODS: u32 = 512;
/// Flows that carry our mark go by the main table, and so by the primary interface.
pub const MARKED: u32 = 1024;
/// Destinations outside that are always reached by the main table.
pub const EXTERNAL: u32 = 1535;
/// Priority of the rules by which a pod's packets leave by the interface that carries its address.
pub const FROM_PODS: u32 = 1536;
/// Priority of the rule for sources without a bucket: on to [`BUCKETS_END`]. The rules from here to there are ours.
pub const NO_BUCKET: u32 = 1537;
/// The buckets of from-rules, where there are many: each has a priority for its rules and one for the way out.
pub const BUCKETS: RangeInclusive<u32> = 1538..=2047;
/// Priority of the rule at the end of all buckets: it matches nothing, so that the next one is asked.
pub const BUCKETS_END: u32 = 2048;
/// Priority of the rules by which packets from a secondary interface's own address leave by that interface.
pub const FROM_INTERFACE: u32 = 32765;

/// The table with a route to each pod.
pub const POD_TABLE: u32 = 9000;
/// The tables that are ours, with all routes in them.
pub const OWN_TABLES: RangeInclusive<u32> = POD_TABLE..=9999;
/// A table without routes.
pub const EMPTY_TABLE: u32 = 9999;
/// The kernel's main table.
pub const MAIN: u32 = 254;

/// The protocol of our rules and routes: the kernel's own, which systemd-networkd leaves alone.
pub const PROTOCOL: u8 = 2;

/// The metric that the kernel gives an IPv6 route without one.
pub const IPV6_METRIC: u32 = 1024;

/// How many interfaces of one network card have a table: more than any instance type has.
const PER_CARD: u32 = 30;

/// The table of an interface, by its network card and device index; `None` beyond what [`OWN_TABLES`] has room for.
#[must_use]
pub fn table_of(card: u32, device: u32) -> Option<u32> {
    let first = POD_TABLE.checked_add(1)?.checked_add(card.checked_mul(PER_CARD)?)?;
    let table = first.checked_add(device)?;
    (device < PER_CARD && table < EMPTY_TABLE).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interface_has_a_table_of_its_own_and_none_has_the_pods() {
        let mut seen = std::collections::BTreeSet::from([POD_TABLE]);
        for card in 0..33 {
            for device in 0..30 {
                let table = table_of(card, device).unwrap();
                assert!(OWN_TABLES.contains(&table) && seen.insert(table), "{card} {device} {table}");
            }
        }
        assert_eq!(table_of(0, 30), None);
        assert_eq!(table_of(34, 0), None);
        assert_eq!(table_of(u32::MAX, u32::MAX), None);
    }
}
