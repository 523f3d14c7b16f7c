//! Objects become a snapshot.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt as _;
use kube::core::Selector;
use tenure_cluster::convert::object_version;
use tenure_cluster::objects::reference::ActiveEntry;
use tenure_cluster::{
    AddressClaim, AddressPool, AddressPoolSpec, AddressSpace, ConversionError, FENCED_ANNOTATION, IPAMClaim,
    IPBlock, NodeIPAM,
};
use tenure_leases::operator::fence::NodeEvidence;
use tenure_leases::{BlockName, MachineHash, ObjectVersion, RangeUse};

use super::{
    AlternateTurn, BlockClaim, BlockView, ClaimView, ClusterView, HostView, IpamClaimView, PoolView,
    SaidView, SpaceView, WatchedNode,
};

/// The taint by which an administrator attests that a node is powered off.
pub const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// The objects that a snapshot is made of.
#[derive(Debug, Default)]
pub struct ViewSources {
    /// The pools.
    pub pools: Vec<Arc<AddressPool>>,
    /// The spaces.
    pub spaces: Vec<Arc<AddressSpace>>,
    /// The blocks.
    pub blocks: Vec<Arc<IPBlock>>,
    /// The claims.
    pub claims: Vec<Arc<AddressClaim>>,
    /// The IPAMClaims, if they are known.
    pub ipam_claims: Option<Vec<Arc<IPAMClaim>>>,
    /// The nodes' words.
    pub said: Vec<Arc<NodeIPAM>>,
    /// The Nodes.
    pub hosts: Vec<Arc<WatchedNode>>,
}

/// Makes a snapshot.
#[must_use]
pub fn view(mut sources: ViewSources) -> ClusterView {
    let mut view = ClusterView::default();
    sources.pools.sort_by_key(|pool| {
        let created = pool.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (created, pool.metadata.uid.clone())
    });
    for pool in &sources.pools {
        match read_pool(pool) {
            Ok(read) => view.pools.push(read),
            Err(error) => view.unreadable.push(format!("AddressPool {}: {error}", pool.name_any())),
        }
    }
    for space in &sources.spaces {
        match read_space(space) {
            Ok(read) => drop(view.spaces.insert(space.name_any(), read)),
            Err(error) => view.unreadable.push(format!("AddressSpace {}: {error}", space.name_any())),
        }
    }
    sources.claims.sort_by_key(|claim| {
        let created = claim.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (created, claim.metadata.uid.clone())
    });
    for claim in &sources.claims {
        match claim.as_ref().try_into() {
            Ok(wish) => view.claims.push(ClaimView { wish, object: Arc::clone(claim) }),
            Err::<_, ConversionError>(error) => {
                view.unreadable.push(format!("AddressClaim {}: {error}", claim.name_any()));
            }
        }
    }
    if let Some(claims) = &mut sources.ipam_claims {
        claims.sort_by_key(|claim| {
            let created = claim.metadata.creation_timestamp.as_ref().map(|time| time.0);
            (created, claim.metadata.uid.clone())
        });
        let mut read = Vec::new();
        for claim in claims.iter() {
            match read_ipam_claim(claim, &view.pools) {
                Ok(claim) => read.push(claim),
                // Its blocks stay.
                Err(error) => {
                    view.unreadable.push(format!("IPAMClaim {}: {error}", claim.name_any()));
                    read.push(IpamClaimView { wishes: vec![], object: Arc::clone(claim) });
                }
            }
        }
        view.ipam_claims = Some(read);
    }
    for block in &sources.blocks {
        match read_block(block) {
            Ok(read) if read.claimed.is_some() => view.claim_blocks.push(read),
            Ok(read) => view.blocks.push(read),
            Err(error) => {
                let name = block.name_any().parse::<BlockName>().ok();
                view.unreadable_blocks.extend(name.map(|name| (name.group().to_owned(), name.cidr())));
                view.unreadable.push(format!("IPBlock {}: {error}", block.name_any()));
            }
        }
    }
    view.blocks.sort_by(|one, other| one.name.cmp(&other.name));
    view.claim_blocks.sort_by(|one, other| one.name.cmp(&other.name));
    for (position, block) in view.blocks.iter().enumerate() {
        view.by_node.entry(block.block.holder.name.to_string()).or_default().push(position);
    }
    for said in &sources.said {
        match read_said(said) {
            Ok(read) => drop(view.said.insert(said.name_any(), read)),
            Err(error) => {
                view.words_missing = true;
                view.unreadable.push(format!("NodeIPAM {}: {error}", said.name_any()));
            }
        }
    }
    for host in &sources.hosts {
        let read = HostView { evidence: evidence(host), object: Arc::clone(host) };
        view.hosts.insert(host.name_any(), read);
    }
    let blocks = sources.blocks.iter().map(|block| &block.metadata);
    let objects = blocks.chain(sources.said.iter().map(|said| &said.metadata));
    view.versions = objects
        .filter_map(|metadata| Some((metadata.uid.as_deref()?.parse().ok()?, object_version(metadata).ok()?)))
        .collect();
    view.highest = highest(&sources);
    view
}

