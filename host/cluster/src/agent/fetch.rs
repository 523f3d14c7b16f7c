//! The agent's calls of the API server. Each is made once, and has a deadline.

use std::collections::BTreeSet;
use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt as _};
use serde_json::json;
use tenure_leases::{
    AddressSpace as LeaseSpace, BlockName, ClaimKind, FetchedBlock, HolderIdentity, IpBlock, NodeIpamSpec,
    PoolKey, TurnId, Uid,
};

use crate::agent::asked::{ClaimBlocks, ShownClaim};
use crate::agent::settings::{AgentSettings, PoolFamily};
use crate::agent::state::ClusterPool;
use crate::agent::undeclared::leave_out;
use crate::client::{ApiCallError, call};
use crate::pools::ClaimName;
use crate::{
    AddressClaim, AddressPool, AddressSpace, ConversionError, GROUP, IPAMClaim, IPBlock, NodeIPAM,
    NodeIPAMSpec,
};

/// The field manager of what the agent writes.
const MANAGER: &str = "tenure-agent";

/// A failed request to the API server, or an answer that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    /// A call failed.
    #[error("{what}: {source}")]
    Call { what: &'static str, source: ApiCallError },
    /// An object cannot be understood.
    #[error("{what}: {source}")]
    Object { what: String, source: ConversionError },
    /// There is no such object.
    #[error("there is no {0}")]
    Missing(String),
}

impl FetchError {
    /// The call that failed; `None` if an object could not be read.
    pub(crate) fn call(&self) -> Option<&'static str> {
        match self {
            Self::Call { what, .. } => Some(what),
            Self::Object { .. } | Self::Missing(_) => None,
        }
    }

    /// Whether it is about one object, such as one that is forbidden or that this version cannot read. Others may be had.
    pub(crate) fn is_of_one_object(&self) -> bool {
        match self {
            Self::Call { source, .. } => !source.is_unanswered(),
            Self::Object { .. } | Self::Missing(_) => true,
        }
    }
}

/// Names the call that failed.
fn failed(what: &'static str) -> impl FnOnce(ApiCallError) -> FetchError {
    move |source| FetchError::Call { what, source }
}

/// Names the object that cannot be understood.
fn unread(what: impl Into<String>) -> impl FnOnce(ConversionError) -> FetchError {
    let what = what.into();
    move |source| FetchError::Object { what, source }
}

/// The node's identity: its Node's uid, and what the machine says itself.
pub(crate) async fn identity(
    client: &Client,
    settings: &AgentSettings,
) -> Result<HolderIdentity, FetchError> {
    let api: Api<k8s_openapi::api::core::v1::Node> = Api::all(client.clone());
    let name = &settings.node;
    let node = call(api.get_metadata_opt(name)).await.map_err(failed("get the Node"))?;
    let node = node.ok_or_else(|| {
        FetchError::Missing(format!("Node {name}; is `node.name` the name in the cluster?"))
    })?;
    let uid = node.uid().ok_or(ConversionError::Missing("uid")).and_then(|uid| Ok(uid.parse()?));
    let uid = uid.map_err(unread(format!("Node {name}")))?;
    Ok(HolderIdentity { name: name.as_str().into(), uid, machine: settings.machine, boot: settings.boot })
}

/// A pool of the cluster; `None` if there is none of this name.
pub(crate) async fn pool(client: &Client, name: &str) -> Result<Option<ClusterPool>, FetchError> {
    let api: Api<AddressPool> = Api::all(client.clone());
    let Some(pool) = call(api.get_opt(name)).await.map_err(failed("get an AddressPool"))? else {
        return Ok(None);
    };
    let uid = pool.uid().ok_or(ConversionError::Missing("uid")).and_then(|uid| Ok(uid.parse()?));
    let uid = uid.map_err(unread(format!("AddressPool {name}")))?;
    // A family cannot be taken out of a pool, only emptied.
    let unit = |family, cidrs: &[String], prefix| (!cidrs.is_empty()).then_some((family, prefix));
    let ipv4 = pool.spec.ipv4.and_then(|of| unit(PoolFamily::Ipv4, &of.cidrs, of.block_prefix));
    let ipv6 = pool.spec.ipv6.and_then(|of| unit(PoolFamily::Ipv6, &of.cidrs, of.block_prefix));
    let units = ipv4.into_iter().chain(ipv6).collect();
    let generation = pool.metadata.generation.unwrap_or_default();
    Ok(Some(ClusterPool { key: PoolKey { name: name.into(), uid }, units, generation }))
}

