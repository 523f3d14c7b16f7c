//! The daemon's rights in the API server: those that it needs, those that it should not have, and what the API server says about both.
//!
//! Roles are asked about by SelfSubjectAccessReviews, which every authenticated user may create. What an admission policy refuses shows in dry
//! runs alone, so the two writes that the chart's policy decides are tried in that way. Nothing is written.

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::authorization::v1::{
    FieldSelectorAttributes, ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tenure_leases::{HolderIdentity, MachineHash, NodeIpamSpec, Uid};

use crate::client::{ApiCallError, call};
use crate::{GROUP, NodeIPAM, NodeIPAMSpec};

/// The group of events.
const EVENTS: &str = "events.k8s.io";

/// The group of ENIConfigs.
const ENI_CONFIGS: &str = "crd.k8s.amazonaws.com";

/// A name that no Node has.
const OTHER_NODE: &str = "no-node.tenure.invalid";

/// The beginning of the users of kubelets, which have rights of their own.
const KUBELETS: &str = "system:node:";

/// A right: a verb on the objects of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterRight {
    /// The verb, as roles have it.
    pub verb: &'static str,
    /// The API group; empty for the first one.
    pub group: &'static str,
    /// The resource, in the plural.
    pub resource: &'static str,
    /// The use that the daemon has for it; empty if it should not have it.
    pub purpose: &'static str,
}

const fn right(
    verb: &'static str,
    group: &'static str,
    resource: &'static str,
    purpose: &'static str,
) -> ClusterRight {
    ClusterRight { verb, group, resource, purpose }
}

const HALF: &str = "writes what the node holds and wants";
const HINTS: &str = "follows the operator's hints";
const READS_BACK: &str = "reads a lease before its addresses are used";
const KNOWS_PODS: &str = "knows which pods of the node are gone";
const TELLS: &str = "writes events";
const KNOWS_NODE: &str = "knows labels, taints and capacity of its Node";
const KNOWS_SUBNET: &str = "knows the subnet of the node's further interfaces";

/// The rights for leasing blocks.
pub const OF_BLOCKS: &[ClusterRight] = &[
    right("get", "", "nodes", "proves which machine it is"),
    right("create", GROUP, "nodeipams", HALF),
    right("patch", GROUP, "nodeipams", HALF),
    right("get", GROUP, "nodeipams", HINTS),
    right("list", GROUP, "nodeipams", HINTS),
    right("watch", GROUP, "nodeipams", HINTS),
    right("get", GROUP, "ipblocks", READS_BACK),
    right("list", GROUP, "ipblocks", READS_BACK),
    right("get", GROUP, "addressspaces", READS_BACK),
    right("get", GROUP, "addresspools", "knows the size of the blocks that it asks for"),
    right("get", GROUP, "addressclaims", "learns the address of a claim that a pod names"),
    right("get", "k8s.cni.cncf.io", "ipamclaims", "learns whether the claim of a pod's interface is there"),
];

/// The rights for knowing the node's pods.
pub const OF_PODS: &[ClusterRight] = &[
    right("get", "", "pods", KNOWS_PODS),
    right("list", "", "pods", KNOWS_PODS),
    right("watch", "", "pods", KNOWS_PODS),
    right("get", "", "namespaces", "knows the labels of pods' namespaces"),
    right("create", EVENTS, "events", TELLS),
];

/// The rights for following the machine's own Node, and the ENIConfig that it names.
pub const OF_NODE: &[ClusterRight] = &[
    right("list", "", "nodes", KNOWS_NODE),
    right("watch", "", "nodes", KNOWS_NODE),
    right("list", ENI_CONFIGS, "eniconfigs", KNOWS_SUBNET),
    right("watch", ENI_CONFIGS, "eniconfigs", KNOWS_SUBNET),
];

/// The right for removing the start-up taint.
pub const OF_TAINT: &[ClusterRight] =
    &[right("patch", "", "nodes", "removes the start-up taint of its Node")];

/// Rights with which a node that was broken into could harm others.
pub const TOO_MUCH: &[ClusterRight] = &[
    right("list", "", "secrets", ""),
    right("create", "", "pods", ""),
    right("delete", "", "pods", ""),
    right("patch", "", "nodes", ""),
    right("create", GROUP, "ipblocks", ""),
    right("delete", GROUP, "ipblocks", ""),
    right("delete", GROUP, "nodeipams", ""),
    right("patch", GROUP, "addresspools", ""),
];

/// The uses that a daemon has for the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClusterUses {
    /// Leasing blocks.
    pub leases: bool,
    /// Knowing the node's pods.
    pub pods: bool,
    /// Following its Node.
    pub node: bool,
    /// Removing the start-up taint of its Node.
    pub taint: bool,
}

impl ClusterUses {
    /// The rights that these uses need.
    fn needed(self) -> impl Iterator<Item = &'static ClusterRight> {
        let of = |is_used: bool, rights: &'static [ClusterRight]| if is_used { rights } else { &[] };
        let all = [
            of(self.leases, OF_BLOCKS),
            of(self.pods, OF_PODS),
            of(self.node, OF_NODE),
            of(self.taint, OF_TAINT),
        ];
        all.into_iter().flatten()
    }
}

