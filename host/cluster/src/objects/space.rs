//! `AddressSpace`: the ranges in use in one overlap group. Its name is the group's.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::objects::reference::PoolReference;
use crate::objects::schema;

/// The ranges of a space.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "ipam.tenure.dev",
    version = "v1alpha1",
    kind = "AddressSpace",
    plural = "addressspaces",
    shortname = "aspace",
    category = "tenure",
    doc = "Every range in use in one overlap group. Written by the operator alone.",
    derive = "PartialEq",
    printcolumn(json_path = ".spec.ranges[*].cidr", name = "Ranges", type_ = "string"),
    printcolumn(json_path = ".metadata.creationTimestamp", name = "Age", type_ = "date")
)]
pub struct AddressSpaceSpec {
    /// The ranges. No two of them overlap.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["id".into()]))]
    pub ranges: Vec<RangeEntry>,
}

/// A range that is cut into equal cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = Rule::new("self.cidr == oldSelf.cidr && self.unit == oldSelf.unit && self.pool == oldSelf.pool && self.usage == oldSelf.usage")
        .message("a range is immutable but for its state; close and remove it, and add another")
)]
pub struct RangeEntry {
    /// The identity that IPBlocks name.
    #[schemars(schema_with = "schema::number")]
    pub id: String,
    /// The addresses.
    #[schemars(schema_with = "schema::cidr")]
    pub cidr: String,
    /// The prefix length of a cell.
    #[schemars(schema_with = "schema::unit")]
    pub unit: u8,
    /// The use of its cells.
    #[schemars(schema_with = "schema::range_use")]
    pub usage: String,
    /// The pool that it belongs to.
    pub pool: PoolReference,
    /// Whether cells are granted and accepted.
    #[schemars(schema_with = "schema::range_state")]
    pub state: String,
}