/// A quorum GET of a block.
pub(crate) async fn block(client: &Client, name: &BlockName) -> Result<FetchedBlock, FetchError> {
    let api: Api<IPBlock> = Api::all(client.clone());
    let name = name.to_string();
    let block = call(api.get_opt(&name)).await.map_err(failed("get an IPBlock"))?;
    match block.as_ref().map(IpBlock::try_from).transpose() {
        Ok(Some(block)) => Ok(FetchedBlock::Found(block)),
        Ok(None) => Ok(FetchedBlock::Missing),
        Err(error) => Err(unread(format!("IPBlock {name}"))(error)),
    }
}

/// A quorum GET of a space; `None` if there is none.
pub(crate) async fn space(client: &Client, group: &str) -> Result<Option<LeaseSpace>, FetchError> {
    let api: Api<AddressSpace> = Api::all(client.clone());
    let space = call(api.get_opt(group)).await.map_err(failed("get an AddressSpace"))?;
    space.as_ref().map(LeaseSpace::try_from).transpose().map_err(unread(format!("AddressSpace {group}")))
}

/// The node's object.
pub(crate) async fn node(client: &Client, name: &str) -> Result<Option<NodeIPAM>, FetchError> {
    let api: Api<NodeIPAM> = Api::all(client.clone());
    call(api.get_opt(name)).await.map_err(failed("get the NodeIPAM"))
}

/// All blocks that name the node, each with its name.
pub(crate) async fn blocks_of(client: &Client, node: &str) -> Result<Vec<(String, IpBlock)>, FetchError> {
    let api: Api<IPBlock> = Api::all(client.clone());
    let of_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
    let list = call(api.list(&of_node)).await.map_err(failed("list the node's IPBlocks"))?;
    let read = |block: &IPBlock| {
        let name = block.name_any();
        let read = IpBlock::try_from(block).map_err(unread(format!("IPBlock {name}")))?;
        Ok((name, read))
    };
    list.items.iter().map(read).collect()
}

/// The agent's half, applied.
pub(crate) struct AppliedWords {
    /// The object after it.
    pub(crate) object: NodeIPAM,
    /// The fields that the API server's definition lacks: it has the half without them.
    pub(crate) left_out: BTreeSet<String>,
}

/// Applies the agent's half of the node's object.
pub(crate) async fn say(client: &Client, spec: &NodeIpamSpec) -> Result<AppliedWords, FetchError> {
    let api: Api<NodeIPAM> = Api::all(client.clone());
    let name = &*spec.identity.name;
    let mut object = json!({
        "apiVersion": format!("{GROUP}/v1alpha1"),
        "kind": "NodeIPAM",
        "metadata": { "name": name },
        "spec": NodeIPAMSpec::from(spec),
    });
    let parameters = PatchParams::apply(MANAGER).force();
    let mut left_out = BTreeSet::new();
    loop {
        let error = match call(api.patch(name, &parameters, &Patch::Apply(&object))).await {
            Ok(object) => return Ok(AppliedWords { object, left_out }),
            Err(error) => error,
        };
        // Each time, the half becomes smaller.
        let lacking = error.status().map(|status| leave_out(&mut object, &status.message));
        let lacking = lacking.unwrap_or_default();
        if lacking.is_empty() {
            return Err(failed("apply the NodeIPAM")(error));
        }
        left_out.extend(lacking);
    }
}

