//! References that objects make to pools and marks.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

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
