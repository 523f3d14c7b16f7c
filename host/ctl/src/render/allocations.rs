//! Who has which addresses.

use tenure_rpc::v1::Allocation;

use super::table::{table, text};
use super::{ago, clean, counted, joined, or_dash, pod, short};

/// A line for each allocation, in the daemon's order.
pub(crate) fn allocations(allocations: &[Allocation], network: &str, now_ms: u64) -> String {
    if allocations.is_empty() {
        return match network {
            "" => "No allocations yet: start a pod, or see `tenurectl networks`.\n".to_owned(),
            network => {
                format!("No allocations in {}: start a pod, or see `tenurectl networks`.\n", clean(network))
            }
        };
    }
    let mut table = table(["NETWORK", "ADDRESSES", "POD", "CONTAINER", "INTERFACE", "ALLOCATED"]);
    for allocation in allocations {
        let mut addresses = joined(&allocation.addresses, ", ");
        if allocation.outside {
            addresses.push_str(" (outside)");
        }
        table.add_row([
            clean(&allocation.network),
            addresses,
            pod(allocation),
            short(&allocation.container_id),
            or_dash(&allocation.interface),
            ago(allocation.allocated_at_ms, now_ms),
        ]);
    }
    format!("{}{}\n", text(&table), counted(allocations.len() as u64, "allocation", "allocations"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ];
        insta::assert_snapshot!(allocations(&held, "", 200_000), @"
        NETWORK  ADDRESSES                POD            CONTAINER     INTERFACE  ALLOCATED
        pods     10.1.0.7/24, fd00::7/64  default/web-1  4c01db0b339c  eth0       3m 19s ago
        pods     10.9.0.7/24 (outside)    -              c2            eth0       1m 40s ago
        2 allocations
        ");
    }

    #[test]
    fn none_says_what_to_do() {
        insta::assert_snapshot!(allocations(&[], "", 0), @"No allocations yet: start a pod, or see `tenurectl networks`.");
        insta::assert_snapshot!(allocations(&[], "pods", 0), @"No allocations in pods: start a pod, or see `tenurectl networks`.");
    }
}
