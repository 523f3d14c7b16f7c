//! What the engine holds, as operators see it.

use tenure_ledger::Book;
use tenure_types::{Allocation, Error, ErrorCode, PolicyStamp};

use crate::v1;

/// An allocation of a book.
pub(super) fn allocation(book: &Book, held: &Allocation) -> v1::Allocation {
    shown(held, book.is_outside(held), book.is_waiting(held))
}

/// An allocation, and whether it lies outside of the present ranges or waits behind another.
pub(super) fn shown(held: &Allocation, outside: bool, waiting: bool) -> v1::Allocation {
    let pod = held.pod.clone().unwrap_or_default();
    let (container_id, interface) = match held.owner.attachment() {
        Some((container, interface)) => (container.to_string(), interface.to_string()),
        None => (String::new(), String::new()),
    };
    let (source, unknown_because) = match &held.origin {
        Some(origin) => (origin.source.clone(), origin.why.clone()),
        None => (String::new(), String::new()),
    };
    v1::Allocation {
        network: held.network.to_string(),
        generation: held.generation.0,
        container_id,
        interface,
        addresses: addresses(held),
        gateways: held.addresses.iter().filter_map(|address| Some(address.gateway?.to_string())).collect(),
        pod_namespace: pod.namespace,
        pod_name: pod.name,
        pod_uid: pod.uid,
        netns: held.netns.clone(),
        policy: Some(policy_ref(&held.policy)),
        allocated_at_ms: held.allocated_at.wall_ms,
        outside,
        kind: held.owner.kind().to_owned(),
        source,
        unknown_because,
        waiting,
    }
}

/// The addresses of an allocation, with their prefix lengths.
pub(super) fn addresses(allocation: &Allocation) -> Vec<String> {
    allocation.addresses.iter().map(|address| address.address.to_string()).collect()
}

/// A policy by its name and digest.
pub(super) fn policy_ref(stamp: &PolicyStamp) -> v1::PolicyRef {
    v1::PolicyRef { name: stamp.name.to_string(), sha256: stamp.digest.to_string() }
}

/// A number of things in memory; there are never as many as do not fit.
pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The error of a network that is not there.
pub(super) fn unknown_network(name: &str) -> Error {
    Error::new(ErrorCode::UnknownNetwork, format_args!("no network {name:?} on this node"))
}