/// Reads what a Node proves; `None` if its machine cannot be told from others.
#[must_use]
pub fn evidence(host: &WatchedNode) -> Option<NodeEvidence> {
    let info = host.status.node_info.as_ref()?;
    let fenced = host.annotations().get(FENCED_ANNOTATION);
    let mut conditions = host.status.conditions.iter();
    Some(NodeEvidence {
        uid: host.metadata.uid.as_deref()?.parse().ok()?,
        machine: MachineHash::of(&info.machine_id, &info.system_uuid).ok()?,
        boot: info.boot_id.parse().ok()?,
        out_of_service: host.spec.taints.iter().any(|taint| taint.key == OUT_OF_SERVICE),
        fenced: fenced.and_then(|uid| uid.parse().ok()),
        ready: conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True"),
    })
}

fn read_pool(pool: &Arc<AddressPool>) -> Result<PoolView, ConversionError> {
    Ok(PoolView {
        lease: pool.as_ref().try_into()?,
        group: pool.spec.overlap_group.clone(),
        ranges: pool.ranges()?,
        taken: pool.taken_ranges()?,
        selector: read_selector(&pool.spec),
        object: Arc::clone(pool),
    })
}

/// The selector of nodes; `None` if this version cannot read one of the pool's selectors, which it must not guess.
fn read_selector(spec: &AddressPoolSpec) -> Option<Selector> {
    let read = |selector: &Option<LabelSelector>| Selector::try_from(selector.clone().unwrap_or_default());
    read(&spec.pod_selector).ok()?;
    read(&spec.namespace_selector).ok()?;
    read(&spec.node_selector).ok()
}

fn read_block(block: &IPBlock) -> Result<BlockView, ConversionError> {
    let turn = block.turn()?;
    let status = block.status.as_ref();
    let alternate = status.and_then(|status| status.alternate.as_ref()).map(read_alternate).transpose()?;
    let active = status.and_then(|status| status.active.clone());
    let claimed = block.spec.claim.clone().map(|claim| BlockClaim { claim, turn, active, alternate });
    Ok(BlockView {
        block: block.try_into()?,
        name: block.name_any(),
        group: block.spec.group.clone(),
        claimed,
    })
}

fn read_alternate(entry: &ActiveEntry) -> Result<AlternateTurn, ConversionError> {
    Ok(AlternateTurn { turn: entry.turn.parse()?, holder: entry.try_into()?, entry: entry.clone() })
}

/// Reads an IPAMClaim. Of each family it gets an address of the oldest pool for claims of its network.
fn read_ipam_claim(claim: &Arc<IPAMClaim>, pools: &[PoolView]) -> Result<IpamClaimView, ConversionError> {
    let is_its = |pool: &&PoolView| {
        pool.usage() == RangeUse::Claims && pool.object.spec.networks.contains(&claim.spec.network)
    };
    let mut wishes = Vec::new();
    for is_ipv6 in [false, true] {
        let has_family = |pool: &&PoolView| match is_ipv6 {
            false => pool.object.spec.ipv4.is_some(),
            true => pool.object.spec.ipv6.is_some(),
        };
        if let Some(pool) = pools.iter().filter(is_its).find(has_family) {
            wishes.push(claim.wish(&pool.lease.key.name, is_ipv6)?);
        }
    }
    Ok(IpamClaimView { wishes, object: Arc::clone(claim) })
}

fn read_space(space: &AddressSpace) -> Result<SpaceView, ConversionError> {
    Ok(SpaceView { space: space.try_into()?, version: object_version(&space.metadata)? })
}

fn read_said(said: &Arc<NodeIPAM>) -> Result<SaidView, ConversionError> {
    let object = said.as_ref();
    Ok(SaidView { spec: object.try_into()?, status: object.try_into()?, object: Arc::clone(said) })
}

fn highest(sources: &ViewSources) -> Option<ObjectVersion> {
    let blocks = sources.blocks.iter().map(|object| &object.metadata);
    let said = sources.said.iter().map(|object| &object.metadata);
    blocks.chain(said).filter_map(|metadata| object_version(metadata).ok()).max()
}