/// The block of a claim.
#[derive(Debug)]
pub(crate) struct ClaimedBlock {
    /// The lease. Its holder is the node of the turn that was asked about, or else the one that has the address.
    pub(crate) block: IpBlock,
    /// The claim.
    pub(crate) claim: ClaimName,
    /// The claim's uid.
    pub(crate) claim_uid: Option<Uid>,
    /// The turn of that node.
    pub(crate) turn: Option<TurnId>,
    /// The user of the address, in words.
    pub(crate) user: String,
}

/// The blocks that a claim has, by a quorum GET of the claim; or why it has none, in words. `known` are those that it had before.
pub(crate) async fn claim_blocks(
    client: &Client,
    claim: &ClaimName,
    known: Option<ClaimBlocks>,
) -> Result<Result<ClaimBlocks, String>, FetchError> {
    match claim.kind {
        ClaimKind::Address => address_claim(client, claim).await,
        ClaimKind::Ipam => ipam_claim(client, claim, known).await,
    }
}

async fn address_claim(
    client: &Client,
    claim: &ClaimName,
) -> Result<Result<ClaimBlocks, String>, FetchError> {
    let api: Api<AddressClaim> = Api::namespaced(client.clone(), &claim.namespace);
    let found = call(api.get_opt(&claim.name)).await.map_err(failed("get an AddressClaim"))?;
    let Some(found) = found else {
        return Ok(Err("there is no AddressClaim of this name".to_owned()));
    };
    let uid = found.uid().unwrap_or_default();
    let status = found.status.unwrap_or_default();
    Ok(match status.block.and_then(|name| name.parse().ok()) {
        Some(name) => Ok(ClaimBlocks { uid, names: vec![name] }),
        None => Err(words(&status.conditions)),
    })
}

/// The AddressPool that an AddressClaim names; `None` if there is no such claim.
pub(crate) async fn pool_of_claim(client: &Client, claim: &ClaimName) -> Result<Option<String>, FetchError> {
    let api: Api<AddressClaim> = Api::namespaced(client.clone(), &claim.namespace);
    let found = call(api.get_opt(&claim.name)).await.map_err(failed("get an AddressClaim"))?;
    Ok(found.map(|found| found.spec.pool))
}

/// The status of an IPAMClaim names no blocks, so those that name the claim are listed, once it has all of them: the API server reads every block for
/// such a list. One whose address the status does not name goes again: two leaders may have leased the claim an address each.
async fn ipam_claim(
    client: &Client,
    claim: &ClaimName,
    known: Option<ClaimBlocks>,
) -> Result<Result<ClaimBlocks, String>, FetchError> {
    let api: Api<IPAMClaim> = Api::namespaced(client.clone(), &claim.namespace);
    let found = call(api.get_opt(&claim.name)).await.map_err(failed("get an IPAMClaim"))?;
    let Some(found) = found else {
        return Ok(Err("there is no IPAMClaim of this name".to_owned()));
    };
    let uid = found.uid().unwrap_or_default();
    let status = found.status.unwrap_or_default();
    // One address of two would be half of what the pod is to get. The status names all of them, once there are all.
    let ips = status.ips.iter().filter_map(|ip| ip.split('/').next()?.parse::<IpAddr>().ok());
    let ips: BTreeSet<IpAddr> = ips.collect();
    if ips.is_empty() {
        return Ok(Err(words(&status.conditions)));
    }
    let has_all = |names: &[BlockName]| {
        let found: BTreeSet<IpAddr> = names.iter().map(|name| name.cidr().addr()).collect();
        found == ips
    };
    if let Some(known) = known.filter(|known| known.uid == uid && has_all(&known.names)) {
        return Ok(Ok(known));
    }
    let api: Api<IPBlock> = Api::all(client.clone());
    let of_claim = ListParams::default().fields(&format!("spec.claim.uid={uid}"));
    let list = call(api.list(&of_claim)).await.map_err(failed("list the IPBlocks of a claim"))?;
    let names = list.items.iter().filter_map(|block| block.name_any().parse::<BlockName>().ok());
    let names: Vec<BlockName> = names.filter(|name| ips.contains(&name.cidr().addr())).collect();
    Ok(match has_all(&names) {
        true => Ok(ClaimBlocks { uid, names }),
        false => Err(words(&status.conditions)),
    })
}

