//! The engine's data as the messages that operators see.

use std::collections::HashMap;

use tenure_ledger::Book;
use tenure_types::{
    Allocation, AssignedAddress, Attributes, Error, ErrorCode, Owner, PolicyStamp, PoolName, RangeName,
};

use crate::v1;

/// An allocation of a book.
pub(super) fn allocation(book: &Book, held: &Allocation) -> v1::Allocation {
    shown(held, book.is_outside(held), book.is_waiting(held))
}

/// An allocation; `outside` the current ranges, `waiting` for another allocation of its address to end.
pub(super) fn shown(held: &Allocation, outside: bool, waiting: bool) -> v1::Allocation {
    let pod = held.pod().cloned().unwrap_or_default();
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
        gateways: held.addresses.iter().filter_map(|address| Some(address.gateway()?.to_string())).collect(),
        pod_namespace: pod.namespace.to_string(),
        pod_name: pod.name.into(),
        pod_uid: pod.uid.into(),
        netns: held.netns().to_owned(),
        policy: Some(policy_ref(&held.policy)),
        allocated_at_ms: held.allocated_at.wall_ms,
        outside,
        kind: held.owner.kind().to_owned(),
        source,
        unknown_because,
        waiting,
        sources: held.addresses.iter().map(address_source).collect(),
        tags: map(&held.tags),
        owner: Some(owner(&held.owner)),
    }
}

fn owner(owner: &Owner) -> v1::allocation::Owner {
    match owner {
        Owner::Attachment { container, interface } => v1::allocation::Owner::Attachment(v1::Attachment {
            container_id: container.to_string(),
            interface: interface.to_string(),
        }),
        Owner::Claim { agent, name } => {
            v1::allocation::Owner::Claim(v1::AgentClaim { agent: agent.to_string(), name: name.to_string() })
        }
        Owner::Unknown { address } => {
            v1::allocation::Owner::Unknown(v1::UnknownOwner { address: address.to_string() })
        }
    }
}

fn address_source(assigned: &AssignedAddress) -> v1::AddressSource {
    let source = &assigned.source;
    v1::AddressSource {
        pool: source.pool.as_ref().map_or_else(String::new, PoolName::to_string),
        range: source.range.as_ref().map_or_else(String::new, RangeName::to_string),
        pool_attributes: map(&source.pool_attributes),
        range_attributes: map(&source.range_attributes),
        attributes: map(&assigned.attributes),
    }
}

/// Attributes as a message's map.
pub(super) fn map(attributes: &Attributes) -> HashMap<String, String> {
    attributes.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The addresses of an allocation, with their prefix lengths.
pub(super) fn addresses(allocation: &Allocation) -> Vec<String> {
    allocation.addresses.iter().map(|address| address.address.to_string()).collect()
}

/// A policy's name and digest.
pub(super) fn policy_ref(stamp: &PolicyStamp) -> v1::PolicyRef {
    v1::PolicyRef { name: stamp.name.to_string(), sha256: stamp.digest.to_string() }
}

/// A count of objects in memory, which always fits.
pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The error for a network that does not exist.
pub(super) fn unknown_network(name: &str) -> Error {
    Error::new(ErrorCode::UnknownNetwork, format_args!("no network {name} on this node"))
}
