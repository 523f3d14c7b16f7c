//! Allocations as they are stored.

use std::borrow::Cow;
use std::net::IpAddr;
use std::num::NonZeroU64;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use tenure_types::{
    AgentName, Allocation, AssignedAddress, ClaimName, ContainerId, Generation, Link, Origin, Owner, Place,
    PodIdentity, PolicyName, PolicyStamp, PoolName, RangeName, Sandbox, Source,
};

use super::range::{StoredAttributes, StoredMoment, attributes, stored_attributes};
use super::shared::Shared;

/// An allocation.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredAllocation<'a> {
    #[serde(borrow)]
    pub(super) network: Cow<'a, str>,
    generation: u64,
    #[serde(borrow)]
    owner: StoredOwner<'a>,
    #[serde(borrow)]
    addresses: Vec<StoredAddress<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pod: Option<StoredPod<'a>>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    netns: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    netns_seen: Option<StoredPlace>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    link: Option<StoredLink<'a>>,
    #[serde(borrow, default, skip_serializing_if = "StoredAttributes::is_empty")]
    tags: StoredAttributes<'a>,
    #[serde(borrow)]
    policy: StoredStamp<'a>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    origin: Option<StoredOrigin<'a>>,
    requested_at: StoredMoment,
    allocated_at: StoredMoment,
}

/// The fields that are present tell its kind, so that the JSON is parsed in one pass.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct StoredOwner<'a> {
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    container: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    interface: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    agent: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    claim: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unknown: Option<IpAddr>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredAddress<'a> {
    address: IpNet,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pool: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    range: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gateway: Option<IpAddr>,
    #[serde(borrow, default, skip_serializing_if = "StoredAttributes::is_empty")]
    pool_attributes: StoredAttributes<'a>,
    #[serde(borrow, default, skip_serializing_if = "StoredAttributes::is_empty")]
    range_attributes: StoredAttributes<'a>,
    #[serde(borrow, default, skip_serializing_if = "StoredAttributes::is_empty")]
    attributes: StoredAttributes<'a>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredPod<'a> {
    #[serde(borrow)]
    namespace: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    uid: Cow<'a, str>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredLink<'a> {
    #[serde(borrow)]
    host: Cow<'a, str>,
    mtu: u32,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct StoredPlace {
    device: u64,
    inode: NonZeroU64,
}

/// A policy's name and the SHA-256 of its component.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredStamp<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    digest: Cow<'a, str>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredOrigin<'a> {
    #[serde(borrow)]
    source: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    claims: Vec<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    why: Cow<'a, str>,
}

impl From<Place> for StoredPlace {
    fn from(Place { device, inode }: Place) -> Self {
        Self { device, inode }
    }
}

impl From<StoredPlace> for Place {
    fn from(StoredPlace { device, inode }: StoredPlace) -> Self {
        Self { device, inode }
    }
}

impl StoredStamp<'static> {
    /// Stands where a policy's stamp must, for what the host did without one.
    pub(super) fn of_host() -> Self {
        Self { name: "host".into(), digest: "".into() }
    }
}

impl<'a> From<&'a PolicyStamp> for StoredStamp<'a> {
    fn from(stamp: &'a PolicyStamp) -> Self {
        Self { name: stamp.name.as_str().into(), digest: (&*stamp.digest).into() }
    }
}

impl TryFrom<StoredStamp<'_>> for PolicyStamp {
    type Error = String;

    fn try_from(stored: StoredStamp<'_>) -> Result<Self, String> {
        let name = PolicyName::new(&stored.name).map_err(|error| error.to_string())?;
        Ok(Self { name, digest: (&*stored.digest).into() })
    }
}

impl<'a> From<&'a Owner> for StoredOwner<'a> {
    fn from(owner: &'a Owner) -> Self {
        let none = StoredOwner::default();
        match owner {
            Owner::Attachment { container, interface } => {
                Self { container: container.as_str().into(), interface: interface.as_str().into(), ..none }
            }
            Owner::Claim { agent, name } => {
                Self { agent: agent.as_str().into(), claim: name.as_str().into(), ..none }
            }
            Owner::Unknown { address } => Self { unknown: Some(*address), ..none },
        }
    }
}

impl TryFrom<StoredOwner<'_>> for Owner {
    type Error = String;

    fn try_from(stored: StoredOwner<'_>) -> Result<Self, String> {
        stored.read(&mut Shared::default())
    }
}

impl StoredOwner<'_> {
    fn read(self, shared: &mut Shared) -> Result<Owner, String> {
        let Self { container, interface, agent, claim, unknown } = self;
        match (&*container, &*interface, &*agent, &*claim, unknown) {
            ("", "", "", "", Some(address)) => Ok(Owner::Unknown { address }),
            ("", "", agent, claim, None) => Ok(Owner::Claim {
                agent: AgentName::new(agent).map_err(|error| error.to_string())?,
                name: ClaimName::new(claim).map_err(|error| error.to_string())?,
            }),
            (container, interface, "", "", None) => Ok(Owner::Attachment {
                container: ContainerId::new(container).map_err(|error| error.to_string())?,
                interface: shared.interface(interface)?,
            }),
            _ => Err("an owner is a container and an interface, an agent and a claim, or unknown".to_owned()),
        }
    }
}

