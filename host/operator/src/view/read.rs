//! Objects become a snapshot.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::ObjectMeta;
use kube::core::Selector;
use tenure_cluster::convert::{PoolExclusions, ReadStatus, object_version};
use tenure_cluster::objects::reference::ActiveEntry;
use tenure_cluster::{
    AddressClaim, AddressPool, AddressPoolSpec, AddressSpace, ConversionError, FENCED_ANNOTATION, IPAMClaim,
    IPBlock, NodeIPAM, NodeIPAMStatus,
};
use tenure_leases::operator::fence::NodeEvidence;
use tenure_leases::{BlockName, MachineHash, ObjectVersion, Uid};

use super::claim::{self, WatchedClaim, WatchedIpamClaim};
use super::kept::{FromObject, KeptObject};
use super::wishes::wishes;
use super::{
    AlternateTurn, BlockClaim, BlockView, ClaimView, ClusterView, HostView, IpamClaimView, PoolView,
    SaidView, SpaceView, ToldView, WatchedNode,
};

/// The taint by which an administrator attests that a node is powered off.
pub const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// The objects that a snapshot is made of.
#[derive(Debug, Default)]
pub struct ViewSources {
    /// The pools.
    pub pools: Vec<KeptObject<PoolView>>,
    /// The spaces.
    pub spaces: Vec<KeptObject<SpaceView>>,
    /// The blocks.
    pub blocks: Vec<KeptObject<BlockView>>,
    /// The claims.
    pub claims: Vec<KeptObject<ClaimView>>,
    /// The IPAMClaims, if they are known.
    pub ipam_claims: Option<Vec<KeptObject<IPAMClaim>>>,
    /// The nodes' words.
    pub said: Vec<KeptObject<SaidView>>,
    /// The Nodes.
    pub hosts: Vec<KeptObject<HostView>>,
}

/// Makes a snapshot.
#[must_use]
pub fn view(sources: ViewSources) -> ClusterView {
    let versions = || versions(&sources.blocks).chain(versions(&sources.said));
    let mut view = ClusterView {
        versions: versions().filter_map(|(uid, version)| Some((uid?, version))).collect(),
        highest: versions().map(|(_, version)| version).max(),
        words_missing: sources.said.iter().any(|said| said.read.is_err()),
        ..ClusterView::default()
    };
    for block in sources.blocks.iter().filter(|block| block.read.is_err()) {
        let name = block.name.parse::<BlockName>().ok();
        view.unreadable_blocks.extend(name.map(|name| (name.group().to_owned(), name.cidr())));
    }
    let unreadable_pools = sources.pools.iter().filter(|pool| pool.read.is_err());
    view.unreadable_pools =
        unreadable_pools.filter_map(|pool| Some((pool.uid?, Arc::clone(&pool.name)))).collect();
    view.pools = view.readable(sources.pools).map(|(_, pool)| pool).collect();
    view.pools.sort_by_key(|pool| age(&pool.object.metadata));
    view.spaces = view.readable(sources.spaces).collect();
    view.claims = view.readable(sources.claims).map(|(_, claim)| claim).collect();
    view.claims.sort_by_cached_key(|claim| age(&claim.object.metadata));
    view.ipam_claims = sources.ipam_claims.map(|claims| view.read_ipam_claims(claims));
    let blocks = view.readable(sources.blocks).map(|(_, block)| block);
    (view.claim_blocks, view.blocks) = blocks.partition(|block| block.claimed.is_some());
    view.blocks.sort_by(|one, other| one.name.cmp(&other.name));
    view.claim_blocks.sort_by(|one, other| one.name.cmp(&other.name));
    for (position, block) in view.blocks.iter().enumerate() {
        view.by_node.entry(Arc::clone(&block.block.holder.name)).or_default().push(position);
    }
    view.said = view.readable(sources.said).collect();
    for (name, said) in &view.said {
        let complaints = said.left_out.iter().map(|why| format!("a word of NodeIPAM {name}: {why}"));
        view.left_out.extend(complaints);
    }
    view.hosts = view.readable(sources.hosts).collect();
    view
}

impl ClusterView {
    /// The objects that can be read, by name. Notes the others.
    fn readable<V: FromObject>(
        &mut self,
        objects: Vec<KeptObject<V>>,
    ) -> impl Iterator<Item = (Arc<str>, Arc<V>)> + use<V> {
        self.unreadable.extend(objects.iter().filter_map(KeptObject::complaint));
        objects.into_iter().filter_map(|object| Some((object.name, object.read.ok()?)))
    }

    /// Reads the IPAMClaims, which ask for addresses of the pools.
    fn read_ipam_claims(&mut self, claims: Vec<KeptObject<IPAMClaim>>) -> Vec<IpamClaimView> {
        let mut claims: Vec<_> = self.readable(claims).collect();
        claims.sort_by_cached_key(|(_, claim)| age(&claim.metadata));
        let mut read = Vec::new();
        for (name, claim) in claims {
            let wishes = wishes(&claim, &self.pools).unwrap_or_else(|error| {
                // Its blocks stay. They can be read, so nothing else waits for the one who wrote it.
                self.left_out.push(format!("IPAMClaim {name}: {error}"));
                vec![]
            });
            read.push(IpamClaimView { wishes, object: claim });
        }
        read
    }
}

