//! A snapshot of the cluster, in the types of the tables.
//!
//! Each object is read once, when a watch shows it, and the stores keep nothing but what was read: snapshots share it.
//!
//! What this version cannot read is left out and named: an IPBlock that cannot be read keeps its name taken all the same, and while a NodeIPAM does
//! not say what its node holds nothing is granted. Of an AddressPool that cannot be read, nothing is granted and nothing taken away.

mod claim;
mod host;
mod kept;
mod labels;
mod read;
mod store;
mod watch;
mod wishes;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ipnet::IpNet;
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::core::{Selector, SelectorExt as _};
use tenure_cluster::convert::{ClaimWish, PoolExclusions, PoolRange};
use tenure_cluster::objects::reference::{ActiveEntry, ClaimReference};
use tenure_cluster::{AddressClaim, AddressPool, IPAMClaim, NodeIPAMStatus};
use tenure_leases::operator::fence::{FetchedNode, NodeEvidence};
use tenure_leases::operator::held::ClaimantState;
use tenure_leases::{
    AddressSpace as LeaseSpace, CallId, HolderIdentity, IpBlock, LeasePool, NodeIpamSpec, ObjectVersion,
    RangeUse, SpaceError, TurnId, Uid,
};

pub use self::claim::{MAX_FINALIZERS, WatchedClaim, WatchedIpamClaim};
pub use self::host::{MachineInfo, WatchedNode, WatchedNodeSpec, WatchedNodeStatus};
pub use self::kept::{FromObject, KeptObject};
pub use self::labels::NodeLabels;
pub(crate) use self::read::age;
pub use self::read::{OUT_OF_SERVICE, ObjectAge, ViewSources, evidence, view};
pub use self::watch::{WatchStores, Watches};
pub use self::written::WrittenObjects;

/// An AddressPool.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolView {
    /// The settings.
    pub lease: LeasePool,
    /// The overlap group.
    pub group: String,
    /// The use of its addresses.
    pub usage: RangeUse,
    /// The CIDRs.
    pub ranges: Vec<PoolRange>,
    /// The ranges of which something else hands out addresses.
    pub taken: Vec<PoolRange>,
    /// The addresses that nobody gets.
    pub excluded: PoolExclusions,
    /// The nodes that get blocks; `None` if the selector is not valid, which the API server does not check.
    pub selector: Option<Selector>,
    /// The object.
    pub object: AddressPool,
}

/// An AddressSpace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceView {
    /// The ranges.
    pub space: LeaseSpace,
    /// The version that was read.
    pub version: ObjectVersion,
}

/// An IPBlock.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockView {
    /// The lease.
    pub block: IpBlock,
    /// The name.
    pub name: String,
    /// The overlap group.
    pub group: String,
    /// The claim that has it, and the turn that it names; `None` for a node's block.
    pub claimed: Option<Box<BlockClaim>>,
}

/// The claim of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockClaim {
    /// The claim.
    pub claim: ClaimReference,
    /// The turn of the node that has the address, which is the block's holder.
    pub turn: Option<TurnId>,
    /// The same turn in the words of the block.
    pub active: Option<ActiveEntry>,
    /// The other node, while a virtual machine moves.
    pub alternate: Option<AlternateTurn>,
}

/// The turn of the node that a virtual machine moves to, or has moved away from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlternateTurn {
    /// The turn.
    pub turn: TurnId,
    /// The node.
    pub holder: HolderIdentity,
    /// The turn in the words of the block.
    pub entry: ActiveEntry,
}

/// An AddressClaim.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimView {
    /// The address that it asks for.
    pub wish: ClaimWish,
    /// The object.
    pub object: AddressClaim,
}

/// An IPAMClaim.
#[derive(Debug, Clone)]
pub struct IpamClaimView {
    /// The addresses that it asks for, one of each family that pools have for its network. None, if its network is not one of ours.
    pub wishes: Vec<ClaimWish>,
    /// The object.
    pub object: Arc<IPAMClaim>,
}

/// A NodeIPAM.
#[derive(Debug, Clone, PartialEq)]
pub struct SaidView {
    /// The agent's half.
    pub spec: NodeIpamSpec,
    /// The reasons, for people, for which words of the agent's half were left out. None of them says what the node has.
    pub left_out: Vec<String>,
    /// The operator's half; `None` before the first one.
    pub told: Option<ToldView>,
    /// The uid.
    pub uid: Uid,
    /// The version that was read.
    pub version: ObjectVersion,
    /// The generation of the agent's half.
    pub generation: i64,
    /// The uid in the annotation `fenced`.
    pub fenced: Option<Uid>,
}

