//! Any allocation.

use std::num::NonZeroU64;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use tenure_types::{
    AgentName, Allocation, AssignedAddress, ClaimName, ContainerId, InterfaceName, Link, Origin, Owner,
    Place, PodIdentity, Sandbox, Source,
};

use super::{
    NAME, address, attributes, generation, moment, network_name, network_of, policy, pool_name, range_name,
    text,
};

pub(super) fn owner() -> impl Strategy<Value = Owner> {
    let attachment = (NAME, "[!-.0-9;-~]{3,15}").prop_map(|(container, interface)| Owner::Attachment {
        container: ContainerId::new(container).unwrap(),
        interface: InterfaceName::new(interface).unwrap(),
    });
    let claim = (NAME, NAME).prop_map(|(agent, name)| Owner::Claim {
        agent: AgentName::new(agent).unwrap(),
        name: ClaimName::new(name).unwrap(),
    });
    prop_oneof![attachment, claim, address().prop_map(|address| Owner::Unknown { address })]
}

pub(super) fn place() -> impl Strategy<Value = Place> {
    any::<(u64, NonZeroU64)>().prop_map(|(device, inode)| Place { device, inode })
}

fn sandbox() -> impl Strategy<Value = Sandbox> {
    let pod = (text(), text(), text()).prop_map(|(namespace, name, uid)| PodIdentity {
        namespace: namespace.into(),
        name: name.into(),
        uid: uid.into(),
    });
    let link = (text(), any::<u32>()).prop_map(|(host, mtu)| Box::new(Link { host: host.into(), mtu }));
    (option::of(pod), text(), option::of(place()), option::of(link))
        .prop_map(|(pod, netns, netns_seen, link)| Sandbox { pod, netns: netns.into(), netns_seen, link })
}

fn assigned() -> impl Strategy<Value = AssignedAddress> {
    let (pool, range) = (option::of(pool_name()), option::of(range_name()));
    let source = (pool, range, option::of(address()), attributes(), attributes()).prop_map(
        |(pool, range, gateway, pool_attributes, range_attributes)| {
            Arc::new(Source { pool, range, gateway, pool_attributes, range_attributes })
        },
    );
    (address(), any::<u8>(), source, attributes()).prop_map(|(address, length, source, attributes)| {
        AssignedAddress { address: network_of(address, length), source, attributes }
    })
}

fn origin() -> impl Strategy<Value = Origin> {
    (text(), vec(text(), 0..3), text()).prop_map(|(source, claims, why)| Origin { source, claims, why })
}

pub(in crate::v1) fn allocation() -> impl Strategy<Value = Allocation> {
    let who = (network_name(), generation(), owner(), vec(assigned(), 0..3), sandbox(), attributes());
    (who, policy(), option::of(origin()), moment(), moment()).prop_map(
        |(who, policy, origin, requested_at, allocated_at)| {
            let (network, generation, owner, addresses, sandbox, tags) = who;
            Allocation {
                network,
                generation,
                owner,
                addresses: addresses.into(),
                sandbox,
                tags,
                policy: Arc::new(policy),
                origin: origin.map(Box::new),
                requested_at,
                allocated_at,
            }
        },
    )
}
