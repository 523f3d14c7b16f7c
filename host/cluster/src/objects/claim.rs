//! `AddressClaim`: an address with a name, which stays for as long as the claim exists and goes with its pod from node to node.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::objects::schema;

/// A person's half: the pool, and which address of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "ipam.tenure.dev",
    version = "v1alpha1",
    kind = "AddressClaim",
    plural = "addressclaims",
    shortname = "aclaim",
    category = "tenure",
    namespaced,
    doc = "An address with a name. A pod that names the claim has its address, on whichever node it runs.",
    derive = "PartialEq",
    status = "AddressClaimStatus",
    printcolumn(json_path = ".spec.pool", name = "Pool", type_ = "string"),
    printcolumn(json_path = ".status.address", name = "Address", type_ = "string"),
    printcolumn(json_path = ".status.node", name = "Node", type_ = "string"),
    printcolumn(json_path = ".status.phase", name = "Phase", type_ = "string"),
    printcolumn(
        json_path = ".status.conditions[?(@.type==\"Bound\")].reason",
        name = "Reason",
        type_ = "string",
        priority = 1
    ),
    printcolumn(json_path = ".metadata.creationTimestamp", name = "Age", type_ = "date")
)]
#[x_kube(
    validation = Rule::new("self == oldSelf").message("a claim is immutable; delete it and create another"),
    validation = Rule::new("!has(self.address) || !has(self.family) || ip(self.address).family() == (self.family == 'IPv4' ? 4 : 6)")
        .message("address must be of the family")
)]
pub struct AddressClaimSpec {
    /// The AddressPool, whose usage must be Claims.
    #[schemars(schema_with = "schema::name")]
    pub pool: String,
    /// The address; without it, any free one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_address")]
    pub address: Option<String>,
    /// The family; without it, that of the address, or else the pool's, where IPv4 comes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_family")]
    pub family: Option<String>,
}

/// The operator's half: the address, and the node that uses it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddressClaimStatus {
    /// The generation of the spec that the status is about.
    #[serde(default)]
    pub observed_generation: i64,
    /// Pending: no address yet. Bound: the claim has its address. Leaving: it is being deleted, and its address is still in use.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(schema_with = "schema::claim_phase")]
    pub phase: String,
    /// The address.
    #[serde(default)]
    #[schemars(schema_with = "schema::optional_address")]
    pub address: Option<String>,
    /// The IPBlock that leases the address to the claim.
    #[serde(default)]
    #[schemars(length(max = 253))]
    pub block: Option<String>,
    /// The node whose turn it is.
    #[serde(default)]
    #[schemars(length(max = 253))]
    pub node: Option<String>,
    /// The conditions: Bound.
    #[serde(default)]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}
