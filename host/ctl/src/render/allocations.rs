//! The list of allocations.

use tenure_rpc::v1::Allocation;

use super::cell::Cell;
use super::parts::{clean, counted, joined, or_dash, owner, pairs, pod, policy};
use super::table::{Grid, Table};
use super::view::View;

/// The number of rows that are printed at once; the first of them determine the columns' widths.
const PIECE: usize = 1000;

/// A row for each allocation, in the daemon's order, printed as they arrive.
pub(crate) struct AllocationList {
    /// Allocations that are not printed yet.
    rows: Vec<Allocation>,
    widths: Vec<usize>,
    count: u64,
    network: String,
    view: View,
    now_ms: u64,
}

impl AllocationList {
    /// A list of one network's allocations, or of all networks' if the name is empty.
    ///
    /// # Errors
    /// If there is no such column to sort by.
    pub(crate) fn new(network: &str, view: View, now_ms: u64) -> Result<Self, String> {
        view.check(table(&[], now_ms).heads())?;
        let network = network.to_owned();
        Ok(Self { rows: Vec::new(), widths: Vec::new(), count: 0, network, view, now_ms })
    }

    /// Adds an allocation, and appends to `out` the rows that can be printed by now: none if they are sorted.
    pub(crate) fn add(&mut self, allocation: Allocation, out: &mut String) {
        self.count += 1;
        self.rows.push(allocation);
        if self.rows.len() >= PIECE && self.view.sort_by.is_none() {
            self.print(out);
        }
    }

    /// Appends the remaining rows and the count.
    pub(crate) fn end(&mut self, out: &mut String) {
        if !self.rows.is_empty() {
            self.print(out);
        }
        if !self.view.has_heads {
            return;
        }
        if self.count > 0 {
            out.extend([counted(self.count, "allocation", "allocations").as_str(), "\n"]);
            return;
        }
        let place =
            if self.network.is_empty() { "yet".to_owned() } else { format!("in {}", clean(&self.network)) };
        out.extend(["No allocations ", &place, ": start a pod, or see `tenurectl networks`.\n"]);
    }

    fn print(&mut self, out: &mut String) {
        let rows = std::mem::take(&mut self.rows);
        table(&rows, self.now_ms).print(&self.view, &mut self.widths, out);
    }
}

/// The columns of allocations.
fn table(rows: &[Allocation], now_ms: u64) -> Grid {
    let table = Table::of(rows)
        .name("NETWORK", |of| clean(&of.network))
        .list("ADDRESSES", addresses)
        .name("POD", pod)
        .name("OWNER", owner)
        .column("INTERFACE", |of| or_dash(&of.interface))
        .column("AGE", |of| Cell::age(now_ms.saturating_sub(of.allocated_at_ms)))
        .name("TAGS", |of| pairs(&of.tags))
        .wide("GENERATION", |of| of.generation)
        .wide("POLICY", |of| policy(of.policy.as_ref()))
        .wide("CONTAINER", |of| or_dash(&of.container_id))
        .wide("NETNS", |of| or_dash(&of.netns));
    table.into()
}

/// The addresses, with what is unusual about them.
fn addresses(of: &Allocation) -> String {
    let mut addresses = joined(&of.addresses, ", ");
    for (is, what) in [(of.outside, " (outside)"), (of.waiting, " (waiting)")] {
        addresses.push_str(if is { what } else { "" });
    }
    addresses
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tenure_rpc::v1::AgentClaim;
    use tenure_rpc::v1::allocation::Owner;

    use super::*;

    fn allocations(all: &[Allocation], network: &str, now_ms: u64) -> String {
        let (mut list, mut text) =
            (AllocationList::new(network, View::default(), now_ms).unwrap(), String::new());
        all.iter().for_each(|allocation| list.add(allocation.clone(), &mut text));
        list.end(&mut text);
        text
    }

    #[test]
    fn allocations_show_pods_and_cut_ids() {
        let held = [
            Allocation {
                network: "pods".into(),
                container_id: "4c01db0b339c7a9ac2cf8a5e5c3bd4d0e5f5b8a1a3f6f4f1a6b2f5d7c9e1b3a5".into(),
                interface: "eth0".into(),
                addresses: vec!["10.1.0.7/24".into(), "fd00::7/64".into()],
                pod_namespace: "default".into(),
                pod_name: "web-1".into(),
                allocated_at_ms: 1_000,
                ..Allocation::default()
            },
            Allocation {
                network: "pods".into(),
                container_id: "c2".into(),
                interface: "eth0".into(),
                addresses: vec!["10.9.0.7/24".into()],
                allocated_at_ms: 100_000,
                outside: true,
                ..Allocation::default()
            },
            Allocation {
                network: "pods".into(),
                addresses: vec!["10.1.0.9/24".into()],
                allocated_at_ms: 100_000,
                kind: "unknown".into(),
                waiting: true,
                ..Allocation::default()
            },
            Allocation {
                network: "pods".into(),
                addresses: vec!["10.1.0.10/24".into()],
                allocated_at_ms: 100_000,
                kind: "claim".into(),
                owner: Some(Owner::Claim(AgentClaim { agent: "cilium".into(), name: "router".into() })),
                tags: HashMap::from([("zone".into(), "b".into())]),
                ..Allocation::default()
            },
        ];
        let text = allocations(&held, "", 200_000);
        insta::assert_snapshot!(text, @"
        NETWORK  ADDRESSES                POD            OWNER                INTERFACE  AGE     TAGS
        pods     10.1.0.7/24, fd00::7/64  default/web-1  4c01db0b339c         eth0       3m 19s
        pods     10.9.0.7/24 (outside)    -              c2                   eth0       1m 40s
        pods     10.1.0.9/24 (waiting)    -              unknown              -          1m 40s
        pods     10.1.0.10/24             -              claim cilium/router  -          1m 40s  zone=b
        4 allocations
        ");
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
    }

    #[test]
    fn none_says_what_to_do() {
        insta::assert_snapshot!(allocations(&[], "", 0), @"No allocations yet: start a pod, or see `tenurectl networks`.");
        insta::assert_snapshot!(allocations(&[], "pods", 0), @"No allocations in pods: start a pod, or see `tenurectl networks`.");
    }

    #[test]
    fn a_long_list_is_printed_as_it_comes() {
        let (mut list, mut text) = (AllocationList::new("", View::default(), 0).unwrap(), String::new());
        let one = Allocation { network: "pods".into(), ..Allocation::default() };
        for _ in 0..2_000 {
            list.add(one.clone(), &mut text);
        }
        assert!(text.lines().count() > 1_900, "{}", text.lines().count());
        list.add(Allocation { network: "a-longer-name".into(), ..one }, &mut text);
        list.end(&mut text);
        let widths: Vec<_> = text.lines().rev().take(3).map(|line| line.find("  -")).collect();
        assert_eq!(widths, [None, Some(13), Some(7)], "a wider cell shifts only its own row");
    }
}