/// The operator's half of a NodeIPAM, as far as the next one follows from it. Most of it repeats the settings of pools, for each node again.
#[derive(Debug, Clone, PartialEq)]
pub struct ToldView {
    /// The identity that the operator accepted.
    pub accepted: Option<HolderIdentity>,
    /// The last call.
    pub call: Option<CallId>,
    /// The generation of the agent's half that it is about.
    pub observed_generation: i64,
    /// The conditions.
    pub conditions: Vec<Condition>,
    /// The names of the blocks, of the node and of claims, whose CIDR the pool no longer had.
    pub leaving: BTreeSet<String>,
    /// A hash of the whole half.
    hash: Option<u64>,
}

/// A Node.
#[derive(Debug, Clone, PartialEq)]
pub struct HostView {
    /// The identity and what is attested about it; `None` if its machine cannot be told from others.
    pub evidence: Option<NodeEvidence>,
    /// The version that was read.
    pub version: Option<ObjectVersion>,
    /// The labels.
    pub labels: NodeLabels,
    /// The taints.
    pub taints: Vec<Taint>,
    /// Whether an agent may run on the Node, and hold blocks. It cannot under another operating system, nor on a machine without ids, once the kubelet
    /// has said so.
    pub may_have_agent: bool,
}

/// Everything that the operator decides on.
#[derive(Debug, Clone, Default)]
pub struct ClusterView {
    /// The pools, the oldest first.
    pub pools: Vec<Arc<PoolView>>,
    /// The names of pools that cannot be read, by uid: nothing is granted of them, and nothing taken away.
    pub unreadable_pools: BTreeMap<Uid, Arc<str>>,
    /// The spaces by overlap group.
    pub spaces: BTreeMap<Arc<str>, Arc<SpaceView>>,
    /// The blocks, by name.
    pub blocks: Vec<Arc<BlockView>>,
    /// The claims, the oldest first.
    pub claims: Vec<Arc<ClaimView>>,
    /// The IPAMClaims, the oldest first; `None` while they are not known, such as without their definition.
    pub ipam_claims: Option<Vec<IpamClaimView>>,
    /// The blocks of claims, by name. The holder of each is the node that has the address now, or nobody.
    pub claim_blocks: Vec<Arc<BlockView>>,
    /// The positions of a node's blocks, whichever machine has its name.
    pub by_node: BTreeMap<Arc<str>, Vec<usize>>,
    /// The nodes' words, by node.
    pub said: BTreeMap<Arc<str>, Arc<SaidView>>,
    /// The Nodes, by name.
    pub hosts: BTreeMap<Arc<str>, Arc<HostView>>,
    /// The overlap groups and addresses of IPBlocks that cannot be read, as far as their names say them.
    pub unreadable_blocks: Vec<(String, IpNet)>,
    /// Objects that cannot be read, each with the reason.
    pub unreadable: Vec<String>,
    /// Whether one of them is a NodeIPAM: then nothing is granted.
    pub words_missing: bool,
    /// Words of nodes, and wishes of IPAMClaims, that cannot be read, each with the reason. They say nothing about what a node has.
    pub left_out: Vec<String>,
    /// The versions of IPBlocks and NodeIPAMs by uid, also of those that cannot be read.
    pub versions: BTreeMap<Uid, ObjectVersion>,
    /// The highest resourceVersion of an object.
    pub highest: Option<ObjectVersion>,
}

impl ToldView {
    /// Whether this is the operator's half that was read.
    #[must_use]
    pub fn is(&self, status: &NodeIPAMStatus) -> bool {
        self.hash.is_some() && self.hash == read::hash(status)
    }
}

impl PoolView {
    /// Whether nodes with these labels get blocks. By a selector that is not valid, none does.
    #[must_use]
    pub fn selects(&self, labels: &NodeLabels) -> bool {
        let selector = self.selector.as_ref();
        selector.is_some_and(|selector| selector.selects_all() || selector.matches(&labels.to_map()))
    }

    /// Whether nodes with these labels keep their blocks. A selector that is not valid takes none away.
    #[must_use]
    pub fn keeps(&self, labels: &NodeLabels) -> bool {
        self.selector.is_none() || self.selects(labels)
    }
}

impl PoolView {
    /// Whether the claims of a namespace get addresses of it.
    #[must_use]
    pub fn serves_namespace(&self, namespace: &str) -> bool {
        let namespaces = &self.object.spec.namespaces;
        namespaces.is_empty() || namespaces.iter().any(|name| name == namespace)
    }
}

impl ClusterView {
    /// The blocks of nodes and of claims.
    pub fn all_blocks(&self) -> impl Iterator<Item = &BlockView> {
        self.blocks.iter().chain(&self.claim_blocks).map(Arc::as_ref)
    }

    /// The block of a claim by its name.
    #[must_use]
    pub fn claim_block(&self, name: &str) -> Option<&BlockView> {
        let place = self.claim_blocks.binary_search_by(|block| block.name.as_str().cmp(name)).ok()?;
        self.claim_blocks.get(place).map(Arc::as_ref)
    }

    /// The pool with this uid.
    #[must_use]
    pub fn pool(&self, uid: Uid) -> Option<&PoolView> {
        self.pools.iter().map(Arc::as_ref).find(|pool| pool.lease.key.uid == uid)
    }

