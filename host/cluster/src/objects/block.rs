//! `IPBlock`: the lease of one block of addresses to one machine, or of one address to a claim.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::objects::reference::{ActiveEntry, ClaimReference, MarkEntry, PoolReference};
use crate::objects::schema;

/// The lease, as it was granted. It never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "ipam.tenure.dev",
    version = "v1alpha1",
    kind = "IPBlock",
    plural = "ipblocks",
    shortname = "ipblk",
    category = "tenure",
    doc = "The lease of one block of addresses to one machine, or of one address to a claim. Its name follows from its overlap group and CIDR, so that no block is leased twice.",
    derive = "PartialEq",
    status = "IPBlockStatus",
    selectable = ".spec.nodeName",
    selectable = ".spec.pool.name",
    selectable = ".spec.claim.uid",
    printcolumn(json_path = ".spec.cidr", name = "CIDR", type_ = "string"),
    printcolumn(json_path = ".spec.nodeName", name = "Node", type_ = "string"),
    printcolumn(json_path = ".spec.pool.name", name = "Pool", type_ = "string"),
    printcolumn(json_path = ".spec.claim.name", name = "Claim", type_ = "string", priority = 1),
    printcolumn(json_path = ".status.active.nodeName", name = "Active", type_ = "string", priority = 1),
    printcolumn(json_path = ".status.phase", name = "Phase", type_ = "string"),
    printcolumn(json_path = ".status.mark.why", name = "Mark", type_ = "string", priority = 1),
    printcolumn(json_path = ".status.reason", name = "Reason", type_ = "string", priority = 1),
    printcolumn(json_path = ".metadata.creationTimestamp", name = "Age", type_ = "date"),
    validation = Rule::new("self.metadata.name == self.spec.group + '.' + (self.spec.cidr.contains('::') ? self.spec.cidr.replace('::', ':' + '0:0:0:0:0:0:0:0'.substring(0, 15 - 2 * self.spec.cidr.split('/')[0].split(':').filter(part, part != '').size()) + ':').replace(':/', '/').substring(self.spec.cidr.startsWith('::') ? 1 : 0) : self.spec.cidr).replace(':', '-').replace('.', '-').replace('/', '.')")
        .message("the name must be the group and the CIDR, such as default.10-1-2-0.26 or default.fd00-1-0-0-0-0-0-0.122")
)]
#[x_kube(
    validation = Rule::new("self == oldSelf").message("the lease of a block is immutable; it ends, and another is granted"),
    validation = Rule::new("has(self.claim) != has(self.nodeName) && [has(self.nodeName), has(self.nodeUID), has(self.machine), has(self.bootID)].all(x, x == has(self.nodeName))")
        .message("a block is leased either to a node, with nodeName, nodeUID, machine and bootID, or to a claim"),
    validation = Rule::new("!has(self.claim) || cidr(self.cidr).prefixLength() == (cidr(self.cidr).ip().family() == 4 ? 32 : 128)")
        .message("a claim has one address")
)]
#[serde(rename_all = "camelCase")]
pub struct IPBlockSpec {
    /// The overlap group.
    #[schemars(schema_with = "schema::group")]
    pub group: String,
    /// The block's addresses.
    #[schemars(schema_with = "schema::cidr")]
    pub cidr: String,
    /// The range of the group's AddressSpace that the block is a cell of.
    #[serde(rename = "rangeID")]
    #[schemars(schema_with = "schema::number")]
    pub range_id: String,
    /// The pool.
    pub pool: PoolReference,
    /// The Node that holds the block.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(schema_with = "schema::name")]
    pub node_name: String,
    /// The Node's uid.
    #[serde(default, rename = "nodeUID", skip_serializing_if = "String::is_empty")]
    #[schemars(schema_with = "schema::uid")]
    pub node_uid: String,
    /// A hash of the machine's machine id and system UUID.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(schema_with = "schema::machine")]
    pub machine: String,
    /// The boot id of the machine at the time of the grant.
    #[serde(default, rename = "bootID", skip_serializing_if = "String::is_empty")]
    #[schemars(schema_with = "schema::uid")]
    pub boot_id: String,
    /// The claim that has the block, in the place of a node: an address of its own, which moves from node to node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimReference>,
}

/// The lease's way back. Empty while the node simply holds the block.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct IPBlockStatus {
    /// Empty: leased. Quarantined: the holder is gone as far as is known. Orphaned: the pool is gone.
    #[serde(default)]
    #[schemars(schema_with = "schema::phase")]
    pub phase: String,
    /// The order to give the block back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<MarkEntry>,
    /// The last mark that was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_number")]
    pub cleared: Option<String>,
    /// The node that uses a claim's address now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<ActiveEntry>,
    /// The other node, while a virtual machine with the address moves: where it goes to, and then where it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternate: Option<ActiveEntry>,
    /// The uid of a Node that the holder's kubelet registered later.
    #[serde(default, rename = "adoptedNodeUID", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_uid")]
    pub adopted_node_uid: Option<String>,
    /// Why the block is in quarantine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub reason: Option<String>,
    /// The time at which the phase changed, by the operator's clock; for people only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Seconds of quarantine, added up over leaders.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub elapsed_seconds: i64,
}