/// The API server's answers about a user's rights.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClusterAccess {
    /// The user as which the API server knows the caller.
    pub user: String,
    /// The rights, and whether the user has each.
    pub rights: Vec<(ClusterRight, bool)>,
    /// The reason for which the NodeIPAM of the node cannot be written, if it cannot.
    pub own_refused: Option<String>,
    /// Whether the NodeIPAM of another node could be written.
    pub others_accepted: bool,
}

impl ClusterRight {
    /// Whether it is the same verb on the same resource.
    fn is_same(&self, other: &Self) -> bool {
        (self.verb, self.group, self.resource) == (other.verb, other.group, other.resource)
    }

    /// The resource with its group, such as `nodeipams.ipam.tenure.dev`.
    #[must_use]
    pub fn of(&self) -> String {
        match self.group {
            "" => self.resource.to_owned(),
            group => format!("{}.{group}", self.resource),
        }
    }
}

/// The reason for which the rights are not known.
#[cfg(feature = "agent")]
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// There is no connection.
    #[error(transparent)]
    Connect(#[from] crate::client::ConnectError),
    /// A call failed.
    #[error(transparent)]
    Call(#[from] ApiCallError),
}

/// Connects as the daemon does, and asks about its rights.
///
/// # Errors
/// If there is no connection, or as [`access`].
#[cfg(feature = "agent")]
pub async fn of_daemon(
    kubeconfig: Option<&std::path::Path>,
    node: &str,
    uses: ClusterUses,
) -> Result<ClusterAccess, AccessError> {
    // Another part of the program may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = crate::client::connect(kubeconfig).await?;
    Ok(access(&client, node, uses).await?)
}

/// Asks the API server about the rights of the client: those that these uses need, and those that it should not have.
///
/// # Errors
/// If a call fails, other than by the refusal that it is to find.
pub async fn access(client: &Client, node: &str, uses: ClusterUses) -> Result<ClusterAccess, ApiCallError> {
    let me = create(client, &SelfSubjectReview::default()).await?;
    let user = me.status.and_then(|status| status.user_info?.username).unwrap_or_default();
    // A kubelet may do some of it, for its own node only.
    let too_much = if user.starts_with(KUBELETS) { &[] } else { TOO_MUCH };
    let is_needed = |right: &ClusterRight| uses.needed().any(|needed| needed.is_same(right));
    let mut found = ClusterAccess { user, ..ClusterAccess::default() };
    for right in uses.needed().chain(too_much.iter().filter(|right| !is_needed(right))) {
        found.rights.push((*right, is_allowed(client, node, right).await?));
    }
    if uses.leases {
        found.own_refused = refusal(client, node).await?;
        found.others_accepted = refusal(client, OTHER_NODE).await?.is_none();
    }
    Ok(found)
}

/// Whether the client may do what the daemon does: a kubelet reads its own Node, and lists the pods of its own node, and no others.
async fn is_allowed(client: &Client, node: &str, right: &ClusterRight) -> Result<bool, ApiCallError> {
    let is_needed = !right.purpose.is_empty();
    let lists_pods = right.resource == "pods" && right.verb != "get";
    let of_node = FieldSelectorAttributes {
        raw_selector: Some(format!("spec.nodeName={node}")),
        ..FieldSelectorAttributes::default()
    };
    let attributes = ResourceAttributes {
        verb: Some(right.verb.to_owned()),
        group: Some(right.group.to_owned()),
        resource: Some(right.resource.to_owned()),
        name: (is_needed && right.resource == "nodes").then(|| node.to_owned()),
        field_selector: (is_needed && lists_pods).then_some(of_node),
        ..ResourceAttributes::default()
    };
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
    let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    Ok(create(client, &review).await?.status.is_some_and(|status| status.allowed))
}

/// The refusal of a NodeIPAM for a node; `None` if it is accepted, or exists, which the API server says only to those who may create it.
async fn refusal(client: &Client, node: &str) -> Result<Option<String>, ApiCallError> {
    let identity = HolderIdentity { name: node.into(), uid: Uid(1), machine: MachineHash(1), boot: Uid(1) };
    let spec = NodeIPAMSpec::from(&NodeIpamSpec::of(identity));
    let api: Api<NodeIPAM> = Api::all(client.clone());
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    match call(api.create(&dry, &NodeIPAM::new(node, spec))).await {
        Ok(_) => Ok(None),
        Err(error) if error.is_already_exists() => Ok(None),
        Err(error) => match error.status().filter(|status| status.code == 403) {
            Some(status) => Ok(Some(status.message.clone())),
            None => Err(error),
        },
    }
}

/// Creates a review, which the API server answers and does not store.
async fn create<K>(client: &Client, review: &K) -> Result<K, ApiCallError>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    let api: Api<K> = Api::all(client.clone());
    call(api.create(&PostParams::default(), review)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_right_is_needed_and_too_much_at_once() {
        let uses = ClusterUses { leases: true, pods: true, node: true, taint: false };
        for needed in uses.needed() {
            assert!(!needed.purpose.is_empty(), "{needed:?}");
            assert!(!TOO_MUCH.iter().any(|other| needed.is_same(other)), "{needed:?}");
        }
        // The one write of a Node counts as too much, unless it is configured.
        let taint = ClusterUses { taint: true, ..ClusterUses::default() };
        assert!(taint.needed().all(|needed| TOO_MUCH.iter().any(|other| needed.is_same(other))));
        assert!(TOO_MUCH.iter().all(|right| right.purpose.is_empty()));
    }
}