/// The uids and versions of objects.
fn versions<V>(objects: &[KeptObject<V>]) -> impl Iterator<Item = (Option<Uid>, ObjectVersion)> {
    objects.iter().filter_map(|object| Some((object.uid, object.version?)))
}

/// A place in the order of objects by their time of creation.
pub type ObjectAge = (Option<Timestamp>, Option<String>);

/// The place of an object in the order of creation.
pub(crate) fn age(metadata: &ObjectMeta) -> ObjectAge {
    (metadata.creation_timestamp.as_ref().map(|time| time.0), metadata.uid.clone())
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

impl FromObject for PoolView {
    type Object = AddressPool;

    fn from_object(object: AddressPool) -> Result<Self, ConversionError> {
        Ok(Self {
            lease: (&object).try_into()?,
            group: object.spec.overlap_group.clone(),
            usage: object.spec.usage.parse()?,
            ranges: object.ranges()?,
            taken: object.taken_ranges()?,
            excluded: PoolExclusions::of(&object.spec.exclusions, &object.spec.per_block_exclusions),
            selector: read_selector(&object.spec),
            object,
        })
    }
}

/// The selector of nodes; `None` if this version cannot read one of the pool's selectors, which it must not guess.
fn read_selector(spec: &AddressPoolSpec) -> Option<Selector> {
    let read = |selector: &Option<LabelSelector>| Selector::try_from(selector.clone().unwrap_or_default());
    read(&spec.pod_selector).ok()?;
    read(&spec.namespace_selector).ok()?;
    read(&spec.node_selector).ok()
}

impl FromObject for SpaceView {
    type Object = AddressSpace;

    fn from_object(object: AddressSpace) -> Result<Self, ConversionError> {
        Ok(Self { space: (&object).try_into()?, version: object_version(&object.metadata)? })
    }
}

impl FromObject for BlockView {
    type Object = IPBlock;

    /// There are several for each node, of 1.1 KB.
    const PAGE: u32 = 500;

    fn from_object(object: IPBlock) -> Result<Self, ConversionError> {
        let (block, turn, name) = ((&object).try_into()?, object.turn()?, object.name_any());
        let (active, alternate) =
            object.status.map_or((None, None), |status| (status.active, status.alternate));
        let alternate = alternate.map(read_alternate).transpose()?;
        let claimed = object.spec.claim.map(|claim| Box::new(BlockClaim { claim, turn, active, alternate }));
        Ok(Self { block, name, group: object.spec.group, claimed })
    }
}

fn read_alternate(entry: ActiveEntry) -> Result<AlternateTurn, ConversionError> {
    Ok(AlternateTurn { turn: entry.turn.parse()?, holder: (&entry).try_into()?, entry })
}

impl FromObject for ClaimView {
    type Object = WatchedClaim;

    const PAGE: u32 = claim::PAGE;

    fn from_object(object: WatchedClaim) -> Result<Self, ConversionError> {
        let object = AddressClaim::from(object);
        Ok(Self { wish: (&object).try_into()?, object })
    }
}

impl FromObject for IPAMClaim {
    type Object = WatchedIpamClaim;

    const PAGE: u32 = claim::PAGE;

    fn from_object(object: WatchedIpamClaim) -> Result<Self, ConversionError> {
        Ok(object.into())
    }
}

impl FromObject for SaidView {
    type Object = NodeIPAM;

    /// There is one for each node, of 2.7 KB.
    const PAGE: u32 = 250;

    fn from_object(object: NodeIPAM) -> Result<Self, ConversionError> {
        let (spec, left_out) = object.words()?;
        let left_out = left_out.iter().map(ToString::to_string).collect();
        // What cannot be read of the operator's own half is written again.
        let told = ReadStatus::of(&object).told;
        let fenced = object.annotations().get(FENCED_ANNOTATION).and_then(|uid| uid.parse().ok());
        let metadata = &object.metadata;
        let uid = metadata.uid.as_deref().ok_or(ConversionError::Missing("uid"))?.parse()?;
        let (version, generation) = (object_version(metadata)?, metadata.generation.unwrap_or_default());
        let told = object.status.map(|status| ToldView {
            accepted: told.accepted,
            call: told.call,
            observed_generation: status.observed_generation,
            hash: hash(&status),
            leaving: leaving(&status),
            conditions: status.conditions,
        });
        Ok(Self { spec, left_out, told, uid, version, generation, fenced })
    }
}

fn leaving(status: &NodeIPAMStatus) -> BTreeSet<String> {
    let blocks = status.blocks.iter().filter(|hint| hint.leaving).map(|hint| &hint.name);
    blocks.chain(&status.claims_leaving).cloned().collect()
}

/// Hashes an operator's half.
pub(super) fn hash(status: &NodeIPAMStatus) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    hasher.write(&serde_json::to_vec(status).ok()?);
    Some(hasher.finish())
}

impl FromObject for HostView {
    type Object = WatchedNode;

    fn from_object(object: WatchedNode) -> Result<Self, ConversionError> {
        let evidence = evidence(&object);
        let system = object.status.node_info.map(|info| info.operating_system).unwrap_or_default();
        let may_have_agent = match system.as_str() {
            "" => true,
            "linux" => evidence.is_some(),
            _ => false,
        };
        Ok(Self {
            evidence,
            version: object_version(&object.metadata).ok(),
            labels: object.metadata.labels.as_ref().map(Into::into).unwrap_or_default(),
            taints: object.spec.taints,
            may_have_agent,
        })
    }
}
