//! A link that the kernel shows.

use super::mac::Mac;

/// A link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelLink {
    /// The link's name.
    pub name: String,
    /// The link's index, by which the kernel's messages name it.
    pub index: u32,
    /// The link's hardware address, if it has one of six bytes.
    pub mac: Option<Mac>,
    /// The largest packet, in bytes.
    pub mtu: u32,
    /// Whether it is set up.
    pub up: bool,
    /// The index of the other end of a veth, in that end's namespace.
    pub peer: Option<u32>,
    /// The link's alias; on a pod's link, the owner.
    pub alias: Option<String>,
}
