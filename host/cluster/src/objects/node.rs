//! `NodeIPAM`: a node's words about its blocks (`spec`), and the operator's hints to it (`status`). Its name is the node's.

mod said;
mod told;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

pub use self::said::{AckEntry, DemandEntry, EchoEntry, GuestEntry, HeldEntry, TurnEntry};
pub use self::told::{AcceptedIdentity, ExclusionEntry, HintEntry, PoolSettings, WaitingEntry};
use crate::objects::schema;

/// The agent's half: identity, ledger, demand and answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "ipam.tenure.dev",
    version = "v1alpha1",
    kind = "NodeIPAM",
    plural = "nodeipams",
    shortname = "nipam",
    category = "tenure",
    doc = "The blocks of one node: the agent writes the spec, the operator the status.",
    derive = "PartialEq",
    status = "NodeIPAMStatus",
    printcolumn(json_path = ".status.blockCount", name = "Blocks", type_ = "integer"),
    printcolumn(json_path = ".spec.demand[*].want", name = "Want", type_ = "string"),
    printcolumn(json_path = ".spec.demand[*].inUse", name = "In-Use", type_ = "string", priority = 1),
    printcolumn(
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        name = "Ready",
        type_ = "string"
    ),
    printcolumn(
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        name = "Reason",
        type_ = "string",
        priority = 1
    ),
    printcolumn(json_path = ".metadata.creationTimestamp", name = "Age", type_ = "date")
)]
#[serde(rename_all = "camelCase")]
pub struct NodeIPAMSpec {
    /// The Node's uid.
    #[serde(rename = "nodeUID")]
    #[schemars(schema_with = "schema::uid")]
    pub node_uid: String,
    /// A hash of the machine's machine id and system UUID.
    #[schemars(schema_with = "schema::machine")]
    pub machine: String,
    /// The kernel's boot id.
    #[serde(rename = "bootID")]
    #[schemars(schema_with = "schema::uid")]
    pub boot_id: String,
    /// The blocks of the ledger.
    #[serde(default)]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["cidr".into()]))]
    pub held: Vec<HeldEntry>,
    /// The demand, by pool and family.
    #[serde(default)]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["poolUID".into(), "family".into()]))]
    pub demand: Vec<DemandEntry>,
    /// The uids of blocks beyond the reserve.
    #[serde(default)]
    #[schemars(schema_with = "schema::uids")]
    pub idle: Vec<String>,
    /// The uids of leases that the node gave up and never accepts again.
    #[serde(default)]
    #[schemars(schema_with = "schema::uids")]
    pub returned: Vec<String>,
    /// The answers to marks.
    #[serde(default)]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["uid".into(), "markID".into()]))]
    pub acks: Vec<AckEntry>,
    /// The pools whose settings are in force on the node.
    #[serde(default)]
    #[schemars(length(max = 128))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["uid".into()]))]
    pub pools: Vec<EchoEntry>,
    /// The node's turns with addresses of claims.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["block".into()]))]
    pub claims: Vec<TurnEntry>,
    /// The operator's last call, repeated: what is said here was said after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_number")]
    pub heard: Option<String>,
}

/// The operator's half: hints. The IPBlocks are the truth.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeIPAMStatus {
    /// The generation of the spec that the operator has seen.
    #[serde(default)]
    pub observed_generation: i64,
    /// The number of blocks.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub block_count: i64,
    /// The identity whose blocks count as this node's.
    #[serde(default)]
    pub accepted: Option<AcceptedIdentity>,
    /// One hint for each block of the node.
    #[serde(default)]
    #[schemars(length(max = 512))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["cidr".into()]))]
    pub blocks: Vec<HintEntry>,
    /// The settings of the pools that the node has blocks or wants blocks of.
    #[serde(default)]
    #[schemars(length(max = 128))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["uid".into()]))]
    pub pools: Vec<PoolSettings>,
    /// The pools and families of which the node wants a block and gets none.
    #[serde(default)]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["poolUID".into(), "family".into()]))]
    pub waiting: Vec<WaitingEntry>,
    /// IPBlocks of claims whose turn on this node ends once no pod has the address: another node wants it, the claim is over, or no claim has it any more.
    #[serde(default)]
    #[schemars(length(max = 256), inner(length(max = 253)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub claims_asked_back: Vec<String>,
    /// IPBlocks of claims of which the pool no longer has the address: it keeps its gateway on this node, and stays excluded if it was.
    #[serde(default)]
    #[schemars(length(max = 256), inner(length(max = 253)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub claims_leaving: Vec<String>,
    /// The call of an operator that doubts the store, which the agent repeats with everything that the node holds.
    #[serde(default)]
    #[schemars(schema_with = "schema::optional_number")]
    pub call: Option<String>,
    /// The conditions: Ready.
    #[serde(default)]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}
