//! The identity of a node, to itself and to others.

use crate::BootId;

/// The identity of a node, which its program reads once, at the start.
///
/// A node's name outlives its machine, and a machine its boots: only together do they say whether what was known of a node still holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeIdentity {
    /// The node's name, which is that of its Kubernetes `Node` if it has one; by default the host's name.
    pub name: String,
    /// The running boot.
    pub boot: BootId,
    /// The installation, as `machine-id(5)` has it. Images that were cloned carelessly share it.
    pub machine_id: Option<String>,
    /// The machine, as its firmware tells it (SMBIOS' product UUID).
    pub system_uuid: Option<String>,
}