impl<'a> From<&'a AssignedAddress> for StoredAddress<'a> {
    fn from(assigned: &'a AssignedAddress) -> Self {
        let Source { pool, range, gateway, pool_attributes, range_attributes } = assigned.source.as_ref();
        Self {
            address: assigned.address,
            pool: pool.as_ref().map_or("", PoolName::as_str).into(),
            range: range.as_ref().map_or("", RangeName::as_str).into(),
            gateway: *gateway,
            pool_attributes: stored_attributes(pool_attributes),
            range_attributes: stored_attributes(range_attributes),
            attributes: stored_attributes(&assigned.attributes),
        }
    }
}

impl StoredAddress<'_> {
    fn read(self, shared: &mut Shared) -> Result<AssignedAddress, String> {
        let source = shared.source(|source| self.is_from(source), || self.source())?;
        Ok(AssignedAddress { address: self.address, source, attributes: attributes(&self.attributes)? })
    }

    fn source(&self) -> Result<Source, String> {
        let pool = (!self.pool.is_empty()).then(|| PoolName::new(&self.pool));
        let range = (!self.range.is_empty()).then(|| RangeName::new(&self.range));
        Ok(Source {
            pool: pool.transpose().map_err(|error| error.to_string())?,
            range: range.transpose().map_err(|error| error.to_string())?,
            gateway: self.gateway,
            pool_attributes: attributes(&self.pool_attributes)?,
            range_attributes: attributes(&self.range_attributes)?,
        })
    }

    /// Whether it is from this source; attributes are rare and not compared here, so that they say no.
    fn is_from(&self, source: &Source) -> bool {
        let none = self.pool_attributes.is_empty() && self.range_attributes.is_empty();
        none && source.pool_attributes.is_empty()
            && source.range_attributes.is_empty()
            && source.pool.as_ref().map_or("", PoolName::as_str) == self.pool
            && source.range.as_ref().map_or("", RangeName::as_str) == self.range
            && source.gateway == self.gateway
    }
}

impl<'a> From<&'a Allocation> for StoredAllocation<'a> {
    fn from(allocation: &'a Allocation) -> Self {
        let pod = allocation.pod().map(|pod| StoredPod {
            namespace: (&*pod.namespace).into(),
            name: (&*pod.name).into(),
            uid: (&*pod.uid).into(),
        });
        let origin = allocation.origin.as_ref().map(|origin| StoredOrigin {
            source: origin.source.as_str().into(),
            claims: origin.claims.iter().map(|claim| claim.as_str().into()).collect(),
            why: origin.why.as_str().into(),
        });
        Self {
            network: allocation.network.as_str().into(),
            generation: allocation.generation.0,
            owner: (&allocation.owner).into(),
            addresses: allocation.addresses.iter().map(StoredAddress::from).collect(),
            pod,
            netns: allocation.netns().into(),
            netns_seen: allocation.netns_seen().map(StoredPlace::from),
            link: allocation.link().map(|link| StoredLink { host: (&*link.host).into(), mtu: link.mtu }),
            tags: stored_attributes(&allocation.tags),
            policy: allocation.policy.as_ref().into(),
            origin,
            requested_at: allocation.requested_at.into(),
            allocated_at: allocation.allocated_at.into(),
        }
    }
}

impl StoredAllocation<'_> {
    /// Decodes the allocation; values that allocations have in common are shared.
    pub(super) fn read(self, shared: &mut Shared) -> Result<Allocation, String> {
        let pod = self.pod.map(|pod| PodIdentity {
            namespace: shared.namespace(&pod.namespace),
            name: pod.name.into(),
            uid: pod.uid.into(),
        });
        let link = self.link.map(|link| Box::new(Link { host: link.host.into(), mtu: link.mtu }));
        let netns_seen = self.netns_seen.map(Place::from);
        let sandbox = Sandbox { pod, netns: self.netns.into(), netns_seen, link };
        let origin = self.origin.map(|origin| Origin {
            source: origin.source.into_owned(),
            claims: origin.claims.into_iter().map(Cow::into_owned).collect(),
            why: origin.why.into_owned(),
        });
        Ok(Allocation {
            network: shared.network(&self.network)?,
            generation: Generation(self.generation),
            owner: self.owner.read(shared)?,
            addresses: self
                .addresses
                .into_iter()
                .map(|address| address.read(shared))
                .collect::<Result<_, _>>()?,
            sandbox,
            tags: attributes(&self.tags)?,
            policy: shared.policy(&self.policy.name, &self.policy.digest)?,
            origin: origin.map(Box::new),
            requested_at: self.requested_at.into(),
            allocated_at: self.allocated_at.into(),
        })
    }
}
