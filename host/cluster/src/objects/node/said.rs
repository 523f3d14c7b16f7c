//! The entries of the agent's half.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::objects::reference::ClaimReference;
use crate::objects::schema;

/// A block of the node's ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct HeldEntry {
    /// The addresses.
    #[schemars(schema_with = "schema::cidr")]
    pub cidr: String,
    /// The uid of the IPBlock under which it was accepted.
    #[schemars(schema_with = "schema::uid")]
    pub uid: String,
    /// The overlap group. Equal addresses of two groups are two blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_group")]
    pub group: Option<String>,
}

/// The demand of one pool in one family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct DemandEntry {
    /// The pool's name.
    #[schemars(schema_with = "schema::name")]
    pub pool: String,
    /// The pool's uid.
    #[serde(rename = "poolUID")]
    #[schemars(schema_with = "schema::uid")]
    pub pool_uid: String,
    /// The family.
    #[schemars(schema_with = "schema::family")]
    pub family: String,
    /// Addresses in use when the demand was last written.
    #[serde(default)]
    #[schemars(schema_with = "schema::addresses")]
    pub in_use: i64,
    /// Addresses that cooled down when the demand was last written.
    #[serde(default)]
    #[schemars(schema_with = "schema::addresses")]
    pub cooling: i64,
    /// The number of blocks that the node wants to hold in all.
    #[schemars(range(min = 0, max = 256))]
    pub want: i64,
}

/// The answer to one mark on one lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct AckEntry {
    /// The IPBlock's uid.
    #[schemars(schema_with = "schema::uid")]
    pub uid: String,
    /// The mark.
    #[serde(rename = "markID")]
    #[schemars(schema_with = "schema::number")]
    pub mark_id: String,
    /// The answer: ready, cordoned, or the reason of a refusal.
    #[schemars(schema_with = "schema::answer")]
    pub answer: String,
}

/// A pool whose settings the node has in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct EchoEntry {
    /// The pool's uid.
    #[schemars(schema_with = "schema::uid")]
    pub uid: String,
    /// The generation of the pool's spec.
    #[schemars(range(min = 0))]
    pub generation: i64,
    /// Excluded addresses that are still in use.
    #[serde(default)]
    #[schemars(schema_with = "schema::addresses")]
    pub excluded_in_use: i64,
}

/// A turn with the address of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct TurnEntry {
    /// The name of the claim's IPBlock.
    #[schemars(schema_with = "schema::block_name")]
    pub block: String,
    /// The turn.
    #[schemars(schema_with = "schema::number")]
    pub turn: String,
    /// How far it has come: a pod waits for it, or the ledger has the address.
    #[schemars(schema_with = "schema::turn_state")]
    pub state: String,
    /// The pod, as `namespace/name`; for people only.
    #[schemars(length(max = 317))]
    pub pod: String,
    /// The virtual machine in the pod, if it is one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<GuestEntry>,
    /// The claim, if the ledger has the address: a lease that is lost is made again for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimReference>,
}

/// The virtual machine in the pod of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct GuestEntry {
    /// The uid of its object.
    #[schemars(schema_with = "schema::uid")]
    pub uid: String,
    /// Whether it runs in this pod, as far as is known.
    #[serde(default)]
    pub runs: bool,
}