/// An IPAMClaim as it is now; `None` if there is none of this name, or its uid cannot be read.
pub(crate) async fn shown_claim(
    client: &Client,
    claim: &ClaimName,
) -> Result<Option<ShownClaim>, FetchError> {
    let api: Api<IPAMClaim> = Api::namespaced(client.clone(), &claim.namespace);
    let found = call(api.get_opt(&claim.name)).await.map_err(failed("get an IPAMClaim"))?;
    Ok(found.and_then(|found| {
        let uid = found.metadata.uid?.parse().ok()?;
        Some(ShownClaim { uid, addresses: found.status.map_or(0, |status| status.ips.len()) })
    }))
}

fn words(conditions: &[Condition]) -> String {
    let message = conditions.first().map(|condition| condition.message.clone());
    message.unwrap_or_else(|| "the operator has not looked at it yet".to_owned())
}

/// A claim's block, as the node of a turn has it.
#[derive(Debug)]
pub(crate) struct BlockInTurn {
    /// The block.
    pub(crate) block: FetchedBlock,
    /// Whether it names the turn.
    pub(crate) names_it: bool,
    /// The uid of the claim that it is leased to.
    pub(crate) claim: Option<Uid>,
}

/// A quorum GET of a claim's block, as the node of a turn has it.
pub(crate) async fn block_in_turn(
    client: &Client,
    name: &BlockName,
    turn: TurnId,
) -> Result<BlockInTurn, FetchError> {
    let api: Api<IPBlock> = Api::all(client.clone());
    let Some(object) = call(api.get_opt(&name.to_string())).await.map_err(failed("get an IPBlock"))? else {
        return Ok(BlockInTurn { block: FetchedBlock::Missing, names_it: false, claim: None });
    };
    let (block, names_it) = seen_in_turn(&object, turn).map_err(unread(format!("IPBlock {name}")))?;
    let claim = object.spec.claim.as_ref().and_then(|claim| claim.uid.parse().ok());
    Ok(BlockInTurn { block: FetchedBlock::Found(block), names_it, claim })
}

fn seen_in_turn(object: &IPBlock, turn: TurnId) -> Result<(IpBlock, bool), ConversionError> {
    match object.in_turn(turn)? {
        Some(block) => Ok((block, true)),
        None => Ok((object.try_into()?, false)),
    }
}

/// A quorum GET of the block of a claim; `None` if there is none of this name.
pub(crate) async fn claimed_block(
    client: &Client,
    name: &BlockName,
    turn: TurnId,
) -> Result<Option<ClaimedBlock>, FetchError> {
    let api: Api<IPBlock> = Api::all(client.clone());
    let Some(object) = call(api.get_opt(&name.to_string())).await.map_err(failed("get an IPBlock"))? else {
        return Ok(None);
    };
    let Some(claim) = &object.spec.claim else { return Ok(None) };
    let what = || format!("IPBlock {name}");
    let kind = claim.kind.parse().map_err(|error| unread(what())(ConversionError::Word(error)))?;
    let claim_uid = claim.uid.parse().ok();
    let claim = ClaimName { kind, namespace: claim.namespace.clone(), name: claim.name.clone() };
    let (block, names_it) = seen_in_turn(&object, turn).map_err(unread(what()))?;
    let active = object.turn().map_err(unread(what()))?;
    let turn = if names_it { Some(turn) } else { active };
    let status = object.status.unwrap_or_default();
    let user = status.active.map_or_else(
        || "free".to_owned(),
        |active| {
            format!("in use on node {} by pod {} since {}", active.node_name, active.pod, active.since.0)
        },
    );
    let user = match status.reason {
        Some(reason) => format!("{user}; the node looks dead ({reason}), and its address is in quarantine"),
        None => user,
    };
    Ok(Some(ClaimedBlock { block, claim, claim_uid, turn, user }))
}
