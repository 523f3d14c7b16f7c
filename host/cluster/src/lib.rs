//! The objects in the API server by which a cluster leases blocks of addresses to its nodes, in the group `ipam.tenure.dev`.
//!
//! ```text
//!   AddressPool    a person      which addresses, for which nodes, in blocks of which size; its status is the operator's
//!   AddressClaim   a person      an address with a name, of a pool for claims; its status is the operator's
//!   IPAMClaim      other tools   the same by the standard of `k8s.cni.cncf.io`, where its definition is installed
//!   ENIConfig      a person      the subnet of a node's AWS interfaces, as the Amazon VPC CNI has it, where its definition is installed
//!   AddressSpace   the operator  every range in use in one overlap group; no two overlap
//!   IPBlock        the operator  the lease of one block to one machine, or to a claim; its name follows from its CIDR, so that creating it is the mutex
//!   NodeIPAM       the agent     spec: what the node holds and wants, and its answers to marks
//!                  the operator  status: hints to look at an IPBlock
//! ```
//!
//! Each half of an object has one writer. [`objects`] are the types and the rules that the API server enforces, [`definitions`] renders them as
//! CustomResourceDefinitions, and [`convert`] leads to the pure tables of `tenure-leases`, which decide everything. Objects are read leniently and
//! converted strictly: a word of a later version makes one object unusable, and never a whole list.
//!
//! [`client`] is the connection, and [`access`] the rights that a node's daemon needs in the API server. The operator's loop is a program of its own; the node's is `agent`, with the feature of that name, as is what the
//! API server says about the pods of a node, `pods`, the choice of their pools, `pools`, and what it says about the node itself, `own_node`.
//!
//! What the daemon awaits of them is boxed: an `async fn` is compiled by the crate that awaits it, and would be built with the daemon's own code and lie
//! among it, in the memory of nodes without a cluster, too.
#![forbid(unsafe_code)]

pub mod access;
#[cfg(feature = "agent")]
pub mod agent;
#[cfg(test)]
#[cfg(feature = "agent")]
mod away;
pub mod client;
pub mod convert;
pub mod definitions;
pub mod event;
pub mod objects;
#[cfg(feature = "agent")]
pub mod own_node;
#[cfg(feature = "agent")]
pub mod pods;
#[cfg(feature = "agent")]
pub mod pools;
#[cfg(feature = "agent")]
mod relisting;

pub use self::convert::ConversionError;
pub use self::objects::block::{IPBlock, IPBlockSpec, IPBlockStatus};
pub use self::objects::claim::{AddressClaim, AddressClaimSpec, AddressClaimStatus};
pub use self::objects::eni_config::{ENIConfig, ENIConfigSpec};
pub use self::objects::ipam_claim::{IPAMClaim, IPAMClaimSpec, IPAMClaimStatus, OwnerPodShape};
pub use self::objects::node::{NodeIPAM, NodeIPAMSpec, NodeIPAMStatus};
pub use self::objects::pool::{AddressPool, AddressPoolSpec, AddressPoolStatus};
pub use self::objects::space::{AddressSpace, AddressSpaceSpec};

/// The API group of all objects.
pub const GROUP: &str = "ipam.tenure.dev";

/// The finalizer of an AddressPool: it goes once no block of the pool is left.
pub const POOL_FINALIZER: &str = "ipam.tenure.dev/in-use";

/// The finalizer of an IPBlock, which turns its deletion into an order to give the block back.
pub const BLOCK_FINALIZER: &str = "ipam.tenure.dev/lease";

/// The finalizer of an AddressClaim: it goes once no block is leased to the claim.
pub const CLAIM_FINALIZER: &str = "ipam.tenure.dev/address";

/// The annotation of a Node by which a person attests that the Node with this uid is powered off. On a NodeIPAM it counts if the Node is gone.
pub const FENCED_ANNOTATION: &str = "ipam.tenure.dev/fenced";

/// The taint with which a Node is registered, and which the operator removes once the node's agent has its blocks. The operator never sets it.
pub const NOT_READY_TAINT: &str = "ipam.tenure.dev/not-ready";
