//! The double's metadata service behind the port, for one instance.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use tenure_aws::executor::Handle;
use tenure_aws::identity::Identity;
use tenure_aws::metadata::{AttachedInterfaces, Hint, Hints, InstanceMetadata, MetadataError, Read};
use tenure_aws::port::{Attachment, Ec2Interface, Ec2Subnet, Status};
use tenure_ec2_double::state::{self, Shown, Status as Ec2Status};
use tokio::time::sleep;

use crate::cloud::{Cloud, WAY};

/// The path by which faults of this service are made.
pub(crate) const PATH: &str = "/";

/// The metadata service of an instance.
pub(crate) struct Metadata {
    pub(crate) cloud: Arc<Cloud>,
    pub(crate) instance: String,
}

impl Metadata {
    /// Answers after a while, or not at all.
    async fn read<T>(&self, answer: impl FnOnce(&state::State) -> T) -> Result<T, MetadataError> {
        sleep(WAY).await;
        let now = self.cloud.now();
        let mut inner = self.cloud.inner();
        inner.metadata_reads += 1;
        match inner.faults.strike(PATH, now) {
            None => Ok(answer(&inner.state)),
            Some(_) => Err(MetadataError::Unreachable {
                path: PATH.to_owned(),
                reason: "the answer was lost".to_owned(),
            }),
        }
    }
}

impl InstanceMetadata for Metadata {
    fn identity(&self) -> Read<'_, Identity> {
        Box::pin(self.read(|state| {
            let known = &state.instances()[&self.instance];
            let primary = state.interfaces().get(&known.primary).unwrap();
            Identity {
                instance: self.instance.clone(),
                instance_type: known.kind.name.to_owned(),
                region: state.account.region.clone(),
                zone: known.zone.clone(),
                mac: primary.mac.clone(),
                vpc: state.account.vpc.clone(),
                subnet: primary.subnet.clone(),
                groups: primary.groups.clone(),
                ranges: state.account.cidrs.iter().copied().map(IpNet::from).collect(),
            }
        }))
    }

    fn attached(&self) -> Read<'_, AttachedInterfaces> {
        Box::pin(self.read(|state| {
            let seen = state.consistency.imds(&self.instance, self.cloud.now());
            let is_shown = |known: &&Arc<state::Interface>| {
                known.status == state::Status::InUse
                    && known.is_on(&self.instance)
                    && !matches!(state.consistency.imds_shows.get(&known.id), Some(Shown::Missing))
            };
            let mut attached = AttachedInterfaces::default();
            for known in state.interfaces().all_at(seen).filter(is_shown) {
                attached.interfaces.push(interface(known));
                if attached.subnets.iter().all(|subnet| subnet.id != known.subnet) {
                    attached.subnets.push(subnet(&state.subnets()[&known.subnet]));
                }
            }
            attached
        }))
    }

    fn lines<'a>(&'a self, path: &'a str) -> Read<'a, BTreeSet<String>> {
        self.cloud.inner().metadata_requests += 1;
        Box::pin(std::future::ready(Ok(lines(&self.cloud, &self.instance, path))))
    }
}

/// Tells an executor what the service shows of the interfaces, one thing after the other, as the daemon does.
pub(crate) async fn follow(cloud: Arc<Cloud>, instance: String, handle: Handle) {
    let service = Metadata { cloud, instance };
    let mut hints = Hints::new(&service, "");
    loop {
        if let Ok(Some(Hint::Shown(part))) = hints.next().await {
            handle.metadata_shows(&part);
        }
    }
}

/// The lines of a path: of the list of interfaces, or of one field of an interface.
fn lines(cloud: &Cloud, instance: &str, path: &str) -> BTreeSet<String> {
    let now = cloud.now();
    let inner = cloud.inner();
    let all = inner.state.interfaces().all_at(inner.state.consistency.imds(instance, now));
    let here = all.filter(|known| known.status == Ec2Status::InUse && known.is_on(instance));
    let (directory, field) = path.rsplit_once('/').unwrap();
    if field.is_empty() {
        return here.map(|known| format!("{}/", known.mac)).collect();
    }
    let text = |known: &Arc<state::Interface>| match field {
        "local-ipv4s" => known.ipv4.iter().map(ToString::to_string).collect(),
        "ipv4-prefix" => known.ipv4_prefixes.iter().map(ToString::to_string).collect(),
        "ipv6-prefix" => known.ipv6_prefixes.iter().map(ToString::to_string).collect(),
        _ => BTreeSet::new(),
    };
    here.filter(|known| directory.ends_with(&known.mac)).flat_map(text).collect()
}

/// What the service has of an interface: no tags, and no more of its attachment than the place.
fn interface(known: &state::Interface) -> Ec2Interface {
    let singles = known.ipv4.iter().skip(1).map(|address| IpNet::from(IpAddr::from(*address)));
    let prefixes = known.ipv4_prefixes.iter().copied().map(IpNet::from);
    let place = known.attachment.as_ref().unwrap();
    Ec2Interface {
        id: known.id.clone(),
        subnet: known.subnet.clone(),
        mac: known.mac.clone(),
        description: String::new(),
        kind: "interface".to_owned(),
        status: Status::InUse,
        attachment: Some(Attachment {
            instance: place.instance.clone(),
            card: place.card,
            device: place.device,
            ..Attachment::default()
        }),
        primary_address: known.primary().map(IpAddr::from),
        groups: known.groups.clone(),
        carries: singles.chain(prefixes).collect(),
        tags: BTreeMap::new(),
    }
}

fn subnet(known: &state::Subnet) -> Ec2Subnet {
    Ec2Subnet {
        id: known.id.clone(),
        ranges: vec![IpNet::from(known.cidr)],
        available: 1 << (32 - u32::from(known.cidr.prefix_len())),
        tags: BTreeMap::new(),
    }
}
