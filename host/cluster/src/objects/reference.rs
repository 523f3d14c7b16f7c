//! References that objects make to pools, marks and claims.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};
use tenure_leases::ClaimKind;

use crate::objects::schema;

/// A pool by name and uid. A pool that was deleted and made again under its name is another pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct PoolReference {
    /// The pool's name.
    #[schemars(schema_with = "schema::name")]
    pub name: String,
    /// The pool's uid.
    #[schemars(schema_with = "schema::uid")]
    pub uid: String,
}

/// An order to give a block back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct MarkEntry {
    /// The mark's identity: one mark's answer counts for no other mark.
    #[schemars(schema_with = "schema::number")]
    pub id: String,
    /// The reason: the pool is short and the node has the block to spare, the block drains, or its pool is being deleted.
    #[schemars(schema_with = "schema::mark_reason")]
    pub why: String,
}

/// A claim by kind, name and uid.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, KubeSchema)]
pub struct ClaimReference {
    /// The kind: AddressClaim, or the IPAMClaim of `k8s.cni.cncf.io`.
    #[serde(default = "address_claim")]
    #[schemars(schema_with = "schema::claim_kind")]
    pub kind: String,
    /// The claim's namespace.
    #[schemars(schema_with = "schema::group")]
    pub namespace: String,
    /// The claim's name.
    #[schemars(schema_with = "schema::name")]
    pub name: String,
    /// The claim's uid.
    #[schemars(schema_with = "schema::uid")]
    pub uid: String,
}

impl ClaimReference {
    /// Whether it names an IPAMClaim.
    #[must_use]
    pub fn is_ipam(&self) -> bool {
        self.kind == ClaimKind::Ipam.as_str()
    }
}

/// A node's turn with the address of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActiveEntry {
    /// The Node.
    #[schemars(schema_with = "schema::name")]
    pub node_name: String,
    /// The Node's uid.
    #[serde(rename = "nodeUID")]
    #[schemars(schema_with = "schema::uid")]
    pub node_uid: String,
    /// A hash of the machine's machine id and system UUID.
    #[schemars(schema_with = "schema::machine")]
    pub machine: String,
    /// The boot id of the machine when the turn began.
    #[serde(rename = "bootID")]
    #[schemars(schema_with = "schema::uid")]
    pub boot_id: String,
    /// The turn, as the node's agent drew it. A turn that ended never begins again.
    #[schemars(schema_with = "schema::number")]
    pub turn: String,
    /// The pod for which the turn began, as `namespace/name`; for people only.
    #[schemars(length(max = 317))]
    pub pod: String,
    /// The beginning of the turn, by the operator's clock; for people only.
    pub since: Time,
    /// The uid of the virtual machine in the pod, if it is one's: only another pod of it may have an alternate turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_uid")]
    pub guest: Option<String>,
    /// Whether that machine has moved on: its pod here has yet to end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_left: bool,
}

fn address_claim() -> String {
    ClaimKind::Address.to_string()
}