    /// Whether there is a pool with this uid, perhaps one that cannot be read.
    #[must_use]
    pub fn has_pool(&self, uid: Uid) -> bool {
        self.pool(uid).is_some() || self.unreadable_pools.contains_key(&uid)
    }

    /// The blocks of a node's machine.
    pub fn blocks_of<'a>(&'a self, said: &'a NodeIpamSpec) -> impl Iterator<Item = &'a BlockView> {
        let positions = self.by_node.get(&*said.identity.name).into_iter().flatten();
        positions
            .filter_map(|position| self.blocks.get(*position))
            .map(Arc::as_ref)
            .filter(|view| said.counts_for(&view.block))
    }

    /// Whether a block counts for its node's demand: its range is open, and its pool does not exclude all of it.
    #[must_use]
    pub fn serves(&self, view: &BlockView) -> bool {
        self.is_in_open_range(view) && !self.is_excluded(view)
    }

    /// Whether a pool excludes each address of a block of a node.
    #[must_use]
    pub fn is_excluded(&self, view: &BlockView) -> bool {
        let pool = self.pool(view.block.pool.uid).filter(|_| view.claimed.is_none());
        pool.is_some_and(|pool| pool.excluded.cover(view.block.cidr))
    }

    /// Whether the range of a block is open.
    #[must_use]
    pub fn is_in_open_range(&self, view: &BlockView) -> bool {
        let (range, cidr) = (view.block.range, view.block.cidr);
        self.spaces.get(&*view.group).is_some_and(|space| match view.claimed {
            None => space.space.admit(range, cidr).is_ok(),
            Some(_) => space.space.admit_claim(range, cidr).is_ok(),
        })
    }

    /// The reason, for people, for which the address of a claim goes to no further node, and to no pod once the last node has let go of it.
    #[must_use]
    pub fn closed(&self, view: &BlockView) -> Option<String> {
        let space = &self.spaces.get(&*view.group)?.space;
        let (address, pool) = (view.block.cidr.addr(), &view.block.pool.name);
        let why = match space.admit_claim(view.block.range, view.block.cidr).err()? {
            SpaceError::Taken(_) => format!("something else hands it out, says AddressPool {pool}"),
            _ => format!("AddressPool {pool} has no CIDR with it any more, or is being deleted"),
        };
        Some(format!(
            "{address} stays with the pods that have it, and goes to no further node: {why}; make the claim again for another one"
        ))
    }

    /// Whether a node has, or may use, the address of a claim: it is the holder, or the node of the alternate turn.
    #[must_use]
    pub fn has_turn_with(block: &BlockView, said: &NodeIpamSpec) -> bool {
        let alternate = block.claimed.as_ref().and_then(|claimed| claimed.alternate.as_ref());
        let is_it = |holder: &HolderIdentity| holder.is_machine(&said.identity.name, said.identity.machine);
        said.counts_for(&block.block) || alternate.is_some_and(|alternate| is_it(&alternate.holder))
    }

    /// Whether a pool's settings admit a node: its Node is there, is the machine that speaks, is not attested to be off, and matches the selector.
    #[must_use]
    pub fn admits(&self, pool: &PoolView, said: &NodeIpamSpec) -> bool {
        let host = self.hosts.get(&*said.identity.name);
        self.is_alive(said) && host.is_some_and(|host| pool.selects(&host.labels))
    }

    /// Whether a node's Node is there, is the machine that speaks, and is not attested to be off.
    #[must_use]
    pub fn is_alive(&self, said: &NodeIpamSpec) -> bool {
        self.claimant(said) == ClaimantState::Alive
    }

    /// The machine that speaks, as its Node shows it.
    #[must_use]
    pub fn claimant(&self, said: &NodeIpamSpec) -> ClaimantState {
        ClaimantState::of(said, self.seen_node(&said.identity.name))
    }

    /// A Node as the watch shows it, which may be late.
    #[must_use]
    pub fn seen_node(&self, name: &str) -> FetchedNode {
        match self.hosts.get(name).map(|host| host.evidence) {
            None => FetchedNode::Missing,
            // Its machine cannot be told from others.
            Some(None) => FetchedNode::Unreachable,
            Some(Some(node)) => FetchedNode::Found(node),
        }
    }

    /// Whether the Node of a machine is deleted, or is another machine's by now, as far as the watch shows.
    #[must_use]
    pub fn is_gone(&self, holder: &HolderIdentity) -> bool {
        match self.seen_node(&holder.name) {
            FetchedNode::Missing => true,
            FetchedNode::Found(node) => node.machine != holder.machine,
            FetchedNode::Unreachable => false,
        }
    }
}

/// Whether a CIDR is one of IPv6.
#[must_use]
pub fn is_ipv6(cidr: IpNet) -> bool {
    matches!(cidr, IpNet::V6(_))
}
