//! Addresses of a pool that something else than tenure hands out, such as another IPAM that the cluster moves away from.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::objects::schema;

/// The most entries of a pool.
pub const MAX_TAKEN: usize = 256;

/// A range that is in use already. No block that has one of its addresses is granted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, KubeSchema)]
pub struct TakenEntry {
    /// The addresses.
    #[schemars(schema_with = "schema::cidr")]
    pub cidr: String,
    /// The record that says so, such as `whereabouts` or `calico`.
    #[schemars(length(min = 1, max = 63))]
    pub source: String,
    /// The user of the addresses, for people.
    #[schemars(length(max = 253))]
    pub owner: String,
}
